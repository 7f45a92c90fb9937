"""Streams in an event loop: received, sent, cancelled and closed by tasks, with no thread for any of them."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from aeronpy import Aeron, MediaDriver, OfferResult, aio
from aeronpy.errors import (
    AeronTimeoutError,
    ArgumentError,
    DriverShutdown,
    DriverTimeout,
    PublicationClosed,
    RegistrationError,
    StateError,
    TooLongError,
)
from tests.system.clients import CHANNEL

DEADLINE_S = 30.0
STREAMS = itertools.count(9001)
Scene = Callable[[aio.AsyncAeron], Coroutine[Any, Any, None]]


@pytest.fixture
def play(clients_driver: MediaDriver) -> Callable[[Scene], None]:
    """Run a scene with a client, in a loop of its own."""

    async def whole(scene: Scene) -> None:
        async with asyncio.timeout(DEADLINE_S), await aio.connect(aeron_dir=clients_driver.aeron_dir) as aeron:
            await scene(aeron)

    return lambda scene: asyncio.run(whole(scene))


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():
            await asyncio.sleep(0.002)


async def pair(aeron: aio.AsyncAeron) -> tuple[aio.AsyncPublication[Any], aio.AsyncSubscription]:
    stream_id = next(STREAMS)
    subscription = await aeron.add_subscription(CHANNEL, stream_id)
    publication = await aeron.add_exclusive_publication(CHANNEL, stream_id)
    assert await publication.wait(DEADLINE_S)
    await until(lambda: subscription.subscription.is_connected)
    return publication, subscription


async def asleep(task: asyncio.Task[Any], sleeper: Any) -> None:
    """Until a task is where it waits for a ring."""
    await until(lambda: sleeper._sleeper._sleeping or task.done())
    assert not task.done()


def test_messages_flow_both_ways_between_tasks(play: Callable[[Scene], None]) -> None:
    async def scene(aeron: aio.AsyncAeron) -> None:
        there, hears = await pair(aeron)
        back, answers = await pair(aeron)

        async def echo() -> None:
            async for message in hears:
                await back.asend(message.payload)

        task = asyncio.create_task(echo())
        for i in range(200):
            sent = b"%d" % i
            await there.asend(sent)
            assert (await answers.receive(DEADLINE_S)).payload == sent
        hears.close()
        await task

    play(scene)


def test_a_fast_sender_waits_for_its_window_and_nothing_is_lost(play: Callable[[Scene], None]) -> None:
    async def scene(aeron: aio.AsyncAeron) -> None:
        publication, subscription = await pair(aeron)
        count = 2000  # thirty times what a window of 32 KiB holds

        async def send() -> None:
            for i in range(count):
                await publication.asend(b"%d" % i, b" " * 500)

        task = asyncio.create_task(send())
        got = [int(message.payload) async for message in subscription.messages(count, timeout_s=DEADLINE_S)]
        await task
        assert got == list(range(count))

    play(scene)


def test_tasks_that_wait_send_in_the_order_of_their_calls(play: Callable[[Scene], None]) -> None:
    async def scene(aeron: aio.AsyncAeron) -> None:
        publication, subscription = await pair(aeron)
        while publication.publication.offer(b"-1" + bytes(1000)) != OfferResult.BACK_PRESSURED:
            pass
        senders = [asyncio.create_task(publication.asend(b"%d" % i)) for i in range(50)]
        await asyncio.sleep(0)
        senders.append(asyncio.create_task(publication.asend(b"50")))
        got: list[int] = []
        while 50 not in got:
            got.append(int((await subscription.receive(DEADLINE_S)).payload[:2].rstrip(b"\0")))
        await asyncio.gather(*senders)
        assert [each for each in got if each >= 0] == list(range(51))

    play(scene)


def test_a_cancelled_receiver_loses_nothing(play: Callable[[Scene], None]) -> None:
    async def scene(aeron: aio.AsyncAeron) -> None:
        publication, subscription = await pair(aeron)
        got: list[int] = []

        async def receive() -> None:
            async for message in subscription:
                got.append(int(message.payload))

        for i in range(0, 300, 3):
            task = asyncio.create_task(receive())
            if i % 2:
                await asyncio.sleep(0)  # cancelled on its way, or before it began
            for each in range(i, i + 3):
                publication.publication.send(b"%d" % each)
            if i % 4:
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        while len(got) < 300:
            got.append(int((await subscription.receive(DEADLINE_S)).payload))
        assert got == list(range(300))

    play(scene)


def test_a_cancelled_send_sends_nothing_and_the_next_goes_on(play: Callable[[Scene], None]) -> None:
    async def scene(aeron: aio.AsyncAeron) -> None:
        stream_id = next(STREAMS)
        publication = await aeron.add_publication(CHANNEL, stream_id)
        first = asyncio.create_task(publication.asend(b"cancelled"))
        second = asyncio.create_task(publication.asend(b"kept"))
        await asleep(first, publication)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert first.cancelled()
        subscription = await aeron.add_subscription(CHANNEL, stream_id)
        assert await second > 0
        assert (await subscription.receive(DEADLINE_S)).payload == b"kept"

    play(scene)


def test_times_that_are_over(play: Callable[[Scene], None]) -> None:
    async def scene(aeron: aio.AsyncAeron) -> None:
        publication, subscription = await pair(aeron)
        with pytest.raises(AeronTimeoutError, match=r"no message for 0\.05 s"):
            await subscription.receive(0.05)
        assert [each async for each in subscription.messages(timeout_s=0.01)] == []
        assert not await subscription.wait(0.01)
        lonely = await aeron.add_publication(CHANNEL, next(STREAMS))
        assert not await lonely.wait(0.01)
        with pytest.raises(AeronTimeoutError, match=r"NOT_CONNECTED for 0\.05 s"):
            await lonely.asend(b"x", timeout_s=0.05)
        holder = asyncio.create_task(lonely.asend(b"x", timeout_s=None))
        await asleep(holder, lonely)
        with pytest.raises(AeronTimeoutError, match="other messages waited"):
            await lonely.asend(b"y", timeout_s=0.05)
        holder.cancel()
        with pytest.raises(TooLongError):
            await publication.asend(bytes(publication.publication.max_message_length + 1))
        await publication.asend(b"z")
        assert await subscription.wait(DEADLINE_S)

    play(scene)


def test_closing_ends_who_waits(play: Callable[[Scene], None]) -> None:
    async def scene(aeron: aio.AsyncAeron) -> None:
        publication, subscription = await pair(aeron)
        receiver = asyncio.create_task(subscription.receive())
        waiter = asyncio.create_task(subscription.wait())
        lonely = await aeron.add_publication(CHANNEL, next(STREAMS))
        sender = asyncio.create_task(lonely.asend(b"x"))
        await asleep(receiver, subscription)
        await asleep(sender, lonely)
        subscription.close()
        lonely.close()
        with pytest.raises(StateError, match="no more messages"):
            await receiver
        assert await waiter is False
        with pytest.raises(PublicationClosed):
            await sender
        assert [each async for each in subscription] == []
        with pytest.raises(PublicationClosed):
            await lonely.asend(b"x")
        assert publication.is_connected is not None

    play(scene)


def test_closing_the_client_ends_every_loop_within_its_time(clients_driver: MediaDriver) -> None:
    async def scene() -> None:
        aeron = await aio.connect(aeron_dir=clients_driver.aeron_dir)
        _, subscription = await pair(aeron)

        async def drain() -> list[object]:
            return [each async for each in subscription]

        task = asyncio.create_task(drain())
        await asleep(task, subscription)
        await aeron.close(DEADLINE_S)
        assert await asyncio.wait_for(task, DEADLINE_S) == []
        assert aeron.is_closed
        await aeron.close()

    asyncio.run(scene())


def test_a_driver_that_ends_is_raised_where_messages_are_waited_for() -> None:
    async def scene() -> None:
        with MediaDriver.launch_embedded() as driver:
            aeron = await aio.connect(aeron_dir=driver.aeron_dir, error_handler=lambda _error: None)
            _, subscription = await pair(aeron)
            receiver = asyncio.create_task(subscription.receive())
            await asleep(receiver, subscription)
            await asyncio.to_thread(driver.close)
            with pytest.raises(DriverShutdown, match="the client ended"):
                await asyncio.wait_for(receiver, DEADLINE_S)
            await aeron.close()

    asyncio.run(scene())


def test_a_hundred_streams_have_no_threads(play: Callable[[Scene], None]) -> None:
    async def scene(aeron: aio.AsyncAeron) -> None:
        before = threading.active_count()
        pairs = [await pair(aeron) for _ in range(100)]
        receivers = [asyncio.create_task(subscription.receive(DEADLINE_S)) for _, subscription in pairs]
        for receiver, (_, subscription) in zip(receivers, pairs, strict=True):
            await asleep(receiver, subscription)
        assert threading.active_count() == before
        for number, (publication, _) in enumerate(pairs):
            await publication.asend(b"%d" % number)
        assert [int((await receiver).payload) for receiver in receivers] == list(range(100))

    play(scene)


def test_a_busy_stream_lets_other_tasks_run(play: Callable[[Scene], None]) -> None:
    async def scene(aeron: aio.AsyncAeron) -> None:
        publication, subscription = await pair(aeron)
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticker = asyncio.create_task(tick())
        for _ in range(200):
            publication.publication.send(b"x")
        async for _ in subscription.messages(200, timeout_s=DEADLINE_S):
            pass  # all of them were there before the first was asked for
        ticker.cancel()
        assert ticks >= 3

    play(scene)


def test_adds_that_are_refused_cancelled_or_late(play: Callable[[Scene], None], clients_driver: MediaDriver) -> None:
    async def scene(aeron: aio.AsyncAeron) -> None:
        with pytest.raises(RegistrationError):
            await aeron.add_subscription("aeron:udp?endpoint=not-a-host.invalid:1", 1)
        adding: Awaitable[object] = asyncio.ensure_future(aeron.add_publication(CHANNEL, next(STREAMS)))
        await asyncio.sleep(0)
        assert isinstance(adding, asyncio.Future)
        adding.cancel()
        await asyncio.gather(adding, return_exceptions=True)
        await until(lambda: not aeron.aeron.has_active_commands)
        with pytest.raises(ArgumentError, match="invoker"):
            await aio.connect(aeron_dir=clients_driver.aeron_dir, use_conductor_agent_invoker=True)
        with pytest.raises(DriverTimeout):
            await aio.connect(aeron_dir="/dev/shm/no-such-driver", driver_timeout_ms=50)

    play(scene)


def test_a_client_that_is_there_already_is_wrapped(aeron: Aeron) -> None:
    async def scene() -> None:
        wrapped = aio.AsyncAeron(aeron)
        publication, subscription = await pair(wrapped)
        await publication.asend(b"x", reserved_value=5)
        message = await subscription.receive(DEADLINE_S)
        assert (message.payload, message.reserved_value) == (b"x", 5)
        assert "AsyncSubscription(" in repr(subscription)

    asyncio.run(scene())
