"""What drivers refuse, and with which words: ours to real clients, real ones to ours."""

from __future__ import annotations

import pytest

from aeronpy.errors import RegistrationError
from aeronpy.observe.errors import read_errors
from tests.interop import ends
from tests.interop.house import House, Side, ipc, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import free_port

# A client's own checks would come first: each of these is for the driver to find.
REFUSED = [
    "aeron:udp?endpoint=127.0.0.1:{port}|mtu=65536",
    "aeron:udp?endpoint=127.0.0.1:{port}|term-length=65537",
    "aeron:udp?endpoint=127.0.0.1:{port}|mtu=1000",
    "aeron:udp?endpoint=127.0.0.1:99999",
    "aeron:ipc?term-length=32k",
    "aeron:udp?endpoint=127.0.0.1:{port}|init-term-id=1|term-id=0|term-offset=0|term-length=64k",
]


def acts(house: House, cell: Cell) -> Side:
    """Who asks: our client on the peer's driver, or the peer's on ours."""
    pair = house.ends(cell, local=True)
    wanted = "ours" if cell.ours == "client" else cell.peer
    return pair.source if pair.source.make == wanted else pair.target


def refused(side: Side, channel: str) -> str:
    """Why the driver refuses a publication."""
    if side.make == "ours":
        from tests.interop import ours

        with pytest.raises(RegistrationError) as caught:
            ours.aeron(side.client).add_publication(channel, side.stream_id, strict=False)
        assert caught.value.error_code in (1, 11)
        return str(caught.value)
    with pytest.raises(ends.Refused) as told:
        side.publication(channel)
    return str(told.value)


@pytest.mark.parametrize("channel", REFUSED)
@every("conductor.errors", "conductor.limits")
def test_bad_channels_are_refused(house: House, cell: Cell, channel: str) -> None:
    side = acts(house, cell)

    assert refused(side, channel.format(port=free_port())) != ""
    # And the driver goes on.
    subscription, publication = side.subscription(ipc()), side.publication(ipc())
    ends.cross(publication, subscription, [b"still there"])


@every("conductor.errors")
def test_an_address_that_is_taken(house: House, cell: Cell) -> None:
    side, other = acts(house, cell), house.side("c", house.driver("c", AERON_TIMER_INTERVAL="90ms"))
    port = free_port()
    other.subscription(udp(port=port))
    if side.make == "ours":
        with pytest.raises(RegistrationError, match="Address already in use"):
            side.subscription(udp(port=port))
    else:
        with pytest.raises(ends.Refused) as told:
            side.subscription(udp(port=port))
        assert side.make == "c" or "Address already in use" in str(told.value)


@every("counters.error_log")
def test_refusals_are_in_the_error_log(house: House, cell: Cell) -> None:
    side = acts(house, cell)
    port = 70_000 + side.stream_id
    refused(side, f"aeron:udp?endpoint=127.0.0.1:{port}")

    found = [each for each in read_errors(side.driver.aeron_dir) if str(port) in each.text]
    assert len(found) == 1
    assert found[0].observations >= 1
    assert found[0].first_observation_ms <= found[0].last_observation_ms
