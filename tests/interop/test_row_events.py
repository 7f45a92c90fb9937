"""Counters and handlers: what one client does, the other is told of, whichever driver is between them."""

from __future__ import annotations

import pytest

from tests.interop import ends
from tests.interop.house import House, Side, ipc, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell

TYPE_ID = 4242
IMAGE_REJECTED = 13


def counter_of(side: Side, counter_id: int) -> list[object]:
    """A counter as the client of a side reads it."""
    return next((each for each in side.client.counters() if each[0] == counter_id), [])


@every("client.events.counters", "counters.client")
def test_a_counter_of_one_client_is_read_by_the_other(house: House, cell: Cell) -> None:
    pair, key = house.ends(cell, local=True), bytes(range(9))
    counter = pair.source.client.counter(TYPE_ID, "what we count", key)
    number = counter.look()["counter_id"]
    counter.set(-77)

    found = counter_of(pair.target, number)
    assert found[1] == TYPE_ID
    assert str(found[2]).startswith(key.hex())
    assert found[3:] == ["what we count", -77]
    counter.set(1 << 40)
    assert counter_of(pair.target, number)[4] == counter.look()["value"] == 1 << 40
    counter.close()
    ends.until(lambda: not counter_of(pair.target, number), "the counter's end")


@every("counters.static")
def test_a_static_counter_outlives_its_client(house: House, cell: Cell) -> None:
    pair = house.ends(cell, local=True)
    owner = house.client_on(pair.source.make, pair.source.driver, "short-lived")
    first = owner.counter(TYPE_ID + 1, "static", b"\1", 990 + pair.source.stream_id)
    number = first.look()["counter_id"]
    first.set(5)
    owner.close()

    # The same registration id is the same counter, to whoever asks.
    second = pair.target.client.counter(TYPE_ID + 1, "static", b"\1", 990 + pair.source.stream_id)
    assert second.look()["counter_id"] == number
    assert second.look()["value"] == 5
    assert counter_of(pair.source, number)[3:] == ["static", 5]


@every("client.events.counter_handlers")
def test_counter_handlers_hear_of_each_others_counters(house: House, cell: Cell) -> None:
    pair = house.ends(cell, local=True)
    counter = pair.source.client.counter(TYPE_ID + 2, "heard of")
    look = counter.look()
    named = [look["registration_id"], look["counter_id"]]

    ends.until(lambda: pair.target.events("counter", named[0]), "the counter's beginning")
    assert pair.target.events("counter", named[0]) == [named]
    counter.close()
    ends.until(lambda: pair.target.events("counter gone", named[0]), "the counter's end")
    assert pair.target.events("counter gone", named[0]) == [named]


@pytest.mark.parametrize("medium", ["udp", "ipc"])
@every("client.events.available", "client.events.unavailable")
def test_image_handlers(house: House, cell: Cell, medium: str) -> None:
    pair, channel = house.ends(cell, local=True), ipc() if medium == "ipc" else udp()
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel, exclusive=True)
    session = publication.look()["session_id"]
    ends.until(lambda: pair.target.events("image", session), "the image's beginning")
    assert ends.image_of(subscription)["session_id"] == session
    publication.close()
    ends.until(lambda: pair.target.events("image gone", session), "the image's end")
    assert pair.target.events("image", session) == [[session]]
    assert pair.target.events("image gone", session) == [[session, False]]


@every("client.events.publication_error")
def test_publication_error_handlers(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell, local=True), udp()
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel)
    ends.cross(publication, subscription, [b"fine"])
    look = publication.look()
    subscription.reject(look["session_id"], "enough")

    number = look["original_registration_id"]
    ends.until(lambda: pair.source.events("publication error", number), "the error")
    assert pair.source.events("publication error", number)[0][1:] == [IMAGE_REJECTED, "enough"]


@every("client.events.close")
def test_close_handlers(house: House, cell: Cell) -> None:
    pair = house.ends(cell)
    client = house.client_on("ours", pair.source.driver, "closing")
    subscription = client.subscription(ipc(), pair.source.stream_id)
    publication = pair.source.publication(ipc())
    ends.image_of(subscription)
    session = publication.look()["session_id"]
    client.close()

    seen = client.events()
    assert [each for each in seen if each[0] in ("image gone", "closed")] == [
        ["image gone", session, False],
        ["closed"],
    ]


@every("counters.heartbeats")
def test_a_clients_heartbeat_shows_its_name(house: House, cell: Cell) -> None:
    pair = house.ends(cell, local=True)
    client = house.client_on(pair.source.make, pair.source.driver, "named so")
    client.publication(ipc(), pair.source.stream_id)

    def label() -> str:
        labels = [str(each[3]) for each in pair.target.client.counters() if each[1] == 11]
        return next((each for each in labels if f"id={client.client_id} " in each + " "), "")

    ends.until(lambda: "name=named so" in label(), "the name in the label")
    assert label().startswith(f"client-heartbeat: id={client.client_id} name=named so")
    client.close()
    ends.until(lambda: not label(), "the heartbeat's end")


def still(side: Side) -> dict[object, tuple[object, ...]]:
    """Counters without what moves."""
    return {each[0]: (each[1], str(each[2]), each[3]) for each in side.client.counters()}


@every("counters.system", "counters.resource", "counters.labels")
def test_both_clients_read_the_same_counters(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell, local=True), udp()
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel)
    ends.cross(publication, subscription, ends.payloads(10))
    position = publication.look()["position"]
    values = {str(each[3]).split(":")[0]: each[4] for each in pair.source.client.counters()
              if f" {publication.look()['session_id']} " in str(each[3])}  # fmt: skip

    # Heartbeats get their names, and what an earlier test left goes: until both see the same.
    ends.until(lambda: still(pair.source) == still(pair.target), "the same counters")
    seen = still(pair.target)
    assert [kind for kind, _, _ in seen.values()].count(0) >= 46
    assert seen[0][2] == "Bytes sent"
    assert values["pub-pos (concurrent)"] == values["snd-pos"] == values["rcv-hwm"] == position
    assert {"pub-lmt", "snd-lmt", "snd-bpe", "sub-pos", "rcv-pos"} <= values.keys()
