"""Congestion control and timestamps: what a receiving driver adds to a stream."""

from __future__ import annotations

import struct
import time

from tests.interop import ends
from tests.interop.house import House, Side, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import Make

MESSAGES = ends.payloads(120)


def measuring(make: Make) -> dict[str, str]:
    if make == "java":
        return {"aeron.CubicCongestionControl.measureRtt": "true"}
    return {"AERON_CUBICCONGESTIONCONTROL_MEASURERTT": "true"}


def counters_of(side: Side, name: str, session: int) -> list[int]:
    """Values of a session's counters of a name at the side's driver."""
    return [
        value for label, value in side.labels().items() if label.startswith(f"{name}: ") and f" {session} " in label
    ]


@every("congestion.cubic", "congestion.cc")
def test_cubic_grows_its_window(house: House, cell: Cell) -> None:
    pair, channel = house.wire(cell, measuring), udp().replace("term-length=64k", "term-length=256k")
    subscription = pair.target.subscription(f"{channel}|cc=cubic")
    publication = pair.source.publication(channel, exclusive=True)
    session = publication.look()["session_id"]
    ends.cross(publication, subscription, MESSAGES, at_once=4)

    (window,) = counters_of(pair.target, "rcv-cc-cubic-wnd", session)
    assert window >= 10 * 1408
    assert window % 1408 == 0


@every("congestion.rtt")
def test_round_trips_are_measured(house: House, cell: Cell) -> None:
    pair, channel = house.wire(cell, measuring), udp().replace("term-length=64k", "term-length=256k")
    subscription = pair.target.subscription(f"{channel}|cc=cubic")
    publication = pair.source.publication(channel, exclusive=True)
    session = publication.look()["session_id"]
    ends.cross(publication, subscription, MESSAGES, at_once=4)

    def measured() -> bool:
        (rtt_ns,) = counters_of(pair.target, "rcv-cc-cubic-rtt", session)
        return 0 < rtt_ns < 10_000_000_000

    ends.until(measured, "a round trip's time")


@every("congestion.cc", "congestion.static")
def test_the_static_window_by_name(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell), udp()
    subscription = pair.target.subscription(f"{channel}|cc=static|rcv-wnd=16k")
    publication = pair.source.publication(channel, exclusive=True)
    session = publication.look()["session_id"]
    ends.until(lambda: counters_of(pair.source, "snd-lmt", session) == [16 * 1024], "the window's edge")
    assert counters_of(pair.target, "rcv-cc-cubic-wnd", session) == []
    ends.cross(publication, subscription, MESSAGES)


def near(stamp_ns: int, since_ns: int) -> bool:
    return since_ns <= stamp_ns <= time.time_ns()


def stamped(house: House, cell: Cell, key: str, offset: str) -> tuple[int, ends.Got]:
    """A message that was sent with 24 bytes of zeros, and when."""
    pair, channel = house.ends(cell), udp()
    subscription = pair.target.subscription(f"{channel}|{key}-ts-offset={offset}")
    publication = pair.source.publication(channel)
    ends.connected(publication)
    since = time.time_ns()
    publication.send(bytes(24), reserved=5)
    (got,) = subscription.receive(1)
    return since, got


@every("timestamps.channel_receive")
def test_channel_receive_stamps(house: House, cell: Cell) -> None:
    since, got = stamped(house, cell, "channel-rcv", "8")
    first, stamp, last = struct.unpack("<qqq", got.payload)

    assert near(stamp, since)
    assert (first, last, got.reserved) == (0, 0, 5)


@every("timestamps.media_receive")
def test_media_receive_stamps(house: House, cell: Cell) -> None:
    since, got = stamped(house, cell, "media-rcv", "0")
    stamp, *rest = struct.unpack("<qqq", got.payload)

    assert near(stamp, since)
    assert (*rest, got.reserved) == (0, 0, 5)


@every("timestamps.reserved", "timestamps.channel_receive")
def test_stamps_in_the_reserved_value(house: House, cell: Cell) -> None:
    since, got = stamped(house, cell, "channel-rcv", "reserved")

    assert got.payload == bytes(24)
    assert near(got.reserved, since)
