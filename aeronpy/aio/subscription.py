"""A subscription for tasks: messages as they come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Final, Self

from aeronpy.aio.sleeper import Sleeper
from aeronpy.client.message import Message
from aeronpy.client.subscription import Subscription
from aeronpy.errors import AeronTimeoutError, StateError

# What one task takes before it lets others run.
_FRAGMENTS_PER_TURN: Final = 64


class AsyncSubscription:
    """Receives a stream from all who send it: ``async for message in subscription``.

    Any number of tasks of one loop may receive; each message goes to one of them. `subscription` is the thing itself,
    for everything else: images, destinations, polls of one's own behind `wait`.
    """

    def __init__(self, subscription: Subscription) -> None:
        """Take a subscription of a client whose own threads run."""
        self.subscription: Final = subscription
        self._sleeper: Final = Sleeper(subscription)

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Sleep until there is something to poll; False when timeout_s passed, or once closed."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.subscription.is_closed:
            left = None if deadline is None else deadline - time.monotonic()
            if not self.subscription.arm():
                return not self.subscription.is_closed
            if not await self._sleeper.sleep(left):
                return False
        return False

    async def receive(self, timeout_s: float | None = None) -> Message:
        """The next whole message, owning its bytes.

        A cancelled task takes none away: what was read ahead goes to the next call. Raises AeronTimeoutError when none
        came for timeout_s; once all read-ahead messages are gone, what ended the client, or StateError where the
        subscription is closed.
        """
        message = await self._next(timeout_s)
        if message is not None:
            return message
        if self.subscription.is_closed:
            raise StateError(f"{self.subscription!r}: no more messages come")
        raise AeronTimeoutError(f"no message for {timeout_s} s on {self.subscription!r}")

    async def messages(self, limit: int | None = None, *, timeout_s: float | None = None) -> AsyncIterator[Message]:
        """Iterate over whole messages: ends after ``limit``, when none came for ``timeout_s``, or when closed.

        Raises what ended the client, where it did not close by itself.
        """
        left = limit if limit is not None else -1
        while left != 0:
            message = await self._next(timeout_s)
            if message is None:
                return
            left -= 1
            yield message

    async def _next(self, timeout_s: float | None) -> Message | None:
        subscription = self.subscription
        ahead, assembler = subscription._ahead, subscription._assembler_ahead
        if ahead:
            return ahead.popleft()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            # Nothing is awaited between taking a message and handing it out: a cancellation finds it taken, or not.
            polled = 0 if subscription.is_closed else subscription.poll(assembler, _FRAGMENTS_PER_TURN)
            if polled > 0:
                await asyncio.sleep(0)
            if ahead:
                return ahead.popleft()
            if subscription.is_closed:
                self._raise_what_ended()
                return None
            if polled == 0 and not await self._sleeper.sleep(None if deadline is None else deadline - time.monotonic()):
                return None

    def _raise_what_ended(self) -> None:
        conductor = self.subscription._conductor
        error = conductor.why_ended() if conductor is not None else None
        if error is not None:
            raise type(error)(f"the client ended: {error}", error.code)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        message = await self._next(None)
        if message is None:
            raise StopAsyncIteration
        return message

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or its client or driver is gone."""
        return self.subscription.is_closed

    def close(self) -> None:
        """Close here at once, and at the driver: tasks that receive end. Twice is fine, and nothing is waited for."""
        self.subscription.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Async{self.subscription!r}"
