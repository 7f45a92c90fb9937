"""The finer points of reading: peeks, blocks, bounds, turns, assemblers, closed images, over a driver of ours."""

from __future__ import annotations

import gc
import os
import struct
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from aeronpy import (
    Aeron,
    ControlledAction,
    ControlledFragmentAssembler,
    FragmentAssembler,
    FragmentView,
    Header,
    ImageControlledFragmentAssembler,
    ImageFragmentAssembler,
)
from aeronpy.errors import ArgumentError, StateError, TooLongError
from tests.system.clients import CHANNEL, STREAMS, Pair
from tests.waiting import DEADLINE_S, until

ABORT, BREAK, COMMIT, CONTINUE = ControlledAction


def nothing(buffer: object, header: object) -> None:
    pass


def test_bounded_polls_begin_no_fragment_at_their_limit(pair: Pair) -> None:
    publication, subscription = pair
    (image,) = subscription.images
    seen: list[int] = []
    for _ in range(4):
        publication.offer(bytes(64))  # 96 in the log

    def handler(buffer: FragmentView, header: Header) -> None:
        seen.append(header.position)

    assert image.bounded_poll(handler, 0) == 0
    assert image.bounded_poll(handler, 97, 1) == 1
    assert image.bounded_poll(handler, 97) == 1
    assert (image.bounded_poll(handler, 192), image.position) == (0, 192)
    assert image.bounded_controlled_poll(lambda buffer, header: COMMIT, 193) == 1
    assert image.bounded_controlled_poll(lambda buffer, header: ABORT, 1 << 62) == 0
    assert (seen, image.position) == ([96, 192], 288)


