"""Tasks that sleep until a subscription or publication is rung: one descriptor in the running loop."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Armed(Protocol):
    """What can be slept on: a `Subscription` or a publication."""

    def fileno(self) -> int:
        """The descriptor that becomes readable."""

    def arm(self) -> bool:
        """Announce the sleep; False where there is no need for it."""


class Sleeper:
    """Lets any number of tasks of one loop sleep on one thing. The loop knows the descriptor while one of them does."""

    def __init__(self, source: Armed) -> None:
        self._source = source
        self._sleeping: set[asyncio.Future[bool]] = set()

    async def sleep(self, timeout_s: float | None = None) -> bool:
        """Sleep until there may be a reason to look (True), or timeout_s passed (False)."""
        if not self._source.arm():
            return True
        if timeout_s is not None and timeout_s <= 0:
            return False
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[bool] = loop.create_future()
        descriptor = self._source.fileno()
        if not self._sleeping:
            loop.add_reader(descriptor, self._wake)
        self._sleeping.add(woken)
        alarm = None if timeout_s is None else loop.call_later(timeout_s, _settle, woken, False)
        try:
            return await woken
        finally:
            self._sleeping.discard(woken)
            if not self._sleeping:
                loop.remove_reader(descriptor)
            if alarm is not None:
                alarm.cancel()

    def _wake(self) -> None:
        for woken in self._sleeping:
            _settle(woken, True)


def _settle(future: asyncio.Future[bool], value: bool) -> None:
    if not future.done():
        future.set_result(value)
