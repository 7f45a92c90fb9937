"""Streams of any make to any make: all sizes, over several terms, every byte and position."""

from __future__ import annotations

import pytest

from tests.interop import ends
from tests.interop.house import House, ipc, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell

MESSAGES = ends.payloads(240)


@pytest.mark.parametrize("exclusive", [False, True], ids=["shared", "exclusive"])
@every("unicast.ipc")
def test_ipc(house: House, cell: Cell, exclusive: bool) -> None:
    pair, channel = house.ends(cell, local=True), ipc()
    subscription = pair.target.subscription(channel)
    publication = pair.source.publication(channel, exclusive=exclusive)

    got = ends.cross(publication, subscription, MESSAGES)

    assert {each.session_id for each in got} == {publication.look()["session_id"]}
    assert got[-1].position > 2 * publication.look()["term_buffer_length"]


@pytest.mark.parametrize("exclusive", [False, True], ids=["shared", "exclusive"])
@every("unicast.udp", "flow.unicast", "congestion.static")
def test_udp(house: House, cell: Cell, exclusive: bool) -> None:
    pair, channel = house.ends(cell), udp()
    subscription = pair.target.subscription(channel)
    publication = pair.source.publication(channel, exclusive=exclusive)

    got = ends.cross(publication, subscription, MESSAGES)

    assert {each.session_id for each in got} == {publication.look()["session_id"]}
    assert got[-1].position > 2 * publication.look()["term_buffer_length"]
