"""Time stamps that the sending driver writes into frames."""

from __future__ import annotations

import struct
import time

from tests.interop import ends
from tests.interop.house import House, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell


@every("timestamps.channel_send", "timestamps.reserved")
def test_frames_say_when_they_were_sent(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell), udp("channel-snd-ts-offset=reserved")
    subscription = pair.target.subscription(channel.partition("|")[0])
    publication = pair.source.publication(channel, exclusive=True)
    ends.connected(publication)

    before_ns = time.time_ns()
    for payload in ends.payloads(5):
        publication.send(payload)
        (got,) = subscription.receive(1)
        assert got.payload == payload
        assert before_ns <= got.reserved <= time.time_ns()


@every("timestamps.channel_send")
def test_payloads_say_when_they_were_sent(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell), udp("channel-snd-ts-offset=4")
    subscription = pair.target.subscription(channel.partition("|")[0])
    publication = pair.source.publication(channel, exclusive=True)
    ends.connected(publication)

    before_ns = time.time_ns()
    publication.send(bytes(12))
    (got,) = subscription.receive(1)
    assert got.payload[:4] == bytes(4)
    assert before_ns <= struct.unpack_from("<q", got.payload, 4)[0] <= time.time_ns()
    if pair.source.driver.make == "java":
        return  # it also writes where the payload's padding begins
    publication.send(bytes(11))
    assert [each.payload for each in subscription.receive(1)] == [bytes(11)]
