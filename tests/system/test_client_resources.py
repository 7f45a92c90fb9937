"""What a client makes at its driver, and is told of, over a driver of ours."""

from __future__ import annotations

import threading

import pytest

from aeronpy import (
    Aeron,
    ChannelStatus,
    Image,
    MediaDriver,
    Publication,
)
from aeronpy.errors import (
    ArgumentError,
    ChannelError,
    RegistrationError,
    StateError,
)
from tests.system.clients import CHANNEL, Pair
from tests.waiting import until


def test_image_handlers_are_told_of_comers_and_goers(aeron: Aeron) -> None:
    told: list[tuple[str, int]] = []
    subscription = aeron.add_subscription(
        CHANNEL,
        12,
        lambda image: told.append(("+", image.session_id)),
        lambda image: told.append(("-", image.session_id)),
    )
    first, second = (aeron.add_exclusive_publication(CHANNEL, 12) for _ in range(2))
    until(lambda: subscription.image_count == 2)
    assert subscription.image_by_session_id(first.session_id) is not None
    (image,) = (image for image in subscription.images if image.session_id == second.session_id)
    assert image.subscription is subscription
    assert image.source_identity == "aeron:ipc"

    second.revoke()
    until(lambda: len(told) == 3)
    assert told[-1] == ("-", second.session_id)
    assert image.is_closed
    assert image.is_publication_revoked
    assert image.poll(lambda buffer, header: None) == 0
    subscription.close()
    assert told[-1] == ("-", first.session_id)
    assert subscription.poll(lambda buffer, header: None) == 0
    assert {kind for kind, _ in told} == {"+", "-"}


def test_a_late_joiner_starts_where_the_stream_is(pair: Pair, aeron: Aeron) -> None:
    publication, subscription = pair
    for _ in range(10):
        publication.send(b"early")
    list(subscription.messages(limit=10))
    late = aeron.add_subscription(CHANNEL, publication.stream_id)
    until(lambda: late.is_connected)
    assert late.images[0].join_position == 10 * 64

    publication.send(b"now")
    assert [message.payload for message in late.messages(limit=1)] == [b"now"]


def test_the_stream_ends_where_its_publisher_closed(pair: Pair) -> None:
    publication, subscription = pair
    (image,) = subscription.images
    position = publication.send(b"last")
    assert not image.is_end_of_stream
    publication.close()

    until(lambda: image.end_of_stream_position == position)
    assert not image.is_end_of_stream
    assert [message.payload for message in subscription.messages(limit=1)] == [b"last"]
    assert image.is_end_of_stream


def test_messages_end_by_time_out_and_by_close(aeron: Aeron) -> None:
    subscription = aeron.add_subscription(CHANNEL, 13)
    assert list(subscription.messages(timeout_s=0.01)) == []
    closer = threading.Timer(0.05, subscription.close)
    closer.start()
    assert list(subscription.messages()) == []
    assert not subscription.wait(timeout_s=10)
    closer.join()


def test_counters_are_made_changed_told_of_and_freed(aeron: Aeron) -> None:
    told: list[tuple[str, int]] = []
    handler_ids = [
        aeron.add_available_counter_handler(lambda reader, registration_id, counter_id: told.append(("+", counter_id))),
        aeron.add_unavailable_counter_handler(
            lambda reader, registration_id, counter_id: told.append(("-", counter_id))
        ),
    ]
    counter = aeron.add_counter(1001, "my counter", b"key")
    info = aeron.counters_reader.info(counter.counter_id)
    assert info is not None
    assert (info.label, info.type_id, info.key[:4], info.owner_id) == ("my counter", 1001, b"key\0", aeron.client_id)
    counter.set(5)
    assert counter.get_and_add(3) == 5
    assert counter.compare_and_set(8, 10)
    assert not counter.compare_and_set(8, 11)
    counter.propose_max(7)
    assert aeron.counters_reader.value(counter.counter_id) == counter.get() == 10

    until(lambda: ("+", counter.counter_id) in told)
    counter.close()
    until(lambda: ("-", counter.counter_id) in told)
    with pytest.raises(StateError):
        counter.set(1)
    assert [aeron.remove_handler(name) for name in [*handler_ids, handler_ids[0]]] == [True, True, False]
    with pytest.raises(ArgumentError, match="113 bytes"):
        aeron.add_counter(1001, "x", b"k" * 113)


def test_a_static_counter_stays_and_is_found_again(clients_driver: MediaDriver, aeron: Aeron) -> None:
    with Aeron.connect(aeron_dir=clients_driver.aeron_dir) as other:
        made = other.add_static_counter(1002, "static", 4711)
        made.set(3)
    found = aeron.add_static_counter(1002, "static", 4711)
    assert (found.counter_id, found.get()) == (made.counter_id, 3)


