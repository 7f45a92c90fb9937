"""Spies: subscribers inside the sending driver."""

from __future__ import annotations

from tests.interop import ends
from tests.interop.house import House, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell

BACK_PRESSURED = -2
NOT_CONNECTED = -1


@every("spy.network")
def test_a_spy_sees_what_the_network_gets(house: House, cell: Cell) -> None:
    # Publisher and spy are on one driver: ours under the peer's publisher or spy, or the peer's with ours.
    pair, channel = house.ends(cell, local=True), udp()
    spy = pair.target.subscription(f"aeron-spy:{channel}")
    far = house.side("c").subscription(channel, pair.source.stream_id)
    publication = pair.source.publication(channel, exclusive=True)

    messages = ends.payloads(150)
    for start in range(0, len(messages), 6):
        part = messages[start : start + 6]
        got = ends.cross(publication, far, part)
        assert spy.receive(len(part)) == got
    assert ends.image_of(spy)["source_identity"] == "aeron:ipc"


@every("spy.ssc")
def test_a_spy_stands_for_a_connection_where_the_channel_says(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell, local=True), udp("ssc=true")
    publication = pair.source.publication(channel, exclusive=True)
    assert publication.offer(b"x") == NOT_CONNECTED
    spy = pair.target.subscription(f"aeron-spy:{channel}")

    ends.connected(publication)
    ends.cross(publication, spy, ends.payloads(150))


@every("spy.no_ssc")
def test_a_spy_alone_connects_nobody(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell, local=True), udp("ssc=false")
    spy = pair.target.subscription(f"aeron-spy:{channel}")
    publication = pair.source.publication(channel, exclusive=True)
    ends.image_of(spy)

    assert publication.offer(b"x") == NOT_CONNECTED
    assert not publication.look()["is_connected"]
    far = house.side("c").subscription(channel, pair.source.stream_id)
    got = ends.cross(publication, far, [b"now"])
    assert spy.receive(1) == got


@every("spy.window")
def test_a_spy_that_does_not_read_holds_the_publisher(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell, local=True), udp("ssc=true", "pub-wnd=8k")
    spy = pair.target.subscription(f"aeron-spy:{channel}")
    publication = pair.source.publication(channel, exclusive=True)
    ends.connected(publication)
    accepted = []

    def held() -> bool:
        answer = publication.offer(b"m" * 480)
        if answer > 0:
            accepted.append(answer)
        return answer == BACK_PRESSURED and bool(accepted)

    ends.until(held, "back pressure")
    assert 8 * 1024 <= accepted[-1] <= 8 * 1024 + 512
    assert publication.look()["position_limit"] == 8 * 1024
    assert [each.position for each in spy.receive(len(accepted))] == accepted
    ends.until(lambda: publication.look()["position_limit"] == accepted[-1] + 8 * 1024, "the window's advance")
    ends.cross(publication, spy, ends.payloads(40))
