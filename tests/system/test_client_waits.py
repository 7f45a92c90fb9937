"""Sleeping until there is something to poll or room to send: woken on need, by our drivers and publishers."""

from __future__ import annotations

import itertools
import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

import pytest

from aeronpy import Aeron, MediaDriver, OfferResult, Subscription, ThreadingMode
from aeronpy.errors import ArgumentError, PublicationClosed, StateError
from tests.system.clients import CHANNEL, Pair, free_port, run
from tests.waiting import DEADLINE_S, until

pytestmark = pytest.mark.timeout(90)

STREAMS = itertools.count(7001)
PROMPT_S = 0.2  # less than a sleeper's backstop: only who was rung is up by then


class Armed(Protocol):
    def fileno(self) -> int: ...
    def arm(self) -> bool: ...


def sleep_on(waiting: Armed, timeout_s: float) -> bool:
    """As an event loop does: whether the descriptor became readable."""
    readable, _, _ = select.select([waiting], [], [], timeout_s)
    return bool(readable)


def sleep_until_ready(waiting: Armed) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while waiting.arm():
        assert time.monotonic() < deadline
        sleep_on(waiting, 1.0)


def quiet(waiting: Armed) -> None:
    """Armed, and with nothing left that came before."""
    until(lambda: waiting.arm() and not sleep_on(waiting, 0))


@pytest.fixture(scope="module", params=["DEDICATED", "SHARED"])
def waits_driver(request: pytest.FixtureRequest) -> Iterator[MediaDriver]:
    with MediaDriver.launch_embedded(threading_mode=ThreadingMode[request.param]) as driver:
        yield driver


@pytest.fixture
def waits_aeron(waits_driver: MediaDriver) -> Iterator[Aeron]:
    with Aeron.connect(aeron_dir=waits_driver.aeron_dir) as aeron:
        yield aeron


def connected(aeron: Aeron, channel: str) -> Pair:
    stream_id = next(STREAMS)
    subscription = aeron.add_subscription(channel, stream_id)
    publication = aeron.add_exclusive_publication(channel, stream_id)
    until(lambda: subscription.is_connected and publication.is_connected and publication.available_window > 0)
    return publication, subscription


def in_a_moment(act: Callable[[], object]) -> threading.Thread:
    """On another thread, which begins when this one sleeps at the latest."""
    thread = threading.Thread(target=act)
    thread.start()
    return thread


@pytest.mark.parametrize("kind", ["ipc", "udp", "spy"])
def test_a_message_wakes_who_sleeps_on_the_descriptor(waits_aeron: Aeron, kind: str) -> None:
    udp = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"
    publication, subscription = connected(waits_aeron, CHANNEL if kind == "ipc" else udp)
    if kind == "spy":
        spy = waits_aeron.add_subscription(f"aeron-spy:{udp}", publication.stream_id)
        until(lambda: spy.is_connected)
        subscription = spy
    got: list[bytes] = []
    for i in range(20):
        quiet(subscription)
        publication.send(b"message %d" % i)
        began = time.monotonic()
        sleep_until_ready(subscription)
        assert time.monotonic() - began < DEADLINE_S
        subscription.poll(lambda buffer, _: got.append(bytes(buffer)))
    assert got == [b"message %d" % i for i in range(20)]


def test_it_is_rung_rather_than_found_by_the_timer(waits_aeron: Aeron) -> None:
    # Of many sleeps, some may be late on a busy machine; if nobody rang, all but a few would last up to the backstop.
    publication, subscription = connected(waits_aeron, CHANNEL)
    prompt = 0
    for _ in range(30):
        quiet(subscription)
        publication.send(b"now")
        prompt += sleep_on(subscription, PROMPT_S / 20)
        subscription.poll(lambda _buffer, _header: None)
    assert prompt >= 20


def test_wait_ends_by_a_message_by_its_time_and_by_close(waits_aeron: Aeron) -> None:
    publication, subscription = connected(waits_aeron, CHANNEL)
    assert subscription.wait(0) is False
    began = time.monotonic()
    assert subscription.wait(0.05) is False
    assert time.monotonic() - began >= 0.05

    sender = in_a_moment(lambda: publication.send(b"x"))
    assert subscription.wait(DEADLINE_S) is True
    sender.join(DEADLINE_S)
    subscription.poll(lambda _buffer, _header: None)

    closer = in_a_moment(subscription.close)
    assert subscription.wait(DEADLINE_S) is False
    closer.join(DEADLINE_S)
    assert subscription.arm() is False  # asked for before: it stays open for loops that still know it
    assert subscription.wait() is False


