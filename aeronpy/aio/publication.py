"""A publication for tasks: sends that wait for subscribers and window without a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar

from aeronpy.aio.sleeper import Sleeper
from aeronpy.client.publication import ExclusivePublication, Publication
from aeronpy.client.values import OfferResult
from aeronpy.errors import AeronTimeoutError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aeronpy._core.native import FragmentView

P = TypeVar("P", Publication, ExclusivePublication)
_PASSING: Final = (OfferResult.NOT_CONNECTED, OfferResult.BACK_PRESSURED, OfferResult.ADMIN_ACTION)


class AsyncPublication(Generic[P]):
    """Sends on a stream. Tasks that have to wait send in the order of their calls.

    `publication` is the thing itself, for everything else: `offer`, `try_claim`, batches, positions, destinations.
    """

    def __init__(self, publication: P) -> None:
        """Take a publication of either kind, of a client whose own threads run."""
        self.publication: Final[P] = publication
        self._sleeper: Final = Sleeper(publication)
        self._turn: Final = asyncio.Lock()
        self._queued = 0

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Sleep until an offer need not be refused for want of a subscriber or of window; False when timeout_s passed.

        True, too, once closed.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.publication.is_closed and self.publication.arm():
            if not await self._sleeper.sleep(None if deadline is None else deadline - time.monotonic()):
                return False
        return True

    async def asend(
        self,
        buffer: Buffer,
        *more: Buffer,
        timeout_s: float | None = 10.0,
        reserved_value: int | Callable[[FragmentView], int] | None = None,
    ) -> int:
        """Append a message, waiting up to timeout_s (None: for ever) until it is accepted; returns the position.

        Where it is cancelled, nothing was sent. ``reserved_value`` is as of `Publication.offer`. Raises
        AeronTimeoutError with what stood in the way, PublicationClosed, MaxPositionExceeded, TooLongError.
        """
        if self._queued == 0:
            result = self.publication.offer(buffer, *more, reserved_value=reserved_value)
            if result > 0:
                return int(result)
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._queued += 1
        try:
            await self._wait_for_turn(timeout_s)
            try:
                return await self._send_in_turn((buffer, *more), reserved_value, timeout_s, deadline)
            finally:
                self._turn.release()
        finally:
            self._queued -= 1

    async def _wait_for_turn(self, timeout_s: float | None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._turn.acquire()
        except TimeoutError:
            raise AeronTimeoutError(f"other messages waited before it for {timeout_s} s on {self!r}") from None

    async def _send_in_turn(
        self,
        parts: tuple[Buffer, ...],
        reserved_value: int | Callable[[FragmentView], int] | None,
        timeout_s: float | None,
        deadline: float | None,
    ) -> int:
        while True:
            result = self.publication.offer(*parts, reserved_value=reserved_value)
            if result > 0:
                return int(result)
            if result not in _PASSING:
                # Closed, or full for ever: the waiting send raises what that means.
                return self.publication.send(*parts, timeout_s=0, reserved_value=reserved_value)
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise AeronTimeoutError(f"{OfferResult(result).name} for {timeout_s} s on {self!r}")
            if result == OfferResult.ADMIN_ACTION:
                await asyncio.sleep(0)
            else:
                await self._sleeper.sleep(left)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or its client or driver is gone."""
        return self.publication.is_closed

    @property
    def is_connected(self) -> bool:
        """Whether there is a subscriber."""
        return self.publication.is_connected

    def close(self) -> None:
        """Close here at once, and at the driver, which drains what was sent. Twice is fine; nothing is waited for."""
        self.publication.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Async{self.publication!r}"
