"""The client for tasks: connects, adds and closes without holding up the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Self, TypeVar

from aeronpy.aio.publication import AsyncPublication
from aeronpy.aio.subscription import AsyncSubscription
from aeronpy.client.aeron import Aeron
from aeronpy.client.context import Context, ImageHandler
from aeronpy.client.publication import ExclusivePublication, Publication
from aeronpy.client.subscription import Subscription
from aeronpy.errors import AeronTimeoutError, ArgumentError, DriverTimeout

R = TypeVar("R")


class AsyncAeron:
    """A client whose streams tasks use. Its own two threads serve the driver, whatever the number of streams.

    `aeron` is the client itself, for everything else. Handlers run on its conductor thread, not in the loop.
    """

    def __init__(self, aeron: Aeron) -> None:
        """Take a client that is connected already; raises ArgumentError for one with the invoker."""
        if aeron.context.use_conductor_agent_invoker:
            raise ArgumentError("tasks cannot wait for a client with use_conductor_agent_invoker: let its threads run")
        self.aeron: Final = aeron

    # --- adding ---

    async def add_publication(
        self, channel: object, stream_id: int, *, strict: bool = True
    ) -> AsyncPublication[Publication]:
        """As `Aeron.add_publication`; one that is cancelled is taken back at the driver."""
        registration_id = self.aeron.async_add_publication(channel, stream_id, strict=strict)
        return AsyncPublication(await self._added(Publication, registration_id))

    async def add_exclusive_publication(
        self, channel: object, stream_id: int, *, strict: bool = True
    ) -> AsyncPublication[ExclusivePublication]:
        """As `Aeron.add_exclusive_publication`; one that is cancelled is taken back at the driver."""
        registration_id = self.aeron.async_add_exclusive_publication(channel, stream_id, strict=strict)
        return AsyncPublication(await self._added(ExclusivePublication, registration_id))

    async def add_subscription(
        self,
        channel: object,
        stream_id: int,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
        *,
        strict: bool = True,
    ) -> AsyncSubscription:
        """As `Aeron.add_subscription`; one that is cancelled is taken back at the driver."""
        registration_id = self.aeron.async_add_subscription(
            channel, stream_id, available_image_handler, unavailable_image_handler, strict=strict
        )
        return AsyncSubscription(await self._added(Subscription, registration_id))

    async def _added(self, kind: type[R], registration_id: int) -> R:
        conductor = self.aeron._conductor
        call = conductor.calls.pending(registration_id)
        assert call is not None
        loop = asyncio.get_running_loop()
        answered = asyncio.Event()
        conductor.core.awaiting(1)
        call.waiter.on_done(lambda: _tell(loop, answered.set))
        try:
            timeout_s = self.aeron.context.driver_timeout_ms / 1e3
            async with asyncio.timeout(timeout_s):
                await answered.wait()
        except TimeoutError:
            conductor.calls.cancel(registration_id)
            raise DriverTimeout(f"no response from the media driver within {timeout_s} s: {call.what}") from None
        except BaseException:
            conductor.calls.cancel(registration_id)
            raise
        finally:
            call.waiter.on_done(None)
            conductor.core.awaiting(-1)
        result = conductor.calls.take(registration_id, call)
        assert isinstance(result, kind)
        return result

    # --- life ---

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or ended: driver gone, client given up."""
        return self.aeron.is_closed

    async def close(self, timeout_s: float = 10.0) -> None:
        """Close everything that was made here, and leave the driver: tasks that receive end. Twice is fine.

        Raises AeronTimeoutError where a handler of the client holds it up for longer; it goes on closing then.
        """
        closing = asyncio.get_running_loop().run_in_executor(None, self.aeron.close)
        done, _ = await asyncio.wait([closing], timeout=timeout_s)
        if not done:
            raise AeronTimeoutError(f"{self.aeron!r} did not close within {timeout_s} s: a handler holds it up")
        closing.result()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"Async{self.aeron!r}"


async def connect(context: Context | None = None, **settings: Any) -> AsyncAeron:
    """Connect to a driver as `Aeron.connect`, without holding up the loop; raises as that.

    Where it is cancelled, the client that was on its way is closed.
    """
    connecting = asyncio.get_running_loop().run_in_executor(None, lambda: Aeron.connect(context, **settings))
    try:
        aeron = await asyncio.shield(connecting)
    except asyncio.CancelledError:
        connecting.add_done_callback(_drop)
        raise
    try:
        return AsyncAeron(aeron)
    except ArgumentError:
        aeron.close()
        raise


def _drop(connecting: asyncio.Future[Aeron]) -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.get_loop().run_in_executor(None, connecting.result().close)


def _tell(loop: asyncio.AbstractEventLoop, what: Callable[[], object]) -> None:
    try:
        loop.call_soon_threadsafe(what)
    except RuntimeError:
        pass  # the loop was closed meanwhile: nobody waits there
