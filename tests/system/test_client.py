"""The client's API over a driver of ours: what is sent is what is received, by every way of sending and receiving."""

from __future__ import annotations

import ctypes
import gc
import itertools
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from aeronpy import (
    Aeron,
    ChannelStatus,
    ControlledAction,
    ExclusivePublication,
    FragmentAssembler,
    FragmentView,
    Header,
    Image,
    MediaDriver,
    OfferResult,
    Publication,
    Subscription,
)
from aeronpy.errors import (
    AeronTimeoutError,
    ArgumentError,
    ChannelError,
    PublicationClosed,
    RegistrationError,
    StateError,
    TooLongError,
)

CHANNEL = "aeron:ipc?term-length=64k"
DEADLINE_S = 20.0
STREAMS = itertools.count(1001)
Pair = tuple[ExclusivePublication, Subscription]


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.001)


@pytest.fixture(scope="module")
def driver() -> Iterator[MediaDriver]:
    with MediaDriver.launch_embedded() as driver:
        yield driver


@pytest.fixture
def aeron(driver: MediaDriver) -> Iterator[Aeron]:
    with Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        yield aeron


@pytest.fixture
def pair(aeron: Aeron) -> Pair:
    stream_id = next(STREAMS)
    subscription = aeron.add_subscription(CHANNEL, stream_id)
    publication = aeron.add_exclusive_publication(CHANNEL, stream_id)
    until(lambda: subscription.is_connected and publication.is_connected and publication.available_window > 0)
    return publication, subscription


def poll_until(subscription: Subscription, handler: Callable[[FragmentView, Header], object], count: int) -> None:
    polled = 0

    def enough() -> bool:
        nonlocal polled
        polled += subscription.poll(handler, 10)
        return polled >= count

    until(enough)


def test_messages_of_every_length_arrive_as_sent_over_many_terms(aeron: Aeron) -> None:
    subscription = aeron.add_subscription(CHANNEL, 7)
    publication = aeron.add_publication(CHANNEL, 7)
    whole, longest = publication.max_payload_length, publication.max_message_length
    assert longest == 65536 // 8
    lengths = [0, 1, 31, 32, 33, whole, whole + 1, 3 * whole, 5 * whole + 7, longest] * 20
    assert sum(lengths) > 5 * 65536

    received = []
    for number, length in enumerate(lengths):
        sent = bytes([number % 251]) * length
        position = publication.send(sent)
        received = list(subscription.messages(limit=1))
        assert [(message.payload, message.position) for message in received] == [(sent, position)]


def test_too_long_a_message_is_refused_with_the_numbers(pair: Pair) -> None:
    publication, _ = pair

    with pytest.raises(TooLongError, match="8193"):
        publication.offer(bytes(publication.max_message_length + 1))
    with pytest.raises(TooLongError, match=str(publication.max_payload_length)):
        publication.try_claim(publication.max_payload_length + 1)


@pytest.mark.parametrize(
    "make",
    [bytes, bytearray, memoryview, lambda data: np.frombuffer(data, "u1")],
    ids=["bytes", "bytearray", "view", "numpy"],
)
def test_any_buffer_can_be_offered(pair: Pair, make: Callable[[bytes], object]) -> None:
    publication, subscription = pair
    seen: list[bytes] = []

    assert publication.offer(make(b"abcdefgh")) == 64  # type: ignore[arg-type]
    poll_until(subscription, lambda buffer, header: seen.append(bytes(buffer)), 1)

    assert seen == [b"abcdefgh"]


def test_several_buffers_make_one_message(pair: Pair) -> None:
    publication, subscription = pair
    parts = [b"a" * 1000, bytearray(b"b" * 1000), memoryview(b"c" * 1000), b""]

    publication.send(*parts)
    (message,) = subscription.messages(limit=1)

    assert message.payload == b"a" * 1000 + b"b" * 1000 + b"c" * 1000


