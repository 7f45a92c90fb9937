"""Many streams and many clients at once; each carries messages that are checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from aeronpy import Aeron, ExclusivePublication, Subscription
from tests.interop.stage import IPC, Stage, Threading, free_port, udp

DEADLINE_S = 30.0
IPC_STREAMS, UDP_STREAMS, MESSAGES = 1000, 200, 5
CLIENTS = 100
# With thousands of logs to make, a shared machine may keep a client from its heartbeat for seconds.
PATIENT = {"AERON_CLIENT_LIVENESS_TIMEOUT": "10s", "AERON_PUBLICATION_UNBLOCK_TIMEOUT": "20s"}


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.001)


def payload(stream: int, index: int) -> bytes:
    return b"%d:%d;" % (stream, index) * (1 + (stream + index) % 40)


def bring(subscription: Subscription, count: int) -> list[bytes]:
    """So many messages of a subscription; one more would be among them."""
    got: list[bytes] = []

    def enough() -> bool:
        subscription.poll(lambda buffer, header: got.append(bytes(buffer)), count + 1)
        return len(got) >= count

    until(enough, f"{count} messages on stream {subscription.stream_id}")
    return got


@pytest.mark.timeout(150)
@pytest.mark.parametrize("threading", ["SHARED", "DEDICATED"])
def test_a_driver_carries_a_thousand_local_and_two_hundred_network_streams(stage: Stage, threading: Threading) -> None:
    driver = stage.driver("ours", threading=threading, settings=PATIENT)
    channels = [(IPC, each) for each in range(1, IPC_STREAMS + 1)]
    network = udp(free_port())
    channels += [(network, each) for each in range(5001, 5001 + UDP_STREAMS)]
    with Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
        subscriptions = [aeron.add_subscription(channel, stream) for channel, stream in channels]
        publications = [aeron.add_exclusive_publication(channel, stream) for channel, stream in channels]
        for index in range(MESSAGES):
            for publication in publications:
                publication.send(payload(publication.stream_id, index), timeout_s=DEADLINE_S)
        for subscription in subscriptions:
            expected = [payload(subscription.stream_id, index) for index in range(MESSAGES)]
            assert bring(subscription, MESSAGES) == expected
        assert aeron.counters_reader.value(15) == 0  # errors


@pytest.mark.timeout(120)
def test_a_hundred_clients_speak_with_one_and_it_with_them(stage: Stage) -> None:
    driver = stage.driver("ours")
    directory = str(driver.aeron_dir)
    with ExitStack() as open_now:
        hub = open_now.enter_context(Aeron.connect(aeron_dir=directory))
        inbox = hub.add_subscription(IPC, 1)
        clients = [open_now.enter_context(Aeron.connect(aeron_dir=directory)) for _ in range(CLIENTS)]
        ears = [client.add_subscription(IPC, 2) for client in clients]
        mouths: list[ExclusivePublication] = [client.add_exclusive_publication(IPC, 1) for client in clients]
        outbox = hub.add_publication(IPC, 2)
        until(lambda: all(ear.is_connected for ear in ears), "everybody hears the one")
        for index in range(MESSAGES):
            outbox.send(payload(2, index), timeout_s=DEADLINE_S)
            for number, mouth in enumerate(mouths):
                mouth.send(payload(number, index), timeout_s=DEADLINE_S)
        for ear in ears:
            assert bring(ear, MESSAGES) == [payload(2, index) for index in range(MESSAGES)]
        got = bring(inbox, CLIENTS * MESSAGES)
        assert sorted(got) == sorted(payload(number, index) for number in range(CLIENTS) for index in range(MESSAGES))
        for number in range(CLIENTS):
            mine = [each for each in got if each.startswith(b"%d:" % number)]
            assert mine == [payload(number, index) for index in range(MESSAGES)]
        assert hub.counters_reader.value(24) == 0  # client timeouts
