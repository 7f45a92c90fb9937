"""Subscribers that do not read: tethered ones hold the stream, untethered ones are left behind and come back."""

from __future__ import annotations

import pytest

from tests.interop import ends
from tests.interop.house import House, ipc, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell

BACK_PRESSURED = -2
WINDOW_BYTES = 32 * 1024
TIMES = ("untethered-window-limit-timeout=200ms", "untethered-linger-timeout=100ms", "untethered-resting-timeout=300ms")
MEDIA = pytest.mark.parametrize("local", [False, True], ids=["udp", "ipc"])


def channel_of(local: bool, *params: str) -> str:
    return ipc(*params) if local else udp(*params)


@MEDIA
@every("life.tether")
def test_a_tethered_subscriber_that_does_not_read_holds_the_stream(house: House, cell: Cell, local: bool) -> None:
    pair = house.ends(cell, local=local)
    channel = channel_of(local, *TIMES)
    reads, idles = pair.target.subscription(channel), pair.target.subscription(f"{channel}|tether=true")
    publication = pair.source.publication(channel, exclusive=True)
    ends.cross(publication, reads, [b"one"])
    ends.image_of(idles)
    message, accepted = b"m" * 1000, 0

    def held() -> bool:
        nonlocal accepted
        accepted += (answer := publication.offer(message)) > 0
        return answer == BACK_PRESSURED

    # The receiver's window and the publisher's, and not a byte more however long the other one reads.
    ends.until(held, "back pressure")
    came = reads.receive(accepted, timeout_s=0.5)
    ends.until(held, "back pressure that lasts")
    assert accepted * 1056 <= 2 * WINDOW_BYTES + 2 * 1056
    got = []
    while len(got) <= accepted or len(came) < accepted:
        more = (idles.receive(10, 0.05), reads.receive(10, 0.05))
        got, came = got + more[0], came + more[1]
    assert [each.payload for each in got] == [b"one", *[message] * accepted]
    assert came == got[1:]
    ends.cross(publication, reads, [b"free again"])


@MEDIA
@every("life.untethered_window", "life.tether")
def test_an_untethered_subscriber_is_left_behind_and_comes_back(house: House, cell: Cell, local: bool) -> None:
    pair = house.ends(cell, local=local)
    channel = channel_of(local, *TIMES)
    reads, idles = pair.target.subscription(channel), pair.target.subscription(f"{channel}|tether=false")
    publication = pair.source.publication(channel, exclusive=True)
    session = publication.look()["session_id"]
    ends.cross(publication, reads, [b"one"])
    ends.image_of(idles)
    assert len(pair.target.events("image", session)) == 2

    # More than the window: the stream must leave the idle one behind to go on.
    ends.cross(publication, reads, ends.payloads(120))
    ends.until(lambda: pair.target.events("image gone", session), "the idle subscriber's image going")
    assert pair.target.events("image gone", session) == [[session, False]]
    ends.until(lambda: len(pair.target.events("image", session)) == 3, "the idle subscriber's image coming back")
    image = ends.image_of(idles)
    assert image["session_id"] == session
    assert image["join_position"] > 0
    ends.cross(publication, reads, [b"news"])
    assert [each.payload for each in idles.receive(1)] == [b"news"]