def test_positions_are_ints_that_stay_what_they_were(pair: Pair) -> None:
    publication, _subscription = pair
    kept = []
    for _ in range(100):
        kept.append(publication.offer(b"x" * 32))
        publication.offer(b"y" * 32)

    assert kept == [64 + 128 * n for n in range(100)]
    assert all(type(position) is int for position in kept)


def test_reserved_values_are_constants_or_called_per_frame(pair: Pair) -> None:
    publication, subscription = pair
    seen = []
    publication.offer(b"x", reserved_value=-5)
    publication.offer(b"z" * (publication.max_payload_length + 1), reserved_value=len)
    publication.offer(b"y")
    poll_until(subscription, lambda buffer, header: seen.append(header.reserved_value), 4)

    assert seen == [-5, publication.max_payload_length, 1, 0]
    with pytest.raises(ZeroDivisionError):
        publication.offer(b"x", reserved_value=lambda frame: 1 // 0)


def test_a_claim_is_written_in_place_and_sent_or_dropped(pair: Pair) -> None:
    publication, subscription = pair
    with publication.try_claim(5) as claim:
        assert claim
        assert len(claim) == 5
        assert claim.position == 64
        claim.buffer[:] = b"first"
        claim.reserved_value = 9
        kept = claim.buffer
    with pytest.raises(ZeroDivisionError), publication.try_claim(5) as claim:
        raise ZeroDivisionError
    del claim
    publication.try_claim(8)  # never ended: dropped when it is collected
    publication.offer(b"last")

    with pytest.raises(ValueError, match="released"):
        kept[0]
    seen = []
    poll_until(subscription, lambda buffer, header: seen.append((bytes(buffer), header.reserved_value)), 2)
    assert seen == [(b"first", 9), (b"last", 0)]


def test_a_refused_claim_is_false_and_says_why(aeron: Aeron) -> None:
    publication = aeron.add_publication(CHANNEL, 99)

    claim = publication.try_claim(8)

    assert not claim
    assert claim.result is OfferResult.NOT_CONNECTED
    with pytest.raises(StateError, match="NOT_CONNECTED"):
        claim.buffer  # noqa: B018


def test_send_waits_and_says_what_stood_in_the_way(aeron: Aeron, pair: Pair) -> None:
    lonely = aeron.add_publication(CHANNEL, 98)
    with pytest.raises(TimeoutError, match="NOT_CONNECTED"):
        lonely.send(b"x", timeout_s=0.02)

    publication, _ = pair
    with pytest.raises(AeronTimeoutError, match="BACK_PRESSURED"):
        while True:
            publication.send(bytes(1000), timeout_s=0.02)
    lonely.close()
    with pytest.raises(PublicationClosed):
        lonely.send(b"x")
    assert lonely.offer(b"x") is OfferResult.CLOSED
    assert lonely.position is OfferResult.CLOSED


def test_batches_take_all_forms_and_stop_at_back_pressure(pair: Pair) -> None:
    publication, subscription = pair
    ticks = np.zeros(10, [("id", "<i4"), ("price", "<f8")])
    ticks["id"] = range(10)
    rows = np.arange(40, dtype=np.uint8).reshape(4, 10)
    assert publication.offer_batch(ticks[::2]) == 5
    assert publication.offer_batch(rows[1:]) == 3
    assert publication.offer_batch((b"abcdef", [1, 2, 3])) == 3
    assert publication.offer_batch(np.zeros(0, "<i8")) == 0

    received = [message.payload for message in subscription.messages(limit=11)]
    assert received[:5] == [ticks[n].tobytes() for n in range(0, 10, 2)]
    assert received[5:8] == [row.tobytes() for row in rows[1:]]
    assert received[8:] == [b"a", b"bc", b"def"]

    many = np.zeros((1000, 100), np.uint8)
    accepted = publication.offer_batch(many)
    assert 0 < accepted < 1000
    assert publication.offer_batch(many) == 0
    with pytest.raises(ArgumentError, match="add up to 7 bytes"):
        publication.offer_batch((b"abcdef", [7]))
    with pytest.raises(ArgumentError, match="structured array"):
        publication.offer_batch(b"abc")


def test_a_view_of_alike_messages_is_strided_and_the_position_moves_at_close(pair: Pair) -> None:
    publication, subscription = pair
    sent = np.arange(50, dtype="<i8")
    publication.offer_batch(sent)
    image = subscription.images[0]

    with subscription.poll_batch() as batch:
        assert len(batch) == 50
        view = batch.view("<i8")
        assert (view == sent).all()
        assert view.strides == (64,)
        assert batch.positions.tolist() == [64 * (n + 1) for n in range(50)]
        assert set(batch.lengths.tolist()) == {8}
        assert set(batch.session_ids.tolist()) == {publication.session_id}
        assert bytes(batch.payload(-1)) == struct.pack("<q", 49)
        assert (batch.gather().view("<i8") == sent).all()
        assert image.position == 0
        with pytest.raises(StateError, match="polled already"):
            subscription.poll(print)
    assert image.position == 50 * 64
    with pytest.raises(StateError, match="closed"):
        len(batch)
    assert view.sum() == sent.sum()  # still mapped: old bytes, no crash
    with subscription.poll_batch() as batch:
        assert len(batch) == 0


def test_a_batch_assembles_fragments_and_says_when_messages_are_not_alike(pair: Pair) -> None:
    publication, subscription = pair
    for payload in (b"a" * 5000, b"b" * 8, b"c" * 8):
        publication.offer(payload)

    with subscription.poll_batch(messages_max=2) as batch:
        assert [bytes(payload) for payload in batch] == [b"a" * 5000, b"b" * 8]
        kept = batch.payload(0)
        with pytest.raises(ArgumentError, match="message 1 has 8 bytes"):
            batch.view("u1")
        table = batch.to_arrow()
    assert table["payload"].to_pylist() == [b"a" * 5000, b"b" * 8]
    with subscription.poll_batch() as batch:
        assert bytes(batch.payload(0)) == b"c" * 8
        with pytest.raises(IndexError):
            batch.payload(1)
    assert bytes(kept) == b"a" * 5000


def test_a_view_is_valid_in_its_handler_only_and_what_was_exported_stays_readable(pair: Pair) -> None:
    publication, subscription = pair
    kept: list[object] = []
    publication.offer(struct.pack("<iqd", 7, -8, 0.5) + b"tail")

    def handler(buffer: FragmentView, header: Header) -> None:
        assert (len(buffer), buffer[0], buffer[-4:], buffer.get_int32(0)) == (24, 7, b"tail", 7)
        assert buffer.unpack("<iqd") == (7, -8, 0.5)
        assert (buffer.get_int64(4), buffer.get_float64(12)) == (-8, 0.5)
        assert buffer == bytes(buffer)
        with pytest.raises(IndexError, match="offset 21 of 24"):
            buffer.get_int32(21)
        with pytest.raises(TypeError):
            memoryview(buffer)[0] = 1
        kept.extend([buffer, header, memoryview(buffer), np.frombuffer(buffer, "u1")])

    poll_until(subscription, handler, 1)

    buffer, header, view, array = kept
    with pytest.raises(StateError, match="inside its handler"):
        bytes(buffer)  # type: ignore[call-overload]
    with pytest.raises(StateError, match="inside its handler"):
        header.position  # type: ignore[attr-defined]  # noqa: B018
    assert bytes(view)[-4:] == b"tail"  # type: ignore[call-overload]
    subscription.close()
    publication.close()
    del publication, subscription
    gc.collect()
    assert bytes(array)[-4:] == b"tail"  # type: ignore[call-overload]


def test_an_assembled_view_that_was_exported_keeps_its_own_bytes(pair: Pair) -> None:
    publication, subscription = pair
    kept: list[memoryview] = []
    for letter in (b"a", b"b", b"c"):
        publication.offer(letter * 4000)

    poll_until(subscription, FragmentAssembler(lambda buffer, header: kept.append(memoryview(buffer))), 9)

    assert [bytes(view) for view in kept] == [b"a" * 4000, b"b" * 4000, b"c" * 4000]


def test_header_fields_are_those_of_the_frame(pair: Pair) -> None:
    publication, subscription = pair
    seen = []
    publication.offer(b"x" * 3000)

    def handler(buffer: FragmentView, header: Header) -> None:
        assert header.image is subscription.images[0]
        assert (header.session_id, header.stream_id, header.type) == (publication.session_id, publication.stream_id, 1)
        assert header.term_id == header.initial_term_id == publication.initial_term_id
        assert header.position_bits_to_shift == 16
        seen.append((len(buffer), header.frame_length, header.flags, header.term_offset, header.next_term_offset))

    poll_until(subscription, handler, 3)
    rest = 3000 - 2 * 1376
    assert publication.max_payload_length == 1376
    assert seen == [(1376, 1408, 0x80, 0, 1408), (1376, 1408, 0, 1408, 2816), (rest, rest + 32, 0x40, 2816, 3104)]

    publication.offer(b"x" * 3000)
    seen.clear()
    poll_until(subscription, FragmentAssembler(handler), 3)
    assert seen == [(3000, 3032, 0xC0, 3104, 6208)]


def test_an_exception_stops_the_poll_behind_its_message(pair: Pair) -> None:
    publication, subscription = pair
    seen: list[bytes] = []
    for letter in b"abc":
        publication.offer(bytes([letter]))

    def handler(buffer: FragmentView, header: Header) -> None:
        seen.append(bytes(buffer))
        if buffer == b"b":
            raise KeyError("b")

    def poll_once() -> bool:
        subscription.poll(handler)
        return len(seen) == 3

    with pytest.raises(KeyError):
        until(poll_once)
    assert seen == [b"a", b"b"]
    poll_until(subscription, handler, 1)
    assert seen == [b"a", b"b", b"c"]


def test_controlled_polls_do_as_the_handler_says(pair: Pair) -> None:
    publication, subscription = pair
    image = subscription.images[0]
    answers = [ControlledAction.COMMIT, ControlledAction.ABORT, None, ControlledAction.BREAK]
    seen: list[tuple[bytes, int]] = []
    for letter in b"abcd":
        publication.offer(bytes([letter]))

    def handler(buffer: FragmentView, header: Header) -> ControlledAction | None:
        seen.append((bytes(buffer), image.position))
        return answers[len(seen) - 1] if len(seen) <= len(answers) else None

    assert [subscription.controlled_poll(handler) for _ in range(3)] == [1, 2, 1]
    assert seen == [(b"a", 0), (b"b", 64), (b"b", 64), (b"c", 64), (b"d", 192)]
    with pytest.raises(ArgumentError, match="ControlledAction"):
        publication.offer(b"e")
        subscription.controlled_poll(lambda buffer, header: 77)  # type: ignore[arg-type, return-value]


def test_an_aborted_assembled_message_comes_again_whole(pair: Pair) -> None:
    publication, subscription = pair
    seen: list[bytes] = []
    publication.offer(b"x" * 3000)

    def handler(buffer: FragmentView, header: Header) -> ControlledAction:
        seen.append(bytes(buffer))
        return ControlledAction.ABORT if len(seen) < 3 else ControlledAction.CONTINUE

    assembler = FragmentAssembler(handler)
    assert [subscription.controlled_poll(assembler) for _ in range(4)] == [2, 0, 1, 0]
    assert seen == [b"x" * 3000] * 3


def test_block_polls_give_whole_frames(pair: Pair) -> None:
    publication, subscription = pair
    blocks: list[tuple[int, int, int]] = []
    for _ in range(4):
        publication.offer(b"x" * 68)

    assert subscription.block_poll(lambda *args: blocks.append((len(args[0]), *args[1:])), 300) == 256
    assert blocks == [(256, publication.session_id, publication.initial_term_id)]


def test_a_bounded_poll_stops_at_its_position(pair: Pair) -> None:
    publication, subscription = pair
    for _ in range(4):
        publication.offer(b"")
    (image,) = subscription.images

    assert image.bounded_poll(lambda buffer, header: None, 64, 10) == 2
    assert image.position == 64
    assert image.bounded_controlled_poll(lambda buffer, header: None, 65) == 1


def test_a_native_handler_is_polled_without_the_interpreter(pair: Pair) -> None:
    publication, subscription = pair
    seen: list[bytes] = []
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t, ctypes.c_void_p)
    callback = prototype(lambda context, data, length, header: seen.append(ctypes.string_at(data, length)))
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address
    publication.offer(b"one")
    publication.offer(b"y" * 3000)

    assert subscription.poll_native(address, fragment_limit=1) == 1
    assert subscription.poll_native(address, assemble=True) == 3
    assert seen == [b"one", b"y" * 3000]


