"""Multicast, on the loopback interface: groups of IPv4, interfaces by every name, the way that packets may go."""

from __future__ import annotations

import itertools

import pytest

from tests.interop import ends
from tests.interop.house import House
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import TERM_LENGTH, free_port

_groups = itertools.count(1, 2)


def group(*params: str, interface: str | None = "localhost") -> str:
    """A channel of a multicast group of its own, with short terms."""
    # What other tests use, and what they left in the kernel, is not met here.
    endpoint = f"endpoint=224.20.{free_port() % 250}.{next(_groups) % 255}:{free_port()}"
    where = [] if interface is None else [f"interface={interface}"]
    return "aeron:udp?" + "|".join([endpoint, *where, f"term-length={TERM_LENGTH}", *params])


@every("multicast.sending", "multicast.receiving", "multicast.ipv4", "flow.max")
def test_a_group_hears_what_one_says(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell), group()
    subscription = pair.target.subscription(channel)
    near = house.side("c", pair.source.driver if pair.source.make == "c" else None).subscription(
        channel, pair.source.stream_id
    )
    publication = pair.source.publication(channel, exclusive=True)
    for each in (subscription, near):
        ends.image_of(each)

    messages = ends.payloads(200)
    for start in range(0, len(messages), 8):
        part = messages[start : start + 8]
        got = ends.cross(publication, subscription, part)
        assert [each.payload for each in near.receive(len(part))] == [each.payload for each in got]


@pytest.mark.parametrize("interface", ["127.0.0.1", "127.0.0.0/24", "{lo}", "127.0.0.1:0/8"])
@every("multicast.interfaces", "names.interfaces", where=lambda each: each.peer == "c")
def test_an_interface_has_many_names(house: House, cell: Cell, interface: str) -> None:
    pair, channel = house.ends(cell), group(interface=interface)
    subscription = pair.target.subscription(channel)
    publication = pair.source.publication(channel, exclusive=True)
    ends.connected(publication)

    ends.cross(publication, subscription, ends.payloads(9))


@pytest.mark.parametrize("interface", ["localhost", "127.0.0.0/24"])
@every("multicast.interfaces", "names.interfaces", where=lambda each: each.peer == "java")
def test_an_interface_has_the_names_that_java_knows(house: House, cell: Cell, interface: str) -> None:
    pair, channel = house.ends(cell), group(interface=interface)
    subscription = pair.target.subscription(channel)
    publication = pair.source.publication(channel, exclusive=True)
    ends.connected(publication)

    ends.cross(publication, subscription, ends.payloads(9))


@every("multicast.ttl")
def test_a_way_that_is_shorter_than_the_senders_is_counted(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell), group()
    publication = pair.source.publication(f"{channel}|ttl=4", exclusive=True)
    # Drivers compare where they asked for the SETUP, which is when the stream is under way.
    first = house.side("java" if pair.target.driver.make == "c" else "c")
    ends.image_of(first.subscription(channel, pair.source.stream_id))
    ends.connected(publication)
    asymmetries = pair.target.counter(21)
    subscription = pair.target.subscription(f"{channel}|ttl=2")
    ends.image_of(subscription)

    ends.cross(publication, subscription, [b"far"])
    assert pair.target.counter(21) > asymmetries


@every("multicast.group_receivers")
def test_receivers_of_a_group_come_and_go(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell), group()
    publication = pair.source.publication(channel, exclusive=True)
    for each in range(3):
        subscription = pair.target.subscription(f"{channel}|group=true")
        ends.image_of(subscription)
        ends.connected(publication)
        ends.cross(publication, subscription, ends.payloads(20, seed=each))
        subscription.close()
        ends.until(lambda: not publication.look()["is_connected"], "nobody is left")
