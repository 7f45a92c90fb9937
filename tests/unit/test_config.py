"""Settings: where values come from and which wins."""

import logging
from pathlib import Path

import numpy as np
import pytest

from aeronpy import config
from aeronpy.client.context import Context
from aeronpy.driver import MediaDriverContext
from aeronpy.errors import ArgumentError


class Example(config.Settings):
    """Two options of each kind that matters."""

    timer_interval_ns = config.duration("aeron.timer.interval", 1_000_000_000, minimum_ns=1000)
    term_buffer_length = config.size("aeron.term.buffer.length", 16 << 20, minimum=65536, maximum=1 << 30)
    print_configuration = config.boolean("aeron.print.configuration", False)
    threading_mode = config.text("aeron.threading.mode", "DEDICATED")


def test_defaults_hold_when_nothing_is_given() -> None:
    example = Example(environment={})

    assert (example.timer_interval_ns, example.term_buffer_length) == (1_000_000_000, 16 << 20)
    assert {setting.origin for setting in example.describe()} == {"default"}


def test_arguments_win_over_properties_and_those_over_the_environment() -> None:
    environment = {
        "AERON_TIMER_INTERVAL": "3s",
        "AERON_TERM_BUFFER_LENGTH": "64k",
        "AERON_PRINT_CONFIGURATION": "on",
    }
    example = Example(
        properties={"aeron.timer.interval": "2s", "aeron.term.buffer.length": "128k"},
        environment=environment,
        timer_interval_ns=5000,
    )

    assert (example.timer_interval_ns, example.term_buffer_length, example.print_configuration) == (
        5000,
        131072,
        True,
    )
    assert [setting.origin for setting in example.describe()] == [
        "argument",
        "property aeron.term.buffer.length",
        "environment AERON_PRINT_CONFIGURATION",
        "default",
    ]


def test_unreadable_text_keeps_the_default_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        example = Example(environment={"AERON_TIMER_INTERVAL": "soon"})

    assert example.timer_interval_ns == 1_000_000_000
    assert "AERON_TIMER_INTERVAL" in caplog.text


def test_text_outside_the_range_is_clamped_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        example = Example(environment={"AERON_TERM_BUFFER_LENGTH": "1k"})

    assert example.term_buffer_length == 65536
    assert "1024" in caplog.text


def test_an_argument_outside_the_range_raises_with_the_range() -> None:
    with pytest.raises(ArgumentError, match="65536 to 1073741824"):
        Example(environment={}, term_buffer_length=1024)


def test_a_path_is_as_good_as_its_text(tmp_path: Path) -> None:
    assert Context(aeron_dir=tmp_path).aeron_dir == str(tmp_path)
    assert MediaDriverContext(aeron_dir=tmp_path).aeron_dir == str(tmp_path)


@pytest.mark.parametrize(
    ("setting", "value", "wanted"),
    [("aeron_dir", 7, "str"), ("driver_timeout_ms", 1.5, "int"), ("use_conductor_agent_invoker", [], "bool")],
)
def test_an_argument_of_another_type_raises_with_the_type(setting: str, value: object, wanted: str) -> None:
    with pytest.raises(ArgumentError, match=rf"{setting} is .*: {wanted} is wanted"):
        Context(**{setting: value})


@pytest.mark.parametrize("value", [10_000, np.int32(10_000), "10000"])
def test_an_argument_may_be_any_whole_number_or_its_text(value: object) -> None:
    assert Context(driver_timeout_ms=value).driver_timeout_ms == 10_000


def test_an_unknown_argument_names_the_options() -> None:
    with pytest.raises(ArgumentError, match=r"no option 'timer'.*timer_interval_ns"):
        Example(environment={}, timer=3)


def test_properties_files_are_read_as_java_writes_them(tmp_path: Path) -> None:
    file = tmp_path / "driver.properties"
    file.write_text("# comment\naeron.timer.interval = 2s\naeron.threading.mode: SHARED\naeron.long=a\\\n  b\n")

    properties = config.load_properties(str(file))

    assert properties == {"aeron.timer.interval": "2s", "aeron.threading.mode": "SHARED", "aeron.long": "ab"}
    assert config.load_properties(file.as_uri()) == properties


def test_a_property_is_known_by_every_spelling_of_its_variable() -> None:
    assert Example(environment={}, properties={"AERON_TIMER_INTERVAL": "2s"}).timer_interval_ns == 2_000_000_000
    assert Example(environment={}, properties={"aeron.Timer.Interval": "2s"}).timer_interval_ns == 2_000_000_000


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert Example(environment={"AERON_TIMER_INTERVAL": ""}).timer_interval_ns == 1_000_000_000
