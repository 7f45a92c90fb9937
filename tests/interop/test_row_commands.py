"""What drivers refuse, and with which words: ours to real clients, real ones to ours."""

from __future__ import annotations

import re

import pytest

from aeronpy.errors import RegistrationError
from aeronpy.observe.errors import read_errors
from tests.interop import ends, ours
from tests.interop.house import House, Side, ipc, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import Make, free_port

# A client's own checks would come first: each of these is for the driver to find. With the codes of the C driver, the
# Java driver and ours: what is no address is grammar to Java and ours.
REFUSED = [
    ("aeron:udp?endpoint=127.0.0.1:{port}|mtu=65536", (11, 11, 11)),
    ("aeron:udp?endpoint=127.0.0.1:{port}|term-length=65537", (11, 11, 11)),
    ("aeron:udp?endpoint=127.0.0.1:{port}|mtu=1000", (11, 11, 11)),
    ("aeron:udp?endpoint=127.0.0.1:99999", (11, 1, 1)),
    ("aeron:ipc?term-length=32k", (11, 11, 11)),
    ("aeron:udp?endpoint=127.0.0.1:{port}|init-term-id=1|term-id=0|term-offset=0|term-length=64k", (11, 1, 11)),
]
MAKES: tuple[Make, ...] = ("c", "java", "ours")


def acts(house: House, cell: Cell) -> Side:
    """Who asks: our client on the peer's driver, or the peer's on ours."""
    pair = house.ends(cell, local=True)
    wanted = "ours" if cell.ours == "client" else cell.peer
    return pair.source if pair.source.make == wanted else pair.target


# How each client wraps what a driver says: the code and the driver's words.
TOLD = {
    "c": re.compile(r"CError: \(-(?P<code>\d+)\).* registration error; (?P<text>.*)"),
    "java": re.compile(r"RegistrationException: ERROR - (?P<text>.*), errorCodeValue=(?P<code>\d+)"),
    "ours": re.compile(r"(?P<text>.*) \(the driver's error code (?P<code>\d+), [A-Z_]+\)"),
}


def refused(side: Side, channel: str) -> tuple[int, str]:
    """Why the driver refuses a publication: code and words, as the client tells them."""
    if side.make == "ours":
        with pytest.raises(RegistrationError) as caught:
            ours.aeron(side.client).add_publication(channel, side.stream_id, strict=False)
        told = str(caught.value).replace("\n", ";")
        assert f"error code {caught.value.error_code}," in told
    else:
        with pytest.raises(ends.Refused) as refusal:
            side.publication(channel)
        told = str(refusal.value)
    found = TOLD[side.make].fullmatch(told)
    assert found is not None, told
    # The C client sets a blank behind each line.
    return int(found["code"]), found["text"].replace("; ", ";").strip(" ;")


@pytest.mark.parametrize(("channel", "codes"), REFUSED)
@every("conductor.errors", "conductor.limits")
def test_bad_channels_are_refused(house: House, cell: Cell, channel: str, codes: tuple[int, int, int]) -> None:
    side = acts(house, cell)
    other = house.side("c" if side.make == "ours" else "ours", side.driver)
    code, text = refused(side, channel := channel.format(port=free_port()))

    assert code == codes[MAKES.index(side.driver.make)]
    # Another make of client is told the same, word for word.
    assert refused(other, channel) == (code, text)
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
        assert "Address already in use" in str(told.value)


@every("counters.error_log")
def test_refusals_are_in_the_error_log(house: House, cell: Cell) -> None:
    side = acts(house, cell)
    port = 70_000 + side.stream_id
    refused(side, f"aeron:udp?endpoint=127.0.0.1:{port}")

    found = [each for each in read_errors(side.driver.aeron_dir) if str(port) in each.text]
    assert len(found) == 1
    assert found[0].observations >= 1
    assert found[0].first_observation_ms <= found[0].last_observation_ms
