"""Values of a channel's parameters as the driver takes them: a bad value is error 11, a bad grammar error 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from aeronpy.driver.error_code import ErrorCode, refuse
from aeronpy.errors import ChannelError
from aeronpy.uri import ChannelUri, parse_bool, parse_duration_ns, parse_integer, parse_size

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


def tags_of(uri: ChannelUri) -> tuple[int | None, int | None]:
    """Channel tag and entity tag, None where absent."""
    try:
        return uri.tags()
    except ChannelError as error:
        raise refuse(ErrorCode.INVALID_CHANNEL, str(error)) from None


def refuse_unsupported(uri: ChannelUri) -> None:
    """Error 8 for what this driver cannot do yet, rather than doing something else in silence."""
    if uri.get("control-mode") in ("manual", "dynamic"):
        raise refuse(ErrorCode.NOT_SUPPORTED, f"control-mode={uri.get('control-mode')} is not supported yet: {uri}")
    if uri.get("control-mode") == "response" or uri.get("response-correlation-id") not in (None, "-1"):
        raise refuse(ErrorCode.NOT_SUPPORTED, f"response channels are not supported yet: {uri}")
    if uri.get("cc") not in (None, "static"):
        raise refuse(ErrorCode.NOT_SUPPORTED, f"cc={uri.get('cc')} is not supported yet: {uri}")
    for key in ("media-rcv-ts-offset", "channel-rcv-ts-offset", "channel-snd-ts-offset"):
        if uri.get(key) is not None:
            raise refuse(ErrorCode.NOT_SUPPORTED, f"{key} is not supported yet: {uri}")
