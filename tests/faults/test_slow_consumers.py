"""A consumer that stops reading between our own programs: tethered it holds the publisher, untethered it is left."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from aeronpy import Aeron, ExclusivePublication, Image, OfferResult, Subscription
from tests.interop.stage import IPC, Stage, free_port, udp

DEADLINE_S = 30.0
MESSAGES = 400
TIMES = "|untethered-window-limit-timeout=200ms|untethered-linger-timeout=100ms|untethered-resting-timeout=300ms"
MEDIA = pytest.mark.parametrize("medium", ["ipc", "udp"])


def payload(index: int) -> bytes:
    return index.to_bytes(4, "little") * (100 + index % 150)


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.0005)


def read(subscription: Subscription, into: list[bytes]) -> bool:
    """Read what is there; always false, for conditions that read on."""
    subscription.poll(lambda buffer, header: into.append(bytes(buffer)), 50)
    return False


def read_up_to(count: int, ends: list[tuple[Subscription, list[bytes]]]) -> None:
    """Read all of them in turn, since each holds the others, until each has so many."""

    def done() -> bool:
        for subscription, into in ends:
            read(subscription, into)
        return all(len(into) == count for _, into in ends)

    until(done, f"{count} messages everywhere")


def back_pressured(publication: ExclusivePublication, sent: int) -> int:
    """Offer until no more is taken: how many there are then."""
    until(lambda: publication.is_connected, "the connection")
    while (result := publication.offer(payload(sent))) > 0 or result == OfferResult.ADMIN_ACTION:
        sent += result > 0
    assert result == OfferResult.BACK_PRESSURED
    return sent


def channel_of(medium: str) -> str:
    return (IPC if medium == "ipc" else udp(free_port())) + TIMES


@MEDIA
def test_a_tethered_consumer_holds_the_publisher_and_loses_nothing(stage: Stage, medium: str) -> None:
    driver = stage.driver("ours")
    channel = channel_of(medium)
    with Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
        slow = aeron.add_subscription(channel + "|tether=true", 1)
        quick = aeron.add_subscription(channel + "|tether=true", 1)
        publication = aeron.add_exclusive_publication(channel, 1)
        until(lambda: slow.is_connected and quick.is_connected, "both images")
        got: tuple[list[bytes], list[bytes]] = ([], [])
        sent = 0
        while sent < MESSAGES:
            began = time.monotonic()
            while time.monotonic() - began < 0.5:  # beyond every time of the untethered
                sent = back_pressured(publication, sent)
                read(quick, got[0])
            assert len(got[1]) < sent
            read_up_to(sent, [(slow, got[1]), (quick, got[0])])
        assert got[0] == got[1] == [payload(index) for index in range(sent)]


@MEDIA
def test_an_untethered_consumer_is_cut_off_and_rejoins(stage: Stage, medium: str) -> None:
    driver = stage.driver("ours")
    channel = channel_of(medium)
    gone: list[Image] = []
    with Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
        slow = aeron.add_subscription(channel + "|tether=false", 1, None, gone.append)
        quick = aeron.add_subscription(channel + "|tether=true", 1)
        publication = aeron.add_exclusive_publication(channel, 1)
        until(lambda: slow.is_connected and quick.is_connected, "both images")
        got: list[bytes] = []
        for index in range(MESSAGES):
            until(lambda index=index: read(quick, got) or publication.offer(payload(index)) > 0, "room")  # type: ignore[misc]
        until(lambda: read(quick, got) or len(got) == MESSAGES, "the quick one has all")
        assert got == [payload(index) for index in range(MESSAGES)]

        until(lambda: len(gone) == 1, "the slow one is cut off")
        until(lambda: slow.is_connected, "the slow one is back")
        late: list[bytes] = []
        publication.send(payload(MESSAGES), timeout_s=DEADLINE_S)
        until(lambda: read(slow, late) or len(late) > 0, "news for the slow one")
        assert late == [payload(MESSAGES)]