def test_an_image_that_comes_wakes_and_one_that_goes(waits_aeron: Aeron) -> None:
    stream_id = next(STREAMS)
    subscription = waits_aeron.add_subscription(CHANNEL, stream_id)
    quiet(subscription)
    publication = waits_aeron.add_exclusive_publication(CHANNEL, stream_id)
    until(lambda: subscription.image_count == 1)
    assert sleep_on(subscription, DEADLINE_S)
    quiet(subscription)
    publication.close()
    until(lambda: subscription.image_count == 0)
    assert sleep_on(subscription, DEADLINE_S)


def test_claims_and_aborts_wake(waits_aeron: Aeron) -> None:
    publication, subscription = connected(waits_aeron, CHANNEL)
    quiet(subscription)
    with publication.try_claim(5) as claim:
        claim.buffer[:] = b"claim"
    sleep_until_ready(subscription)
    got: list[bytes] = []
    subscription.poll(lambda buffer, _: got.append(bytes(buffer)))
    assert got == [b"claim"]


@pytest.mark.parametrize("kind", ["ipc", "udp"])
def test_a_publication_is_woken_when_there_is_room_again(waits_aeron: Aeron, kind: str) -> None:
    channel = CHANNEL if kind == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"
    publication, subscription = connected(waits_aeron, channel)
    assert publication.arm() is False
    # IPC is full when its window is; on UDP the receiver's window has to be full, too.
    deadline = time.monotonic() + DEADLINE_S
    while not (publication.offer(bytes(1000)) == OfferResult.BACK_PRESSURED and publication.arm()):
        assert time.monotonic() < deadline
    reader = in_a_moment(lambda: until(lambda: subscription.poll(lambda _b, _h: None, 1000) == 0))
    sleep_until_ready(publication)
    reader.join(DEADLINE_S)
    until(lambda: not publication.arm())


def test_a_publication_is_woken_by_its_first_subscriber(waits_aeron: Aeron) -> None:
    stream_id = next(STREAMS)
    publication = waits_aeron.add_publication(CHANNEL, stream_id)
    assert publication.offer(b"x") == OfferResult.NOT_CONNECTED
    assert publication.arm() is True
    kept: list[Subscription] = []
    adder = in_a_moment(lambda: kept.append(waits_aeron.add_subscription(CHANNEL, stream_id)))
    sleep_until_ready(publication)
    assert publication.offer(b"x") > 0
    adder.join(DEADLINE_S)


def test_descriptors_of_what_is_closed(waits_aeron: Aeron) -> None:
    publication, subscription = connected(waits_aeron, CHANNEL)
    quiet(subscription)
    subscription.close()
    publication.close()
    assert sleep_on(subscription, DEADLINE_S)
    with pytest.raises(PublicationClosed):
        publication.fileno()
    fresh = waits_aeron.add_subscription(CHANNEL, next(STREAMS))
    fresh.close()
    with pytest.raises(StateError, match="is closed"):
        fresh.fileno()
    with pytest.raises(ArgumentError, match="no idle strategy"):
        waits_aeron.add_subscription(CHANNEL, next(STREAMS)).wait(1, "nap")


def test_no_socket_is_left_behind(waits_aeron: Aeron) -> None:
    folder = os.path.join(waits_aeron.aeron_dir, "waiters")
    before = set(os.listdir(folder)) if os.path.isdir(folder) else set()
    publication, subscription = connected(waits_aeron, CHANNEL)
    quiet(subscription)
    assert len(set(os.listdir(folder)) - before) == 1
    subscription.close()
    publication.close()
    del subscription, publication
    until(lambda: set(os.listdir(folder)) <= before)


SLEEPER = """
import sys, time
from aeronpy import Aeron
with Aeron.connect(aeron_dir=sys.argv[1]) as aeron:
    subscription = aeron.add_subscription(sys.argv[2], int(sys.argv[3]))
    for message in subscription.messages(3, timeout_s=30):
        print(message.payload.decode(), flush=True)
"""


def test_another_process_is_woken(waits_aeron: Aeron) -> None:
    stream_id = next(STREAMS)
    publication = waits_aeron.add_publication(CHANNEL, stream_id)

    def send() -> None:
        for i in range(3):
            publication.send(b"number %d" % i, timeout_s=30)

    sender = in_a_moment(send)
    done = run(SLEEPER, waits_aeron.aeron_dir, CHANNEL, str(stream_id))
    sender.join(DEADLINE_S)
    assert done.stdout.split("\n")[:3] == ["number 0", "number 1", "number 2"], done.stderr


INTERRUPTED = """
import os, signal, sys, threading, time
from aeronpy import Aeron
with Aeron.connect(aeron_dir=sys.argv[1]) as aeron:
    subscription = aeron.add_subscription(sys.argv[2], 1)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        subscription.wait(60)
    except KeyboardInterrupt:
        print("heard")
"""


def test_a_sleep_hears_ctrl_c(waits_aeron: Aeron) -> None:
    done = run(INTERRUPTED, waits_aeron.aeron_dir, CHANNEL)
    assert done.stdout == "heard\n", done.stderr
