"""Names instead of addresses, and ports that the driver chooses."""

from __future__ import annotations

from tests.interop import ends
from tests.interop.house import House, udp
from tests.interop.matrix import every
from tests.interop.rows import CELLS, Cell
from tests.interop.stage import TERM_LENGTH, Make, free_port

MESSAGES = ends.payloads(30)


@every("names.dns")
def test_names_of_the_system(house: House, cell: Cell) -> None:
    pair = house.ends(cell)
    channel = f"aeron:udp?endpoint=localhost:{free_port()}|term-length={TERM_LENGTH}"
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel)
    ends.cross(publication, subscription, MESSAGES)

    assert ends.image_of(subscription)["source_identity"].startswith("127.0.0.1:")


@every("names.interfaces")
def test_interfaces_by_name_and_subnet(house: House, cell: Cell) -> None:
    pair = house.ends(cell)
    for interface in ("localhost", "127.0.0.1", "127.0.0.0/8"):
        channel = udp(f"interface={interface}")
        subscription, publication = pair.target.subscription(channel), pair.source.publication(channel)
        ends.cross(publication, subscription, MESSAGES)
        assert ends.image_of(subscription)["source_identity"].startswith("127.0.0.1:")


@every("names.wildcard_ports")
def test_wildcard_ports_are_of_the_range(house: House, cell: Cell) -> None:
    low = 20_000 + 40 * CELLS.index(cell)

    def ranged(_: Make) -> dict[str, str]:
        return {"AERON_RECEIVER_WILDCARD_PORT_RANGE": f"{low} {low + 39}"}

    pair = house.wire(cell, ranged)
    subscription = pair.target.subscription("aeron:udp?endpoint=127.0.0.1:0")
    (address,) = ends.until(lambda: subscription.look()["addresses"], "the address")
    assert low <= int(address.rpartition(":")[2]) <= low + 39
    publication = pair.source.publication(f"aeron:udp?endpoint={address}|term-length={TERM_LENGTH}")
    ends.cross(publication, subscription, MESSAGES)
