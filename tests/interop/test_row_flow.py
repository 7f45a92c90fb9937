"""Flow control of publications with many receivers: whom the sender waits for."""

from __future__ import annotations

import time

import pytest

from tests.interop import ends
from tests.interop.house import Ends, House
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import free_port
from tests.interop.test_row_mdc import dynamic, listening, other_side

HALF_TERM = 32 * 1024
PAYLOAD = b"f" * 992  # a frame of 1024 bytes


def fill(publication: ends.Publication) -> int:
    """Offer until nothing more is taken for a while; how many messages were accepted."""
    accepted, deadline = 0, time.monotonic() + 0.5
    while time.monotonic() < deadline:
        if publication.offer(PAYLOAD) > 0:
            accepted, deadline = accepted + 1, time.monotonic() + 0.5
    return accepted


def drain(subscription: ends.Subscription, count: int) -> None:
    """Take this many messages."""
    assert len(subscription.receive(count)) == count


def receivers_counter(pair: Ends) -> int:
    """How many receivers the flow control of the pair's stream waits for."""
    found = [value for label, value in pair.source.labels().items() if _names(label, "fc-receivers", pair)]
    return found[0] if found else -1


def _names(label: str, name: str, pair: Ends) -> bool:
    words = label.split(" ")
    return words[0] == f"{name}:" and len(words) > 3 and words[3] == str(pair.source.stream_id)


@every("flow.min", "flow.group_size", "flow.fc")
def test_the_slowest_of_a_group_holds_the_publisher(house: House, cell: Cell) -> None:
    pair, port = house.ends(cell), free_port()
    publication = pair.source.publication(dynamic(port, "fc=min,g:/2,t:5s"), exclusive=True)
    slow = pair.target.subscription(listening(port))
    ends.image_of(slow)
    assert not publication.look()["is_connected"]
    fast = other_side(house, pair).subscription(listening(port))
    ends.image_of(fast)
    ends.connected(publication)
    ends.until(lambda: receivers_counter(pair) == 2, "two receivers count")

    fill(publication)
    came = len(fast.receive(1000, timeout_s=1.0))
    # As far as the window of the one that does not read, to the end of a frame.
    assert HALF_TERM - 1024 <= came * 1024 <= HALF_TERM
    drain(slow, came)
    ends.until(lambda: fast.receive(1, timeout_s=0.1), "the slow one has read")


@every("flow.max")
def test_the_fastest_of_a_group_leads(house: House, cell: Cell) -> None:
    pair, port = house.ends(cell), free_port()
    publication = pair.source.publication(dynamic(port, "fc=max"), exclusive=True)
    slow = pair.target.subscription(listening(port))
    fast = other_side(house, pair).subscription(listening(port))
    for each in (slow, fast):
        ends.image_of(each)

    for _ in range(12):
        publication.send(*[PAYLOAD] * 16)
        drain(fast, 16)


@every("flow.tagged", "flow.preferred_group", "flow.receiver_tags")
def test_only_tagged_receivers_hold_the_publisher(house: House, cell: Cell) -> None:
    pair, port = house.ends(cell), free_port()
    publication = pair.source.publication(dynamic(port, "fc=tagged,g:-7/1"), exclusive=True)
    untagged = pair.target.subscription(listening(port))
    ends.image_of(untagged)
    assert not publication.look()["is_connected"]
    tagged = other_side(house, pair).subscription(f"{listening(port)}|gtag=-7")
    ends.image_of(tagged)
    ends.connected(publication)
    assert receivers_counter(pair) == 1

    for _ in range(12):
        publication.send(*[PAYLOAD] * 16)
        drain(tagged, 16)
    assert fill(publication) * 1024 <= 3 * HALF_TERM


@every("flow.receiver_tags", "flow.tagged")
def test_the_tag_of_a_receiver_counts(house: House, cell: Cell) -> None:
    pair, port = house.ends(cell), free_port()
    publication = pair.source.publication(dynamic(port, "fc=tagged,g:99/1"), exclusive=True)
    tagged = pair.target.subscription(f"{listening(port)}|gtag=99")
    ends.connected(publication)
    ends.until(lambda: receivers_counter(pair) == 1, "it counts")

    ends.cross(publication, tagged, ends.payloads(100))


@every("flow.timeout")
def test_a_receiver_that_falls_silent_holds_nobody_for_long(house: House, cell: Cell) -> None:
    pair, port = house.ends(cell), free_port()
    publication = pair.source.publication(dynamic(port, "fc=min,t:500ms"), exclusive=True)
    subscription = pair.target.subscription(listening(port))
    ends.image_of(subscription)
    doomed = house.stage.driver("ours", f"doomed-{port}")
    client = house.client_on("ours", doomed)
    reader = client.subscription(listening(port), pair.source.stream_id)
    ends.image_of(reader)
    ends.until(lambda: receivers_counter(pair) == 2, "two receivers count")

    doomed.kill()
    for _ in range(12):
        publication.send(*[PAYLOAD] * 16)
        drain(subscription, 16)
    assert receivers_counter(pair) == 1


@pytest.mark.parametrize("form", ["nonsense", "tagged,t:never"])
@every("flow.fc", where=lambda each: each.direction == "out")
def test_what_cannot_be_meant_is_refused(house: House, cell: Cell, form: str) -> None:
    pair = house.ends(cell)
    with pytest.raises(Exception, match=r"(?i)fc|flow|parse|format|number|invalid"):
        pair.source.publication(dynamic(free_port(), f"fc={form}"), exclusive=True)
