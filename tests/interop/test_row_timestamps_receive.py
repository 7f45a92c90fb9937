"""Time stamps that the receiving driver writes into messages: by its own clock, and by the kernel's."""

from __future__ import annotations

import struct
import time

from tests.interop import ends
from tests.interop.house import Ends, House, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell


def stamped(pair: Ends, parameter: str) -> tuple[ends.Publication, ends.Subscription]:
    """A connected pair whose receiver stamps what comes."""
    channel = udp()
    subscription = pair.target.subscription(f"{channel}|{parameter}")
    publication = pair.source.publication(channel, exclusive=True)
    ends.connected(publication)
    return publication, subscription


def headers_are_stamped(pair: Ends, name: str) -> None:
    publication, subscription = stamped(pair, f"{name}=reserved")
    before_ns = time.time_ns()
    # The Java driver stamps no message without a payload.
    least = 1 if pair.target.driver.make == "java" else 0
    for payload in ends.payloads(5, sizes=(least, 1, 31, 32, 33)):
        publication.send(payload)
        (got,) = subscription.receive(1)
        assert got.payload == payload
        assert before_ns <= got.reserved <= time.time_ns()
        before_ns = got.reserved


def payloads_are_stamped(pair: Ends, name: str) -> None:
    publication, subscription = stamped(pair, f"{name}=4")
    before_ns = time.time_ns()
    publication.send(bytes(12))
    (got,) = subscription.receive(1)
    assert (got.payload[:4], got.reserved) == (bytes(4), 0)
    assert before_ns <= struct.unpack_from("<q", got.payload, 4)[0] <= time.time_ns()
    if pair.target.driver.make == "java":
        return  # it also writes where the payload's padding begins
    publication.send(bytes(11))
    assert [each.payload for each in subscription.receive(1)] == [bytes(11)]


@every("timestamps.channel_receive", "timestamps.reserved")
def test_headers_say_when_the_driver_took_them(house: House, cell: Cell) -> None:
    headers_are_stamped(house.ends(cell), "channel-rcv-ts-offset")


@every("timestamps.channel_receive")
def test_payloads_say_when_the_driver_took_them(house: House, cell: Cell) -> None:
    payloads_are_stamped(house.ends(cell), "channel-rcv-ts-offset")


@every("timestamps.media_receive")
def test_headers_say_when_the_kernel_took_them(house: House, cell: Cell) -> None:
    headers_are_stamped(house.ends(cell), "media-rcv-ts-offset")


@every("timestamps.media_receive")
def test_payloads_say_when_the_kernel_took_them(house: House, cell: Cell) -> None:
    payloads_are_stamped(house.ends(cell), "media-rcv-ts-offset")
