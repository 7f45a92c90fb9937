"""Values of a channel's parameters as the driver takes them: a bad value is error 11, a bad grammar error 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from aeronpy.driver.conductor.refusals import refuse
from aeronpy.errors import ChannelError
from aeronpy.protocol import ErrorCode
from aeronpy.uri import (
    NULL_VALUE,
    PROTOTYPE_CORRELATION_ID,
    ChannelUri,
    parse_bool,
    parse_duration_ns,
    parse_integer,
    parse_size,
)

T = TypeVar("T")

IPC_PREFIX = "aeron:ipc"
SPY_CHANNEL_PREFIX = "aeron-spy:"
UNTETHERED_KEYS = (
    "untethered-window-limit-timeout",
    "untethered-linger-timeout",
    "untethered-resting-timeout",
)


def parse_channel(text: str) -> ChannelUri:
    """As lenient as the real driver; error 1 where it is no channel."""
    try:
        return ChannelUri.parse(text, strict=False)
    except ChannelError as error:
        raise refuse(ErrorCode.INVALID_CHANNEL, str(error)) from None


def value_of(uri: ChannelUri, key: str, parse: Callable[[str], T], default: T) -> T:
    """The value of a parameter, or the default when it is absent; error 11 when it makes no sense."""
    text = uri.get(key)
    if text is None:
        return default
    try:
        return parse(text)
    except ValueError as error:
        raise bad_value(uri, key, str(error)) from None


def bad_value(uri: ChannelUri, key: str, why: str) -> Exception:
    """The error for a parameter that cannot be used."""
    return refuse(ErrorCode.GENERIC_ERROR, f"invalid {key}={uri.get(key)} in {uri}: {why}")


def size_of(uri: ChannelUri, key: str, default: int) -> int:
    """Bytes."""
    return value_of(uri, key, parse_size, default)


def duration_of(uri: ChannelUri, key: str, default: int) -> int:
    """Nanoseconds."""
    return value_of(uri, key, parse_duration_ns, default)


def flag_of(uri: ChannelUri, key: str, default: bool) -> bool:
    """True or false."""
    return value_of(uri, key, parse_bool, default)


def i32_of(uri: ChannelUri, key: str) -> int | None:
    """A signed 32-bit number, or None when absent."""
    return value_of(uri, key, _parse_i32, None)


def i64_of(uri: ChannelUri, key: str) -> int | None:
    """A signed 64-bit number, or None when absent."""
    return value_of(uri, key, _parse_i64, None)


def _parse_i32(text: str) -> int | None:
    return _parse_integer(text, 32)


def _parse_i64(text: str) -> int | None:
    return _parse_integer(text, 64)


def _parse_integer(text: str, bits: int) -> int:
    return parse_integer(text, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def response_correlation_id_of(uri: ChannelUri) -> int:
    """Whom a publication asks, or answers: NULL_VALUE for nobody, PROTOTYPE_CORRELATION_ID for nobody yet."""
    return value_of(uri, "response-correlation-id", _parse_response, NULL_VALUE)


def _parse_response(text: str) -> int:
    if text == "prototype":
        return PROTOTYPE_CORRELATION_ID
    value = _parse_integer(text, 64)
    if value < NULL_VALUE:
        raise ValueError("it is negative")
    return value


def tags_of(uri: ChannelUri) -> tuple[int | None, int | None]:
    """Channel tag and entity tag, None where absent."""
    try:
        return uri.tags()
    except ChannelError as error:
        raise refuse(ErrorCode.GENERIC_ERROR, str(error)) from None


_NOT_IN_DESTINATIONS = ("mtu", "rcv-wnd", "so-rcvbuf", "so-sndbuf", "response-correlation-id")


def check_destination(uri: ChannelUri) -> None:
    """Error 1 where a destination's channel says what only that of its publication or subscription can."""
    for key in _NOT_IN_DESTINATIONS:
        if uri.get(key) is not None:
            raise refuse(ErrorCode.INVALID_CHANNEL, f"destinations must not contain the key {key}: {uri}")
    if uri.get("control-mode") == "response":
        raise refuse(ErrorCode.INVALID_CHANNEL, f"destinations may not specify control-mode=response: {uri}")
