"""The client's settings: names, sources, limits, and one client for each context."""

from __future__ import annotations

import pytest

from aeronpy import Aeron
from aeronpy.client.context import NoOpLock
from aeronpy.errors import ArgumentError, ConcurrentConclude

# Properties, variables and defaults as in the spec of the client's options.
OPTIONS = [
    ("aeron_dir", "aeron.dir", "AERON_DIR", "/x", "/x", None),
    ("driver_timeout_ms", "aeron.driver.timeout", "AERON_DRIVER_TIMEOUT", "5000", 5000, 10_000),
    (
        "resource_linger_duration_ns",
        "aeron.client.resource.linger.duration",
        "AERON_CLIENT_RESOURCE_LINGER_DURATION",
        "5s",
        5_000_000_000,
        3_000_000_000,
    ),
    (
        "close_linger_duration_ns",
        "aeron.client.close.linger.duration",
        "AERON_CLIENT_CLOSE_LINGER_DURATION",
        "1ms",
        1_000_000,
        0,
    ),
    (
        "idle_sleep_duration_ns",
        "aeron.client.idle.sleep.duration",
        "AERON_CLIENT_IDLE_SLEEP_DURATION",
        "1us",
        1_000,
        16_000_000,
    ),
    (
        "pre_touch_mapped_memory",
        "aeron.pre.touch.mapped.memory",
        "AERON_CLIENT_PRE_TOUCH_MAPPED_MEMORY",
        "true",
        True,
        False,
    ),
    ("client_name", "aeron.client.name", "AERON_CLIENT_NAME", "me", "me", ""),
]


@pytest.mark.parametrize(("name", "key", "variable", "text", "value", "default"), OPTIONS)
def test_an_option_is_set_by_its_variable_its_property_and_its_argument(
    *, name: str, key: str, variable: str, text: str, value: object, default: object
) -> None:
    if default is not None:
        assert getattr(Aeron.Context(environment={}), name) == default
    by_variable = Aeron.Context(environment={variable: text})
    assert getattr(by_variable, name) == value
    by_property = Aeron.Context(environment={variable: "0"}, properties={key: text})
    assert getattr(by_property, name) == value
    by_argument = Aeron.Context(environment={variable: "0"}, properties={key: "1"}, **{name: value})
    assert getattr(by_argument, name) == value
    assert f"{name} = {value!r} (environment {variable})" in str(by_variable.describe())
    assert f"{name} = {value!r} (argument)" in str(by_argument.describe())


def test_the_description_names_the_handlers_too() -> None:
    def heard(error: Exception) -> None: ...

    described = str(Aeron.Context(environment={}, error_handler=heard).describe())
    assert "heard" in described
    assert "available_image_handler" not in described


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"client_name": "x" * 101}, "101 characters: at most 100"),
        ({"idle_sleep_duration_ns": 1_000_000_001}, "outside 0 to 1000000000"),
        ({"driver_timeout_ms": 0}, "outside 1"),
        ({"driver_timeout_ms": "soon"}, "'soon' is not a whole number"),
        ({"drivr_timeout_ms": 1}, "has no option 'drivr_timeout_ms'"),
    ],
)
def test_what_an_option_cannot_be_is_refused(settings: dict[str, object], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        Aeron.Context(environment={}, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"idle_strategy": "backof"}, "backof"),
        ({"awaiting_idle_strategy": "backoff", "awaiting_idle_strategy_init_args": "1"}, "backoff"),
        ({"client_lock": NoOpLock()}, "use_conductor_agent_invoker"),
        ({"agent_on_start_function": "no.such:thing"}, "no.such:thing"),
    ],
)
def test_what_does_not_fit_together_is_refused_before_a_driver_is_asked(settings: dict[str, object], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        Aeron(Aeron.Context(environment={}, aeron_dir="/nowhere", driver_timeout_ms=1, **settings))  # type: ignore[arg-type]


def test_a_context_serves_one_client() -> None:
    context = Aeron.Context(environment={}, aeron_dir="/nowhere", driver_timeout_ms=1)
    for expected in (TimeoutError, ConcurrentConclude):
        with pytest.raises(expected):
            Aeron(context)
