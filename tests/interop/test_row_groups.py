"""Groups of IPv6, what their receivers ask for after loss, and how much of it at once."""

from __future__ import annotations

from ipaddress import IPv6Address
from pathlib import Path

import pytest

from tests.interop import ends
from tests.interop.house import House, Side
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import TERM_LENGTH, Make, free_port
from tests.interop.test_row_loss import dropping, labelled

MESSAGES = ends.payloads(60)
IFF_UP, IFF_MULTICAST = 0x1, 0x1000


def v6_address() -> str:
    """An IPv6 address of an interface that takes part in multicast; the loopback one does not."""
    for line in Path("/proc/net/if_inet6").read_text().splitlines():
        text, _, _, scope, _, name = line.split()
        flags = int(Path(f"/sys/class/net/{name}/flags").read_text(), 16)
        if scope != "20" and flags & IFF_UP and flags & IFF_MULTICAST:
            return str(IPv6Address(bytes.fromhex(text)))
    pytest.skip("no interface has an IPv6 address and multicast")


def group(*params: str, v6: bool = False) -> str:
    """A channel to a group: data to an odd address, control to the even one behind it."""
    endpoint, interface = ("[ff02::1:fd]", f"[{v6_address()}]") if v6 else ("224.20.30.39", "127.0.0.1")
    first = (f"endpoint={endpoint}:{free_port()}", f"interface={interface}", f"term-length={TERM_LENGTH}")
    return "aeron:udp?" + "|".join([*first, *params])


@every("multicast.ipv6")
def test_ipv6_groups(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell), group(v6=True)
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel, exclusive=True)
    ends.cross(publication, subscription, MESSAGES)

    assert ends.image_of(subscription)["source_identity"].count(":") > 2


@every("multicast.nak_backoff")
def test_receivers_of_a_group_wait_before_they_ask(house: House, cell: Cell) -> None:
    def settings(make: Make) -> dict[str, str]:
        return {**dropping(make), "AERON_NAK_MULTICAST_MAX_BACKOFF": "20ms", "AERON_NAK_MULTICAST_GROUP_SIZE": "4"}

    pair, channel = house.wire(cell, settings), group()
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel, exclusive=True)
    asked = labelled(pair.target, "NAKs sent")
    for number in range(5):
        ends.cross(publication, subscription, ends.payloads(24, number, (900, 60, 1376)), at_once=24)

    assert labelled(pair.target, "NAKs sent") > asked
    assert labelled(pair.source, "Retransmits sent") > 0


def overflow(side: Side) -> int:
    return labelled(side, "Retransmit Pool Overflow count")


@pytest.mark.parametrize("resends", [1, 64])
@every("life.max_resend")
def test_no_more_resends_at_once_than_the_channel_allows(house: House, cell: Cell, resends: int) -> None:
    # Only a group's publication keeps several, and each stays for the linger: there a further gap finds no room.
    def settings(make: Make) -> dict[str, str]:
        return {**dropping(make), "AERON_NAK_MULTICAST_MAX_BACKOFF": "1ms"}

    pair, channel = house.wire(cell, settings), group()
    subscription = pair.target.subscription(channel)
    publication = pair.source.publication(f"{channel}|max-resend={resends}", exclusive=True)
    before = overflow(pair.source)
    for number in range(8):
        ends.cross(publication, subscription, ends.payloads(24, number, (900, 60, 1376)), at_once=24)

    assert (overflow(pair.source) > before) == (resends == 1)