def test_a_handler_that_polls_its_own_subscription_is_told_so(pair: Pair) -> None:
    publication, subscription = pair
    publication.offer(b"x")

    def handler(buffer: FragmentView, header: Header) -> None:
        subscription.poll(handler)

    with pytest.raises(StateError, match="its own handler"):
        subscription.poll(handler)


def test_no_object_is_left_behind_per_message(pair: Pair) -> None:
    publication, subscription = pair

    def handler(buffer: FragmentView, header: Header) -> None:
        pass

    def traffic() -> None:
        for _ in range(2000):
            while publication.offer(b"x" * 100) < 0:
                subscription.poll(handler)

    traffic()
    gc.collect()
    before, references = sys.getallocatedblocks(), sys.getrefcount(handler)
    traffic()
    assert sys.getrefcount(handler) == references
    assert abs(sys.getallocatedblocks() - before) < 200


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


def test_a_static_counter_stays_and_is_found_again(driver: MediaDriver, aeron: Aeron) -> None:
    with Aeron.connect(aeron_dir=driver.aeron_dir) as other:
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


def test_a_rejected_image_tells_its_publisher_why(driver: MediaDriver) -> None:
    errors: list[str] = []
    with Aeron.connect(
        aeron_dir=driver.aeron_dir, publication_error_handler=lambda error: errors.append(error.message)
    ) as aeron:
        subscription = aeron.add_subscription(CHANNEL, 18)
        publication = aeron.add_publication(CHANNEL, 18)
        publication.send(b"x")
        until(lambda: subscription.is_connected)
        gone: Image = subscription.images[0]
        subscription.reject_image(gone, "not you")
        until(lambda: errors == ["not you"] and gone.is_closed)


def test_calls_from_inside_handlers_are_refused(driver: MediaDriver) -> None:
    errors: list[Exception] = []
    with Aeron.connect(aeron_dir=driver.aeron_dir, error_handler=errors.append) as aeron:
        subscription = aeron.add_subscription(CHANNEL, 19, lambda image: aeron.add_publication(CHANNEL, 20))
        publication = aeron.add_publication(CHANNEL, 19)
        until(lambda: bool(errors))
        assert "from inside its handlers" in str(errors[0])
        assert subscription.image_count == 1
        assert not publication.is_closed


def test_an_invoked_client_runs_on_the_callers_thread(driver: MediaDriver) -> None:
    before = threading.active_count()
    with Aeron.connect(aeron_dir=driver.aeron_dir, use_conductor_agent_invoker=True) as aeron:
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
    with pytest.raises(ArgumentError, match="session"):
        other.offer_block(blocks[0])