def test_a_peek_shows_what_lies_ahead_and_a_set_position_goes_there(pair: Pair) -> None:
    publication, subscription = pair
    (image,) = subscription.images
    first, second, third = (publication.offer(payload) for payload in (b"first", b"2" * 3000, b"third"))
    seen: list[bytes] = []

    def keep(buffer: FragmentView, header: Header) -> None:
        seen.append(bytes(buffer))

    assembler = ImageControlledFragmentAssembler(keep)
    assert image.controlled_peek(0, assembler) == third
    assert seen == [b"first", b"2" * 3000, b"third"]
    assert image.position == 0
    assert image.controlled_peek(0, assembler, first + 1) == first  # half of the second lies within
    assert image.controlled_peek(first, lambda buffer, header: ABORT) == first
    assert image.controlled_peek(first, lambda buffer, header: BREAK) == first
    assert image.controlled_peek(0, lambda buffer, header: COMMIT, second) == second
    assert image.position == 0
    for position, reason in ((-32, "0 or more"), (first + 1, "multiple of 32"), (65536 + 32, "within 0 and 65536")):
        with pytest.raises(ArgumentError, match=reason):
            image.controlled_peek(position, nothing)
    with pytest.raises(ZeroDivisionError):
        image.controlled_peek(0, lambda buffer, header: 1 // 0)  # type: ignore[arg-type, return-value]
    assert image.position == 0

    assert image.set_position(second)
    with pytest.raises(ArgumentError, match=f"within {second} and 65536"):
        image.set_position(first)
    assert [message.payload for message in subscription.messages(limit=1)] == [b"third"]
    publication.close()
    subscription.close()
    assert image.controlled_peek(first, nothing) == first
    assert not image.set_position(third)
    assert image.position == third


def test_no_poll_runs_inside_another_of_the_same_position(pair: Pair) -> None:
    publication, subscription = pair
    (image,) = subscription.images
    calls: list[Callable[[], object]] = [
        lambda: subscription.poll(nothing),
        lambda: subscription.controlled_poll(nothing),
        lambda: subscription.block_poll(print, 64),
        lambda: subscription.raw_poll(print, 64),
        subscription.poll_batch,
        lambda: subscription.poll_native(1),
        lambda: image.poll(nothing),
        lambda: image.bounded_controlled_poll(nothing, 64),
        lambda: image.block_poll(print, 64),
        lambda: image.raw_poll(print, 64),
        lambda: image.controlled_peek(0, nothing),
        lambda: image.set_position(64),
    ]
    refused = []

    def handler(buffer: FragmentView, header: Header) -> None:
        assert subscription.is_polling
        for call in calls:
            with pytest.raises(StateError, match="polled"):
                call()
            refused.append(call)

    for poll in (subscription.poll, image.poll):
        publication.offer(b"x")
        assert poll(handler) == 1
    with subscription.poll_batch():
        for call in calls:
            with pytest.raises(StateError, match="polled"):
                call()
    assert len(refused) == 2 * len(calls)
    assert not subscription.is_polling
    assert image.position == 128


def test_images_of_one_subscription_may_be_polled_at_once(aeron: Aeron) -> None:
    stream_id = next(STREAMS)
    subscription = aeron.add_subscription(CHANNEL, stream_id)
    publications = [aeron.add_exclusive_publication(CHANNEL, stream_id) for _ in range(2)]
    until(lambda: subscription.image_count == 2)
    for publication in publications:
        publication.send(b"x")
    inner, outer = subscription.images
    both_within = threading.Barrier(2, timeout=DEADLINE_S)

    def handler(buffer: FragmentView, header: Header) -> None:
        both_within.wait()

    with ThreadPoolExecutor(1) as other:
        polled = other.submit(inner.poll, handler)
        assert (outer.poll(handler), polled.result()) == (1, 1)


def test_images_take_turns_from_another_one_each_time(aeron: Aeron) -> None:
    stream_id = next(STREAMS)
    subscription = aeron.add_subscription(CHANNEL, stream_id)
    publications = [aeron.add_exclusive_publication(CHANNEL, stream_id) for _ in range(3)]
    until(lambda: subscription.image_count == 3)
    subscription.poll(nothing)
    for publication in publications:
        for _ in range(4):
            publication.send(b"x")
    order = [image.session_id for image in subscription.images]
    seen: list[int] = []

    def handler(buffer: FragmentView, header: Header) -> None:
        seen.append(order.index(header.session_id))

    turns = []
    for limit in (1, 1, 1, 5, 100):
        seen.clear()
        subscription.poll(handler, limit)
        turns.append("".join(map(str, seen)))
    # The turn starts one image further each time, and goes round.
    starts = [int(turn[0]) for turn in turns[:4]]
    assert starts == [(starts[0] + n) % 3 for n in range(4)]
    at = starts[3]
    assert turns[3] == f"{at}" * 3 + f"{(at + 1) % 3}" * 2
    assert sorted(turns[4]) == sorted(f"{(at + 1) % 3}" + f"{(at + 2) % 3}" * 3)
    assert subscription.controlled_poll(handler) == 0


def test_blocks_hold_whole_frames_and_say_where_their_bytes_are_on_file(pair: Pair) -> None:
    publication, subscription = pair
    (image,) = subscription.images
    blocks: list[tuple[int, bytes, int, int]] = []

    def on_raw(fileno: int, file_offset: int, block: FragmentView, session_id: int, term_id: int) -> None:
        assert os.pread(fileno, len(block), file_offset) == bytes(block)
        blocks.append((file_offset, bytes(block), session_id, term_id))

    while publication.position < 65536 - 1056:
        publication.send(bytes([len(blocks)]) * 1000)
        assert image.raw_poll(on_raw, 1055) == 0
        assert subscription.raw_poll(on_raw, 65536) == 1056
    publication.send(b"next" * 10)
    assert image.raw_poll(on_raw, 100) == 65536 - 62 * 1056  # padding comes alone, and whole
    assert subscription.raw_poll(on_raw, 65536) == 96
    assert [offset for offset, *_ in blocks] == [1056 * n for n in range(63)] + [65536]
    assert struct.unpack_from("<H", blocks[-2][1], 6) == (0,)
    first = publication.initial_term_id
    assert [term_id for *_, term_id in blocks] == [first] * 63 + [(first + 1 + 2**31) % 2**32 - 2**31]
    assert {session_id for _, _, session_id, _ in blocks} == {publication.session_id}
    with pytest.raises(TypeError, match="nothing to assemble"):
        image.block_poll(FragmentAssembler(nothing), 64)
    publication.send(b"x")
    with pytest.raises(ZeroDivisionError):
        subscription.block_poll(lambda block, session_id, term_id: 1 // 0, 65536)
    assert image.position == 65536 + 96 + 64
    subscription.close()
    assert image.raw_poll(on_raw, 64) == subscription.raw_poll(on_raw, 64) == 0


def test_what_cannot_be_called_is_refused_before_there_is_anything_to_read(pair: Pair) -> None:
    _, subscription = pair
    (image,) = subscription.images
    polls: list[Callable[[object], object]] = [
        subscription.poll,  # type: ignore[list-item]
        subscription.controlled_poll,  # type: ignore[list-item]
        image.poll,  # type: ignore[list-item]
        lambda handler: image.block_poll(handler, 64),  # type: ignore[arg-type]
        lambda handler: image.controlled_peek(0, handler),  # type: ignore[arg-type]
    ]
    for poll in polls:
        for handler in (None, 7):
            with pytest.raises(TypeError):
                poll(handler)
    with pytest.raises(TypeError, match="controlled_poll"):
        subscription.poll(ControlledFragmentAssembler(lambda buffer, header: CONTINUE))


@pytest.mark.parametrize("make", [FragmentAssembler, ImageFragmentAssembler])
def test_every_assembler_joins_and_drops_as_told(pair: Pair, make: type[FragmentAssembler]) -> None:
    publication, subscription = pair
    (image,) = subscription.images
    seen: list[tuple[int, int, int]] = []

    def handler(buffer: FragmentView, header: Header) -> None:
        seen.append((len(buffer), header.flags, header.position))

    assembler = make(handler, 100)
    ends = [publication.offer(bytes(length)) for length in (10, 5000, 8192)]
    assert image.poll(assembler, 100) == 1 + 4 + 6
    assert seen == [(10, 0xC0, ends[0]), (5000, 0xC0, ends[1]), (8192, 0xC0, ends[2])]

    publication.offer(bytes(3000))
    assert image.poll(assembler, 1) == 1
    assembler.clear()
    assert image.poll(assembler, 100) == 2
    publication.offer(bytes(3000))
    assert image.poll(assembler, 1) == 1
    assert assembler.free_session_buffer(publication.session_id)
    assert not assembler.free_session_buffer(publication.session_id)
    assert image.poll(assembler, 100) == 2
    assert len(seen) == 3
    assert publication.offer(b"whole") == ends[2] + 2 * 3104 + 64
    image.poll(assembler)
    assert seen[3:] == [(5, 0xC0, publication.position)]
    for wrong in (lambda: make(None), lambda: make(handler, -1), lambda: make(handler, unassembled_limit=0)):  # type: ignore[arg-type]
        with pytest.raises((TypeError, ArgumentError)):
            wrong()


@pytest.mark.parametrize("make", [ControlledFragmentAssembler, ImageControlledFragmentAssembler])
def test_controlled_assemblers_pass_the_actions_on(pair: Pair, make: type[ControlledFragmentAssembler]) -> None:
    publication, subscription = pair
    (image,) = subscription.images
    actions = iter([ABORT, COMMIT, BREAK, CONTINUE, ABORT])
    seen: list[tuple[bytes, int]] = []

    def handler(buffer: FragmentView, header: Header) -> ControlledAction:
        seen.append((bytes(buffer), image.position))
        return next(actions)

    assembler = make(handler)
    for payload in (b"a" * 3000, b"b" * 2000, b"c", b"d"):
        publication.offer(payload)
    a, b, c = 3104, 3104 + 1408 + 672, 3104 + 1408 + 672 + 64
    polled = [image.controlled_poll(assembler) for _ in range(3)]
    # Fragments are counted, and the one that was aborted is not: 3 + 2 + 2.
    assert polled == [2, 3, 1]
    assert seen == [(b"a" * 3000, 0), (b"a" * 3000, 2816), (b"b" * 2000, a), (b"c", b), (b"d", b)]
    assert image.position == c


def begin_without_end(pair: Pair, count: int) -> None:
    """A message of count fragments of 1000 bytes and no last one."""
    publication, _ = pair
    for number in range(count):
        claim = publication.try_claim(1000)
        claim.flags = 0x80 if number == 0 else 0
        claim.commit()


def test_a_message_without_end_takes_no_more_than_the_longest_message(pair: Pair) -> None:
    publication, subscription = pair
    (image,) = subscription.images
    seen: list[int] = []
    assembler = FragmentAssembler(lambda buffer, header: seen.append(len(buffer)))
    begin_without_end(pair, 12)
    publication.offer(bytes(8192))

    with pytest.raises(TooLongError, match=rf"session {publication.session_id} .* 9000 bytes .* at most 8192"):
        image.poll(assembler, 100)
    assert image.position == 9 * 1056  # behind the fragment that was one too many, as after any exception
    assert image.poll(assembler, 100) == 3 + 6
    assert (seen, assembler.refused_count) == ([8192], 1)

    strict = FragmentAssembler(lambda buffer, header: seen.append(len(buffer)), unassembled_limit=2000)
    publication.offer(bytes(2001))
    publication.offer(bytes(2000))
    with pytest.raises(TooLongError, match="at most 2000"):
        image.poll(strict, 100)
    image.poll(strict, 100)
    assert (seen, strict.refused_count) == ([8192, 2000], 1)


def test_a_batch_passes_over_a_message_without_end_and_counts_it(pair: Pair) -> None:
    publication, subscription = pair
    begin_without_end(pair, 12)
    publication.offer(b"next")

    with subscription.poll_batch() as batch:
        assert ([bytes(payload) for payload in batch], batch.refused_count) == ([b"next"], 1)
    with subscription.poll_batch() as batch:
        assert (len(batch), batch.refused_count) == (0, 0)


def test_messages_go_on_where_the_caller_left_them(pair: Pair) -> None:
    publication, subscription = pair
    for number in range(10):
        publication.offer(bytes([number]))
    first = next(subscription.messages())
    rest = list(subscription.messages(timeout_s=0))
    assert [message.payload for message in [first, *rest]] == [bytes([number]) for number in range(10)]

    for flags, payload in ((0x80, b"be"), (0x00, b"gin"), (0x40, b"ning")):
        claim = publication.try_claim(len(payload))
        claim.buffer[:] = payload
        claim.flags = flags
        claim.commit()
        received = list(subscription.messages(timeout_s=0))  # a time-out between the fragments of one message
    assert [message.payload for message in received] == [b"beginning"]

    publication.offer(b"before")
    begin_without_end(pair, 12)
    publication.offer(b"after")
    with pytest.raises(TooLongError):
        list(subscription.messages(timeout_s=0))
    assert [message.payload for message in subscription.messages(limit=2)] == [b"before", b"after"]


def test_a_dropped_batch_is_closed(pair: Pair) -> None:
    publication, subscription = pair
    (image,) = subscription.images
    kept: list[np.ndarray[tuple[int], np.dtype[np.int32]]] = []
    for number in range(1, 4):
        publication.offer(bytes(number))
        kept.append(subscription.poll_batch().lengths)
        assert image.position == 64 * number
    publication.offer(b"last")
    assert [bytes(payload) for payload in subscription.poll_batch()] == [b"last"]
    batch = subscription.poll_batch()
    cycle = [batch]
    cycle.append(cycle)  # type: ignore[arg-type]
    del batch, cycle
    gc.collect()

    assert not subscription.is_polling
    assert subscription.poll(nothing) == 0
    assert [array.tolist() for array in kept] == [[1], [2], [3]]  # no later batch wrote over them


def test_of_two_threads_that_take_a_batch_one_is_refused(aeron: Aeron) -> None:
    """The subscription is taken before the GIL is let go of: else both would read the same messages."""
    stream_id = next(STREAMS)
    subscription = aeron.add_subscription("aeron:ipc", stream_id)
    publication = aeron.add_exclusive_publication("aeron:ipc?term-length=1m", stream_id)
    until(lambda: subscription.is_connected and publication.is_connected and publication.available_window > 0)
    messages = np.zeros((2000, 8), np.uint8)
    together = threading.Barrier(2, timeout=DEADLINE_S)

    def take() -> int:
        together.wait()
        try:
            batch = subscription.poll_batch(len(messages))
        except StateError:
            together.wait()
            return -1
        together.wait()  # open until the other had its turn
        with batch:
            return len(batch)

    taken = []
    with ThreadPoolExecutor(2) as threads:
        for _ in range(100):
            until(lambda: publication.available_window >= 64 * len(messages))
            assert publication.offer_batch(messages) == len(messages)
            refused, first = sorted(each.result() for each in [threads.submit(take), threads.submit(take)])
            with subscription.poll_batch() as rest:  # what lay in the next term
                taken.append((refused, first + len(rest)))
    assert taken == [(-1, len(messages))] * 100


def test_what_an_image_says_of_itself_stays_when_it_is_gone(pair: Pair) -> None:
    publication, subscription = pair
    (image,) = subscription.images
    assert (image.mtu_length, image.term_buffer_length, image.position_bits_to_shift) == (1408, 65536, 16)
    assert (image.initial_term_id, image.session_id) == (publication.initial_term_id, publication.session_id)
    assert (image.join_position, image.end_of_stream_position) == (0, 2**63 - 1)
    assert image.subscription is subscription
    assert not image.is_publication_revoked
    publication.offer(b"one")
    publication.offer(b"two")
    assert image.poll(nothing, 1) == 1
    publication.revoke()
    until(lambda: image.is_closed)

    assert (image.position, image.is_publication_revoked, image.active_transport_count) == (64, True, 0)
    assert image.end_of_stream_position == 128
    assert not image.is_end_of_stream
    assert image.poll(nothing) == image.controlled_poll(nothing) == image.block_poll(nothing, 64) == 0
    assert f"session_id={image.session_id}" in repr(image)


def test_an_image_is_rejected_by_itself(pair: Pair) -> None:
    (image,) = pair[1].images
    with pytest.raises(ArgumentError, match="1012 characters"):
        image.reject("x" * 1012)
    image.reject("no")
    until(lambda: image.is_closed)


def test_a_spys_image_is_not_to_be_rejected(aeron: Aeron) -> None:
    stream_id = next(STREAMS)
    subscription = aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0", stream_id)
    until(lambda: subscription.resolved_endpoint is not None)
    channel = f"aeron:udp?endpoint={subscription.resolved_endpoint}|term-length=64k"
    spy = aeron.add_subscription(f"aeron-spy:{channel}", stream_id)
    publication = aeron.add_publication(channel, stream_id)
    until(lambda: spy.is_connected)
    with pytest.raises(StateError, match="a spy only watches"):
        spy.images[0].reject("no")
    assert not publication.is_closed


def test_a_revoked_stream_ends_before_what_was_sent_is_read(aeron: Aeron) -> None:
    stream_id = next(STREAMS)
    subscription = aeron.add_subscription(CHANNEL, stream_id)
    with aeron.add_exclusive_publication(CHANNEL, stream_id) as publication:
        publication.send(b"never read")
        until(lambda: subscription.is_connected)
        (image,) = subscription.images
        publication.revoke_on_close()
        assert not publication.is_closed
    until(lambda: subscription.has_no_images)
    assert (image.is_publication_revoked, image.position) == (True, 0)
    assert not subscription.is_connected
