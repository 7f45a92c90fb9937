"""A busy stream's windows do not wait for agents that sleep, and agents sleep when nothing is busy."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aeronpy import Aeron, ExclusivePublication, Subscription
from aeronpy.driver import MediaDriver, ThreadingMode
from tests.waiting import until

# One sleep of an agent that nobody holds to anything.
SLEEP_S = 0.2
LAZY = f"0-0-{int(SLEEP_S * 1000)}ms-{int(SLEEP_S * 1000)}ms"
WINDOWS = 80
PAYLOAD = bytes(4096 - 32)

AGENTS = {
    ThreadingMode.DEDICATED: ("conductor", "sender", "receiver"),
    ThreadingMode.SHARED_NETWORK: ("conductor", "sharednetwork"),
    ThreadingMode.SHARED: ("shared",),
}


IPC, IPC_LONG, UDP = (
    *("aeron:ipc?term-length=64k", "aeron:ipc?term-length=1m"),
    "aeron:udp?endpoint=localhost:0|term-length=64k",
)
STREAMS = [
    *((ThreadingMode.DEDICATED, channel) for channel in (IPC, IPC_LONG, UDP)),
    (ThreadingMode.SHARED_NETWORK, UDP),
    (ThreadingMode.SHARED, IPC),
]


@pytest.fixture
def lazy(request: pytest.FixtureRequest) -> Iterator[MediaDriver]:
    """A driver whose agents sleep at once and long, where they may."""
    mode: ThreadingMode = request.param
    idle = {f"{agent}_idle_strategy_init_args": LAZY for agent in AGENTS[mode]}
    with MediaDriver.launch_embedded(threading_mode=mode, **idle) as driver:
        yield driver


def gaps_between_limits(publication: ExclusivePublication, subscription: Subscription, windows: int) -> list[float]:
    """Fill window after window and read it at once; seconds between the moves of the limit that allow the next."""
    gaps: list[float] = []
    limit, moved_at = publication.position_limit, time.monotonic()
    end = publication.position + windows * publication.term_buffer_length // 2
    while publication.position < end:
        publication.offer(PAYLOAD)
        subscription.poll(lambda *_: None, 100)
        if publication.position_limit != limit:
            now = time.monotonic()
            gaps.append(now - moved_at)
            limit, moved_at = publication.position_limit, now
    return gaps


@pytest.mark.parametrize(("lazy", "channel"), STREAMS, indirect=["lazy"])
def test_windows_of_a_busy_stream_do_not_wait_for_a_sleeping_agent(lazy: MediaDriver, channel: str) -> None:
    with Aeron.connect(aeron_dir=lazy.aeron_dir) as aeron:
        subscription = aeron.add_subscription(channel, 7)
        until(lambda: "udp" not in channel or bool(subscription.local_socket_addresses))
        if "udp" in channel:
            channel = channel.replace("localhost:0", subscription.local_socket_addresses[0])
        publication = aeron.add_exclusive_publication(channel, 7)
        until(lambda: publication.is_connected and subscription.is_connected)

        gaps = gaps_between_limits(publication, subscription, WINDOWS)

        settled = gaps[len(gaps) // 2 :]
        assert len(settled) > 10
        # the system may take a thread away now and then; an agent that slept would show in each gap
        assert sorted(settled)[len(settled) * 9 // 10] < SLEEP_S / 4, sorted(settled)[-5:]


@pytest.mark.parametrize("mode", [ThreadingMode.DEDICATED, ThreadingMode.SHARED])
def test_the_first_burst_after_a_silence_wakes_the_conductor(mode: ThreadingMode) -> None:
    idle = {f"{agent}_idle_strategy_init_args": LAZY for agent in AGENTS[mode]}
    worst = []
    for _ in range(4):  # nothing ever moved in a driver just started: it sleeps as long as it may
        with (
            MediaDriver.launch_embedded(threading_mode=mode, **idle) as driver,
            Aeron.connect(aeron_dir=driver.aeron_dir) as aeron,
        ):
            subscription = aeron.add_subscription(IPC, 7)
            publication = aeron.add_exclusive_publication(IPC, 7)
            until(lambda: publication.is_connected and subscription.is_connected)  # noqa: B023
            until(lambda: publication.position_limit > 0)  # noqa: B023

            worst.append(max(gaps_between_limits(publication, subscription, 4)))

    assert sorted(worst)[1] < SLEEP_S / 4, worst


def sleeps_of(thread: str) -> int:
    """How often the system took the thread of that name off its processor since it went to sleep by itself."""
    for task in Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().strip() == thread:
            lines = (task / "status").read_text().splitlines()
            return int(next(line for line in lines if line.startswith("voluntary_ctxt")).split()[1])
    raise AssertionError(f"no thread {thread!r}")


def test_agents_of_idle_streams_sleep_as_long_as_their_strategy_says() -> None:
    with MediaDriver.launch_embedded() as driver, Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        channel = "aeron:ipc?term-length=64k"
        subscription = aeron.add_subscription(channel, 7)
        publication = aeron.add_exclusive_publication(channel, 7)
        until(lambda: publication.is_connected and subscription.is_connected)
        gaps_between_limits(publication, subscription, WINDOWS)

        def is_idle() -> bool:
            before = sleeps_of("conductor")
            threading.Event().wait(0.5)
            return sleeps_of("conductor") - before < 1000  # 20 us each would be 25,000; 1 ms each are 500

        until(is_idle)
