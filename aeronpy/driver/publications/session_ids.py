"""Which session id a publication gets when its channel names none (spec: client/driver protocol, section 9.5)."""

from __future__ import annotations

from collections.abc import Callable


def wrap_i32(value: int) -> int:
    """A whole number as a signed 32-bit one, modulo 2^32."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


class SessionIds:
    """A counter of the driver that jumps over a reserved range and over what is in use."""

    def __init__(self, first: int, reserved_low: int, reserved_high: int) -> None:
        self._next = wrap_i32(first)
        self._low = reserved_low
        self._high = reserved_high

    def take(self, is_used: Callable[[int], bool]) -> int:
        """The next session id for which ``is_used`` is false."""
        while True:
            if self._low <= self._next <= self._high:
                self._next = wrap_i32(self._high + 1)
            taken = self._next
            self._next = wrap_i32(taken + 1)
            if not is_used(taken):
                return taken
