"""Multi-destination cast: who asks is sent to, or whom the publisher names."""

from __future__ import annotations

import itertools

import pytest

from tests.interop import ends
from tests.interop.house import Ends, House, Side, ipc
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import TERM_LENGTH, Make, free_port

_manuals = itertools.count()


def manual() -> str:
    """One that no other test's label is like."""
    return f"aeron:udp?control-mode=manual|term-length={TERM_LENGTH}|alias=manual-{next(_manuals)}"


def dynamic(port: int, *params: str) -> str:
    return "|".join(
        [f"aeron:udp?control=127.0.0.1:{port}", "control-mode=dynamic", f"term-length={TERM_LENGTH}", *params]
    )


def listening(port: int) -> str:
    """A receiver behind a control endpoint, on a port of the system's choice."""
    return f"aeron:udp?endpoint=127.0.0.1:0|control=127.0.0.1:{port}"


def other_side(house: House, pair: Ends) -> Side:
    """One more receiver, in a driver that is not the target's."""
    other = house.side("java" if pair.target.driver.make == "c" else "c")
    other.stream_id = pair.source.stream_id
    return other


def destination_count(pair: Ends, channel: str) -> int:
    """What the source's driver says of a channel, -1 for nothing. Java's label ends with a blank."""
    labels = {label.strip(): value for label, value in pair.source.labels().items()}
    return labels.get(f"mdc-num-dest: {channel}", -1)


@every("mdc.dynamic", "mdc.explicit_control")
def test_receivers_introduce_themselves(house: House, cell: Cell) -> None:
    pair, port = house.ends(cell), free_port()
    publication = pair.source.publication(dynamic(port), exclusive=True)
    subscription = pair.target.subscription(listening(port))
    other = other_side(house, pair).subscription(listening(port))
    for each in (subscription, other):
        ends.image_of(each)
    ends.until(lambda: destination_count(pair, dynamic(port)) == 2, "two destinations")

    messages = ends.payloads(200)
    for start in range(0, len(messages), 8):
        part = messages[start : start + 8]
        ends.cross(publication, subscription, part)
        assert [each.payload for each in other.receive(len(part))] == part
    other.close()
    ends.until(lambda: destination_count(pair, dynamic(port)) == 1, "one destination, 5 s after the other's last word")
    ends.cross(publication, subscription, ends.payloads(9))


@every("mdc.manual", "mdc.add_remove")
def test_a_publisher_names_its_receivers(house: House, cell: Cell) -> None:
    pair, channel, ports = house.ends(cell), manual(), (free_port(), free_port())
    first, second = (f"aeron:udp?endpoint=127.0.0.1:{port}" for port in ports)
    publication = pair.source.publication(channel, exclusive=True)
    subscription, other = pair.target.subscription(first), other_side(house, pair).subscription(second)
    assert not publication.look()["is_connected"]

    publication.add_destination(first)
    ends.image_of(subscription)
    publication.add_destination(second)
    ends.image_of(other)
    ends.until(lambda: destination_count(pair, channel) == 2, "two destinations")
    messages = ends.payloads(60)
    for start in range(0, len(messages), 6):
        part = messages[start : start + 6]
        ends.cross(publication, subscription, part)
        assert [each.payload for each in other.receive(len(part))] == part

    publication.remove_destination(first)
    ends.until(lambda: destination_count(pair, channel) == 1, "one destination")
    publication.send(b"for one")
    assert [each.payload for each in other.receive(1)] == [b"for one"]
    ends.until(lambda: not subscription.look()["images"], "the first receives nothing")


@every("mdc.by_id")
def test_destinations_go_by_their_ids(house: House, cell: Cell) -> None:
    pair, channel, target = house.ends(cell), manual(), f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    publication = pair.source.publication(channel, exclusive=True)
    subscription = pair.target.subscription(target)
    number = publication.add_destination(target)
    ends.connected(publication)
    ends.cross(publication, subscription, ends.payloads(9))
    assert destination_count(pair, channel) == 1

    publication.remove_destination_by_id(number)
    ends.until(lambda: destination_count(pair, channel) == 0, "no destination")
    ends.until(lambda: not subscription.look()["images"], "it receives nothing")


@pytest.mark.parametrize("make", ["c", "ours"])
def test_what_the_c_client_asks_for_by_id_leaves_the_destination(house: House, make: Make) -> None:
    """It names the publication twice: no driver can know what was meant, its own no more than ours."""
    side, channel = house.side("c", house.driver(make)), manual()
    publication = side.publication(channel, 1009, exclusive=True)
    target = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    number = publication.add_destination(target)
    publication.remove_destination_by_id(number)

    # The next answer comes after that of the removal.
    side.publication(ipc(), 1010)
    assert {label.strip(): value for label, value in side.labels().items()}[f"mdc-num-dest: {channel}"] == 1
    publication.remove_destination(target)
    ends.until(lambda: side.labels()[f"mdc-num-dest: {channel}"] == 0, "no destination")


@every("mdc.add_remove", where=lambda each: each.direction == "out")
def test_destinations_only_where_they_can_be(house: House, cell: Cell) -> None:
    pair, port = house.ends(cell), free_port()
    publication = pair.source.publication(dynamic(port))
    with pytest.raises(Exception, match=r"(?i)destination|manual"):
        publication.add_destination(f"aeron:udp?endpoint=127.0.0.1:{free_port()}")
