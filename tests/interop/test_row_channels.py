"""Channels: how they are written, what the drivers say of them, where their sockets are."""

from __future__ import annotations

import pytest

from aeronpy import Aeron, Channel
from aeronpy.errors import ChannelError
from tests.interop import ends, ours
from tests.interop.house import Ends, House, ipc, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import free_port


def our_aeron(pair: Ends) -> Aeron:
    return ours.aeron((pair.source if pair.source.make == "ours" else pair.target).client)


@every("client.channel.parser", "client.channel.builder")
def test_a_built_channel_means_to_the_driver_what_it_says(house: House, cell: Cell) -> None:
    pair, port = house.ends(cell), free_port()
    built = Channel.udp(
        endpoint=f"127.0.0.1:{port}",
        mtu_bytes=4096,
        term_bytes=128 * 1024,
        session_id=-99 - pair.source.stream_id,
        linger_ns=250_000_000,
        alias="named",
        init_term_id=3,
        term_id=4,
        term_offset=1024,
        pub_wnd_bytes=32 * 1024,
    )
    assert Channel.parse(str(built)) == built
    subscription = pair.target.subscription(f"aeron:udp?endpoint=127.0.0.1:{port}")
    publication = pair.source.publication(str(built), exclusive=True)

    look = publication.look()
    image = ends.image_of(subscription)
    assert look["session_id"] == image["session_id"] == -99 - pair.source.stream_id
    assert look["term_buffer_length"] == image["term_buffer_length"] == 128 * 1024
    assert look["max_payload_length"] + 32 == image["mtu_length"] == 4096
    assert look["initial_term_id"] == image["initial_term_id"] == 3
    assert image["join_position"] == 128 * 1024 + 1024
    ends.connected(publication)
    assert publication.look()["position_limit"] == 128 * 1024 + 1024 + 32 * 1024
    ends.cross(publication, subscription, ends.payloads(20))


@every("client.channel.validation")
def test_a_misspelt_key_is_named_with_the_nearest(house: House, cell: Cell) -> None:
    pair = house.ends(cell)
    aeron, wrong = our_aeron(pair), udp("term-lenght=128k")
    with pytest.raises(ChannelError, match="term-length"):
        aeron.add_publication(wrong, pair.source.stream_id)

    # The driver itself ignores it: passed on where that is asked for.
    with aeron.add_publication(wrong, pair.source.stream_id, strict=False) as publication:
        assert publication.term_buffer_length == 64 * 1024


@every("client.channel.next_session_id")
def test_next_session_ids_are_free(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell, local=True), udp()
    stream = pair.source.stream_id
    numbers = [pair.source.client.next_session_id(stream), pair.target.client.next_session_id(stream)]
    assert len(set(numbers)) == 2
    subscription = pair.target.subscription(channel)
    publications = [pair.source.publication(f"{channel}|session-id={each}", exclusive=True) for each in numbers]

    for publication, number in zip(publications, numbers, strict=True):
        ends.image_of(subscription, number)
        ends.cross(publication, subscription, [b"on a session of our choice"])


@every("client.channel.status", "client.channel.addresses")
def test_statuses_and_addresses(house: House, cell: Cell) -> None:
    pair = house.ends(cell, local=True)
    subscription = pair.target.subscription("aeron:udp?endpoint=127.0.0.1:0")
    ends.until(lambda: subscription.look()["channel_status"] == 1, "an active channel")
    (address,) = subscription.look()["addresses"]
    host, _, port = address.rpartition(":")
    assert host == "127.0.0.1"
    assert int(port) > 0

    publication = pair.source.publication(udp(port=int(port)))
    ends.until(lambda: publication.look()["channel_status"] == 1, "an active channel")
    assert all(each.startswith("127.0.0.1:") for each in publication.look()["addresses"])
    ends.cross(publication, subscription, [b"to where it said"])


@every("client.setup.async", where=lambda each: each.direction == "out")
def test_publications_are_added_without_waiting(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell, local=True), ipc()
    aeron, stream = ours.aeron(pair.source.client), pair.source.stream_id
    subscription = pair.target.subscription(channel)
    exclusive_id = aeron.async_add_exclusive_publication(channel, stream)
    shared_id = aeron.async_add_publication(channel, stream)
    exclusive = ends.until(lambda: aeron.get_exclusive_publication(exclusive_id), "the publication")
    shared = ends.until(lambda: aeron.get_publication(shared_id), "the publication")

    assert (exclusive.registration_id, shared.registration_id) == (exclusive_id, shared_id)
    with exclusive, shared:
        ends.image_of(subscription, exclusive.session_id)
        ends.image_of(subscription, shared.session_id)
        exclusive.send(b"one")
        shared.send(b"two")
        assert {each.payload for each in subscription.receive(2)} == {b"one", b"two"}


@every("client.setup.async", where=lambda each: each.direction == "in")
def test_subscriptions_are_added_without_waiting(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell, local=True), ipc()
    aeron = ours.aeron(pair.target.client)
    number = aeron.async_add_subscription(channel, pair.target.stream_id)
    # The peers' clients add exclusive publications asynchronously too.
    publication = pair.source.publication(channel, exclusive=True)
    with ends.until(lambda: aeron.get_subscription(number), "the subscription") as subscription:
        ends.connected(publication)
        publication.send(b"one")
        assert [each.payload for each in subscription.messages(limit=1)] == [b"one"]


@every("storage.shm", "conductor.commands")
def test_commands_of_two_clients_at_once(house: House, cell: Cell) -> None:
    pair = house.ends(cell, local=True)
    assert str(pair.source.driver.aeron_dir).startswith("/dev/shm/")
    made = []
    for number in range(20):
        channel = ipc() if number % 2 else udp()
        stream = pair.source.stream_id * 100 + number
        made.append((pair.source.publication(channel, stream), pair.target.subscription(channel, stream)))
    for number, (publication, subscription) in enumerate(made):
        ends.cross(publication, subscription, [b"stream %d" % number])