def test_what_the_driver_refuses_is_a_registration_error(aeron: Aeron) -> None:
    with pytest.raises(ChannelError, match="did you mean 'endpoint'"):
        aeron.add_publication("aeron:udp?endpont=127.0.0.1:4000", 1)
    with pytest.raises(RegistrationError) as caught:
        aeron.add_publication("aeron:ipc?term-length=1k", 1, strict=False)
    assert caught.value.error_code > 0
    assert "term" in str(caught.value)
    name = aeron.async_add_publication("aeron:ipc?term-length=1k", 1, strict=False)
    with pytest.raises(RegistrationError):
        until(lambda: aeron.get_publication(name) is not None)
    with pytest.raises(ArgumentError, match="nothing is being added"):
        aeron.get_publication(name)


def test_asynchronous_adds_are_there_when_they_are(aeron: Aeron) -> None:
    names = [aeron.async_add_subscription(CHANNEL, 14), aeron.async_add_exclusive_publication(CHANNEL, 14)]
    with pytest.raises(ArgumentError, match="of a Subscription"):
        aeron.get_publication(names[0])
    until(lambda: not aeron.has_active_commands)
    subscription = aeron.get_subscription(names[0])
    publication = aeron.get_exclusive_publication(names[1])
    assert subscription is not None
    assert publication is not None
    publication.send(b"x")
    assert [message.payload for message in subscription.messages(limit=1)] == [b"x"]


def test_publications_of_one_stream_share_its_session(aeron: Aeron) -> None:
    first, second = (aeron.add_publication(CHANNEL, 15) for _ in range(2))
    assert first.session_id == second.session_id
    assert first.is_original
    assert not second.is_original
    assert second.original_registration_id == first.registration_id
    first.close()
    assert not second.is_closed


def test_udp_with_a_port_of_the_systems_choice(aeron: Aeron) -> None:
    subscription = aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 16)
    until(lambda: subscription.channel_status is ChannelStatus.ACTIVE)
    channel = subscription.try_resolve_channel_endpoint_port()
    assert channel is not None
    assert subscription.resolved_endpoint in channel
    publication = aeron.add_publication(channel, 16)
    for n in range(50):
        publication.send(bytes([n]) * 2000)
        (message,) = subscription.messages(limit=1)
        assert message.payload == bytes([n]) * 2000
    assert publication.channel_status is ChannelStatus.ACTIVE
    assert publication.local_socket_addresses


def test_a_rejected_image_tells_its_publisher_why(clients_driver: MediaDriver) -> None:
    errors: list[str] = []
    with Aeron.connect(
        aeron_dir=clients_driver.aeron_dir, publication_error_handler=lambda error: errors.append(error.message)
    ) as aeron:
        subscription = aeron.add_subscription(CHANNEL, 18)
        publication = aeron.add_publication(CHANNEL, 18)
        publication.send(b"x")
        until(lambda: subscription.is_connected)
        gone: Image = subscription.images[0]
        subscription.reject_image(gone, "not you")
        until(lambda: errors == ["not you"] and gone.is_closed)


def test_calls_from_inside_handlers_are_refused(clients_driver: MediaDriver) -> None:
    errors: list[Exception] = []
    with Aeron.connect(aeron_dir=clients_driver.aeron_dir, error_handler=errors.append) as aeron:
        subscription = aeron.add_subscription(CHANNEL, 19, lambda image: aeron.add_publication(CHANNEL, 20))
        publication = aeron.add_publication(CHANNEL, 19)
        until(lambda: bool(errors))
        assert "reentrant calls are not permitted" in str(errors[0])
        assert subscription.image_count == 1
        assert not publication.is_closed


def test_an_invoked_client_runs_on_the_callers_thread(clients_driver: MediaDriver) -> None:
    before = threading.active_count()
    with Aeron.connect(aeron_dir=clients_driver.aeron_dir, use_conductor_agent_invoker=True) as aeron:
        assert threading.active_count() == before
        subscription = aeron.add_subscription(CHANNEL, 21)
        publication: Publication = aeron.add_publication(CHANNEL, 21)
        until(lambda: aeron.invoke() >= 0 and subscription.is_connected)
        publication.send(b"x")
        assert [message.payload for message in subscription.messages(limit=1)] == [b"x"]


def test_a_session_id_is_given_out(aeron: Aeron) -> None:
    first, second = aeron.next_session_id(22), aeron.next_session_id(22)
    assert first != second
    publication = aeron.add_publication(f"aeron:ipc?session-id={first}", 22)
    assert publication.session_id == first


def test_padding_and_blocks_go_into_exclusive_publications(pair: Pair, aeron: Aeron) -> None:
    publication, subscription = pair
    assert publication.append_padding(32) == 64
    blocks: list[bytes] = []
    publication.offer(b"after")
    assert [message.position for message in subscription.messages(limit=1)] == [128]

    publication.offer(b"copied")
    (image,) = subscription.images
    image.block_poll(lambda block, session_id, term_id: blocks.append(bytes(block)), 1024)
    other = aeron.add_exclusive_publication(f"{CHANNEL}|session-id=5", publication.stream_id)
    until(lambda: other.available_window > 0)
    with pytest.raises(ArgumentError, match="session"):
        other.offer_block(blocks[0])
