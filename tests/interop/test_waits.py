"""Sleeping where others do not ring: real drivers under our client, and real publishers before it."""

from __future__ import annotations

import asyncio

import pytest

from aeronpy import aio
from tests.interop import flows
from tests.interop.programs.flow import tally
from tests.interop.stage import IPC, Make, Stage, free_port, udp

DEADLINE_S = 40.0
MESSAGES = 240

pytestmark = pytest.mark.timeout(120)


def channel_of(medium: str) -> str:
    return IPC if medium == "ipc" else udp(free_port())


@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("driver_make", ["c", "ours"])
def test_tasks_receive_what_the_real_client_publishes(stage: Stage, driver_make: Make, medium: str) -> None:
    driver, channel = stage.driver(driver_make), channel_of(medium)

    async def receive() -> None:
        async with await aio.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
            subscription = await aeron.add_subscription(channel, 1001)
            publisher = stage.program("c", "publish", driver, channel, count=MESSAGES, stream=1001)
            publisher.expect("READY")
            got = [each async for each in subscription.messages(MESSAGES, timeout_s=DEADLINE_S)]
            assert len(got) == MESSAGES
            assert str(got[-1].position) == tally(flows.SHAPE, 0, MESSAGES)["position"]
            flows.same(publisher.expect("SENT"), 0, MESSAGES)

    asyncio.run(receive())


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_tasks_wait_for_window_on_a_real_driver(stage: Stage, medium: str) -> None:
    driver, channel = stage.driver("c"), channel_of(medium)

    async def flow() -> None:
        async with asyncio.timeout(DEADLINE_S), await aio.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
            subscription = await aeron.add_subscription(channel, 1002)
            publication = await aeron.add_publication(channel, 1002)

            async def send() -> None:
                for i in range(MESSAGES):
                    await publication.asend(b"%d" % i, bytes(1000))

            task = asyncio.create_task(send())
            got = [each.payload async for each in subscription.messages(MESSAGES, timeout_s=DEADLINE_S)]
            await task
            assert got == [b"%d" % i + bytes(1000) for i in range(MESSAGES)]

    asyncio.run(flow())
