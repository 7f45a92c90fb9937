"""Our driver's agents beside a real one: no stream waits for an agent that sleeps, nor one agent for another."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from aeronpy import Aeron, ExclusivePublication, Subscription
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import Stage, free_port, udp
from tests.waiting import until

# One sleep of an agent that nobody holds to anything.
SLEEP_S = 0.2
LAZY = f"0-0-{int(SLEEP_S * 1000)}ms-{int(SLEEP_S * 1000)}ms"
WINDOWS = 40
PAYLOAD = bytes(4096 - 32)


@pytest.fixture
def connect(stage: Stage) -> Iterator[Callable[..., tuple[ExclusivePublication, Subscription]]]:
    """A stream between our driver, set up as told, and the cell's peer, in the cell's direction."""
    with ExitStack() as stack:

        def make(cell: Cell, **settings: str) -> tuple[ExclusivePublication, Subscription]:
            ours = stage.driver("ours", "ours", threading="DEDICATED", settings=settings)
            theirs = stage.driver(cell.peer, "theirs")
            source, target = (ours, theirs) if cell.direction == "out" else (theirs, ours)
            channel = udp(free_port())
            clients = [stack.enter_context(Aeron.connect(aeron_dir=str(each.aeron_dir))) for each in (target, source)]
            subscription = clients[0].add_subscription(channel, 7)
            publication = clients[1].add_exclusive_publication(channel, 7)
            until(lambda: publication.is_connected and subscription.is_connected)
            return publication, subscription

        yield make


@every("threading.window_updates")
def test_windows_of_a_busy_stream_do_not_wait_for_sleeping_agents(
    connect: Callable[..., tuple[ExclusivePublication, Subscription]], cell: Cell
) -> None:
    idle = {f"AERON_{agent}_IDLE_STRATEGY_INIT_ARGS": LAZY for agent in ("CONDUCTOR", "SENDER", "RECEIVER")}
    publication, subscription = connect(cell, **idle)
    gaps: list[float] = []
    limit, moved_at = publication.position_limit, time.monotonic()
    end = publication.position + WINDOWS * 32768

    while publication.position < end:
        publication.offer(PAYLOAD)
        subscription.poll(lambda *_: None, 100)
        if publication.position_limit != limit:
            now = time.monotonic()
            gaps.append(now - moved_at)
            limit, moved_at = publication.position_limit, now

    settled = sorted(gaps[len(gaps) // 2 :])
    assert len(settled) > 10
    assert settled[len(settled) * 9 // 10] < SLEEP_S / 4, settled[-5:]


@every("threading.no_waiting")
def test_messages_pass_while_the_conductor_sleeps(
    connect: Callable[..., tuple[ExclusivePublication, Subscription]], cell: Cell
) -> None:
    publication, subscription = connect(cell, AERON_CONDUCTOR_IDLE_STRATEGY_INIT_ARGS=LAZY)
    took: list[float] = []

    for _ in range(15):
        sent_at = time.monotonic()
        publication.send(b"one at a time")
        assert len(list(subscription.messages(limit=1, timeout_s=10))) == 1
        took.append(time.monotonic() - sent_at)
        time.sleep(0.02)  # too slow a stream to keep the conductor awake

    assert statistics.median(took) < SLEEP_S / 4, took
