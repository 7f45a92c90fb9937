"""Checks of what callers give."""

from __future__ import annotations

from aeronpy.errors import ArgumentError
from aeronpy.uri import ChannelUri


def channel_text(channel: object, strict: bool) -> str:
    """A channel's text, checked; raises `ChannelError`."""
    text = str(channel)
    ChannelUri.parse(text, strict)
    return text


def check_i32(name: str, value: int) -> int:
    """A number that goes into 32 bits; raises `ArgumentError`."""
    if not isinstance(value, int) or not -(1 << 31) <= value < 1 << 31:
        raise ArgumentError(f"{name} is {value!r}: a whole number from -2147483648 to 2147483647")
    return value
