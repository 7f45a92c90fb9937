"""Sending and receiving by every way the client has, over a driver of ours."""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
from collections.abc import Callable

import numpy as np
import pytest

from aeronpy import (
    Aeron,
    ControlledAction,
    FragmentAssembler,
    FragmentView,
    Header,
    OfferResult,
)
from aeronpy.errors import (
    AeronTimeoutError,
    ArgumentError,
    PublicationClosed,
    StateError,
    TooLongError,
)
from tests.system.clients import CHANNEL, Pair, poll_until
from tests.waiting import until


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


def test_a_batch_that_cannot_be_sent_as_meant_is_refused(pair: Pair) -> None:
    publication, subscription = pair

    for batch in (
        np.array([object(), object()]),  # their bytes are addresses
        np.zeros(2, [("price", "<f8"), ("O", object)]),
        (b"abcdef",),
        (b"abcdef", [1], None),
        (b"abcdef", [1.5, 2.5]),  # nothing is rounded
        (b"abcdef", [1 << 32, 3]),  # nothing is wrapped
        (b"abcdef", np.array([[1, 2]])),
        (b"abcdef", np.array([-1 - (1 << 32), 3])),
    ):
        with pytest.raises(ArgumentError):
            publication.offer_batch(batch)

    assert publication.offer_batch((b"abcdef", np.array([1, 5], np.uint8))) == 2
    assert [message.payload for message in subscription.messages(limit=2)] == [b"a", b"bcdef"]


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
    # The driver may have cleaned the log meanwhile: what lies there is read, and nothing crashes.
    assert bytes(array)[-4:] in (b"tail", bytes(4))  # type: ignore[call-overload]


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
