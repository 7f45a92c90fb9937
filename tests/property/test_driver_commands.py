"""Whatever bytes a client writes, the driver finds a command in them or says why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from aeronpy.driver.channels.channel_values import parse_channel
from aeronpy.driver.conductor import commands
from aeronpy.driver.publications.publication_params import PublicationParams
from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.errors import RegistrationError

CONTEXT = MediaDriverContext(environment={})
KEYS = st.sampled_from(
    ["term-length", "mtu", "pub-wnd", "session-id", "init-term-id", "term-id", "term-offset", "linger", "tags", "eos"]
)
VALUES = st.text("0123456789-kmgstruefal:,", max_size=12)

T = TypeVar("T")


def outcome(decide: Callable[[], T]) -> tuple[T | None, int]:
    """What it gave, or the code it was refused with."""
    try:
        return decide(), 0
    except RegistrationError as error:
        return None, error.error_code


@given(st.integers(-1, 0x20), st.binary(max_size=200))
def test_any_bytes_are_a_command_or_are_refused(type_id: int, message: bytes) -> None:
    command, code = outcome(lambda: commands.decode(type_id, message))

    assert code in (0, 1, 6, 7)
    if command is not None:
        assert command.correlation_id == commands.correlation_id_of(message)


@given(st.dictionaries(KEYS, VALUES, max_size=5), st.booleans())
def test_any_parameters_make_a_publication_that_holds_together_or_are_refused(
    parameters: dict[str, str], is_ipc: bool
) -> None:
    channel = "aeron:ipc?" + "|".join(f"{key}={value}" for key, value in parameters.items())

    params, code = outcome(lambda: PublicationParams.parse(parse_channel(channel), CONTEXT, is_ipc=is_ipc))

    assert code in (0, 1, 8, 11)
    if params is not None:
        assert params.term_length & (params.term_length - 1) == 0
        assert 0 < params.window_length <= params.term_length // 2
        assert 0 <= params.start_position < params.term_length << 31
        assert params.start_position % 32 == 0


@given(st.text(max_size=60))
def test_any_text_is_a_channel_or_is_refused(text: str) -> None:
    _, code = outcome(lambda: parse_channel(text))

    assert code in (0, 1)
