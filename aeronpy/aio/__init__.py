"""Aeron for asyncio: ``async for`` over messages, ``asend``, no thread for any stream.

``async with await aio.connect() as aeron:`` gives an `AsyncAeron`; its streams sleep in the event loop until they are
rung (docs/waiting.md), so thousands of them cost nothing while nothing comes.
"""

from aeronpy.aio.client import AsyncAeron, connect
from aeronpy.aio.publication import AsyncPublication
from aeronpy.aio.subscription import AsyncSubscription

__all__ = ["AsyncAeron", "AsyncPublication", "AsyncSubscription", "connect"]
