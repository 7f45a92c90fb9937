"""The finer points of sending: reserved values, claims, blocks, padding, a stream's end, over a driver of ours."""

from __future__ import annotations

import struct
import threading
import zlib

import numpy as np
import pytest

from aeronpy import Aeron, ExclusivePublication, FragmentView, Header, OfferResult, Publication, Subscription
from aeronpy.errors import ArgumentError, MaxPositionExceeded, PublicationClosed, StateError, TooLongError
from tests.system.clients import STREAMS, Pair, connected_pair, poll_until
from tests.waiting import DEADLINE_S, until

POSITION_MAX = 65536 << 31
# 128 bytes before the end of the last term that a stream of these terms can have.
LAST_TERM = "aeron:ipc?term-length=64k|init-term-id=5|term-id=-2147483644|term-offset=65408"


def at_the_end(aeron: Aeron, exclusive: bool) -> tuple[Publication | ExclusivePublication, Subscription]:
    """A stream with 128 bytes left, and its subscriber."""
    stream_id = next(STREAMS)
    subscription = aeron.add_subscription("aeron:ipc", stream_id)
    add = aeron.add_exclusive_publication if exclusive else aeron.add_publication
    publication = add(LAST_TERM, stream_id)
    until(lambda: subscription.is_connected and publication.is_connected and publication.available_window > 0)
    return publication, subscription


def test_reserved_values_are_constants_or_made_from_each_frame(pair: Pair) -> None:
    publication, subscription = pair
    whole = publication.max_payload_length
    sent = bytes(range(256)) * 12
    seen: list[tuple[int, int, int]] = []
    frames: list[tuple[int, ...]] = []
    kept: list[FragmentView] = []

    def checksum(frame: FragmentView) -> int:
        frames.append(frame.unpack("<BBHiiii", 4))
        kept.append(frame)
        return zlib.crc32(memoryview(frame)[32:])

    assert publication.offer(b"x", reserved_value=-5) == 64
    assert publication.offer(sent[:1000], sent[1000:], reserved_value=checksum) > 0
    publication.send(b"y", reserved_value=checksum)
    publication.offer(b"z")

    def handler(buffer: FragmentView, header: Header) -> None:
        seen.append((len(buffer), header.reserved_value, zlib.crc32(buffer)))

    poll_until(subscription, handler, 6)
    rest = len(sent) - 2 * whole
    assert [(length, value) for length, value, _ in seen[:1] + seen[-1:]] == [(1, -5), (1, 0)]
    assert [length for length, _, _ in seen[1:-1]] == [whole, whole, rest, 1]
    assert all(value == crc for _, value, crc in seen[1:-1])
    where = (publication.session_id, publication.stream_id, publication.initial_term_id)
    after = 64 + 2 * (whole + 32) + (rest + 32 + 31) // 32 * 32
    assert frames == [
        (0, 0x80, 1, 64, *where),
        (0, 0x00, 1, 64 + whole + 32, *where),
        (0, 0x40, 1, 64 + 2 * (whole + 32), *where),
        (0, 0xC0, 1, after, *where),
    ]
    with pytest.raises(StateError, match="inside its handler"):
        bytes(kept[0])


@pytest.mark.parametrize("value", [1 << 63, "text", None])
def test_a_supplier_that_fails_is_heard_of_and_the_stream_goes_on(pair: Pair, value: object) -> None:
    publication, subscription = pair
    expected = OverflowError if value == 1 << 63 else TypeError
    with pytest.raises(expected):
        publication.offer(b"a" * 3000, reserved_value=lambda frame: value)  # type: ignore[arg-type, return-value]
    with pytest.raises(ZeroDivisionError):
        publication.send(b"b", reserved_value=lambda frame: 1 // 0)
    publication.offer(b"c")

    received = list(subscription.messages(limit=3))
    assert [message.payload for message in received] == [b"a" * 3000, b"b", b"c"]
    assert [message.reserved_value for message in received] == [0, 0, 0]


def test_a_supplier_is_called_by_a_send_that_waited(aeron: Aeron) -> None:
    """Then C calls it from where it had let go of the GIL."""
    stream_id = next(STREAMS)
    publication = aeron.add_publication("aeron:ipc?term-length=64k", stream_id)
    waiting = threading.Event()
    found: list[Subscription] = []

    def join() -> None:
        waiting.wait(DEADLINE_S)
        found.append(aeron.add_subscription("aeron:ipc", stream_id))

    joiner = threading.Thread(target=join)
    joiner.start()
    assert publication.offer(b"not yet") is OfferResult.NOT_CONNECTED
    waiting.set()
    publication.send(b"x" * 2000, timeout_s=DEADLINE_S, reserved_value=len)
    joiner.join()

    seen: list[int] = []
    poll_until(found[0], lambda buffer, header: seen.append(header.reserved_value), 2)
    assert seen == [1408, 656]


def test_a_supplier_may_close_its_publication(pair: Pair) -> None:
    publication, subscription = pair

    def close(frame: FragmentView) -> int:
        publication.close()
        return 7

    position = publication.offer(b"q" * 3000, reserved_value=close)

    assert position == 2 * 1408 + 288
    assert publication.offer(b"r", reserved_value=close) is OfferResult.CLOSED
    assert [message.reserved_value for message in subscription.messages(limit=1)] == [7]


def test_a_claims_header_is_the_writers_until_it_is_sent(pair: Pair) -> None:
    publication, subscription = pair
    seen: list[tuple[bytes, int, int, int]] = []
    for flags, payload in ((0x80, b"be"), (0x40, b"gun")):
        claim = publication.try_claim(len(payload))
        assert (claim.flags, claim.type, claim.reserved_value) == (0xC0, 1, 0)
        claim.buffer[:] = payload
        claim.flags = flags
        claim.reserved_value = -1 - flags
        claim.commit()
        with pytest.raises(StateError):
            claim.type = 0
    skipped = publication.try_claim(100)
    skipped.type = 0  # padding, to its readers
    skipped.commit()
    publication.offer(b"end")

    def handler(buffer: FragmentView, header: Header) -> None:
        seen.append((bytes(buffer), header.flags, header.reserved_value, header.position))

    poll_until(subscription, handler, 3)
    assert seen == [(b"be", 0x80, -129, 64), (b"gun", 0x40, -65, 128), (b"end", 0xC0, 0, 352)]
    with pytest.raises(ArgumentError, match="-1 bytes"):
        publication.try_claim(-1)


def test_a_claim_outlives_the_close_of_its_publication(pair: Pair) -> None:
    publication, subscription = pair
    claim = publication.try_claim(3)
    claim.buffer[:] = b"end"
    publication.close()
    claim.commit()

    assert [message.payload for message in subscription.messages(limit=1)] == [b"end"]


def test_blocks_move_a_stream_into_another(pair: Pair, aeron: Aeron) -> None:
    """As an archive replays: same session, stream, terms; frames as they are, padding by appending it."""
    publication, subscription = pair
    stream_id = next(STREAMS)
    copies = aeron.add_subscription("aeron:ipc", stream_id)
    channel = (
        f"aeron:ipc?term-length=64k|session-id={publication.session_id}"
        f"|init-term-id={publication.initial_term_id}|term-id={publication.initial_term_id}|term-offset=0"
    )
    copy = aeron.add_exclusive_publication(channel, stream_id)
    until(lambda: copy.is_connected and copies.is_connected and copy.available_window > 0)
    received: list[tuple[bytes, int]] = []

    def move(block: FragmentView, session_id: int, term_id: int) -> None:
        if block.get_uint16(6) == 0:
            result = copy.append_padding(len(block) - 32)
        else:
            frames = bytearray(block)
            offset = 0
            while offset < len(frames):
                struct.pack_into("<i", frames, offset + 16, stream_id)
                offset += (struct.unpack_from("<i", frames, offset)[0] + 31) & ~31
            while (result := copy.offer_block(frames)) is OfferResult.BACK_PRESSURED:
                received.extend((message.payload, message.position) for message in copies.messages(timeout_s=0))
        assert result == moved + len(block)

    moved = 0
    sent = []
    for number in range(120):
        payload = bytes([number]) * (number * 53 % 4001)
        sent.append((payload, publication.send(payload)))
        while (length := subscription.block_poll(move, 65536)) > 0:
            moved += length
        received.extend((message.payload, message.position) for message in copies.messages(timeout_s=0))
    assert sent[-1][1] > 3 * 65536
    assert received == sent
    assert copy.position == publication.position


def test_blocks_that_do_not_belong_are_refused(pair: Pair) -> None:
    publication, _ = pair
    fields = [0, 0xC0, 1, 0, publication.session_id, publication.stream_id, publication.initial_term_id, 0]
    good = struct.pack("<iBBHiiiiq", 64, *fields) + bytes(32)
    spoilt = {6: b"\0\0", 8: b"\x20", 12: b"\1\1\1\1", 16: b"\1\1", 20: b"\1\1\1\1", 0: b"\x41"}
    for offset, change in spoilt.items():
        block = bytearray(good)
        block[offset : offset + len(change)] = change
        with pytest.raises(ArgumentError):
            publication.offer_block(block)
    for block in (good + bytes(32), good[:33], good + bytes(65536), b""):
        with pytest.raises(ArgumentError):
            publication.offer_block(block)
    assert publication.position == 0
    assert publication.offer_block(np.frombuffer(good, "<i4")) == 64
    publication.close()
    assert publication.offer_block(good) is OfferResult.CLOSED
    assert publication.append_padding(0) is OfferResult.CLOSED


@pytest.mark.parametrize("exclusive", [False, True], ids=["shared", "exclusive"])
def test_a_stream_ends_at_its_last_position(aeron: Aeron, exclusive: bool) -> None:
    publication, subscription = at_the_end(aeron, exclusive)
    assert publication.max_possible_position == POSITION_MAX
    assert publication.position == subscription.images[0].join_position == POSITION_MAX - 128
    assert publication.offer(b"last") == POSITION_MAX - 64
    assert publication.offer(bytes(64)) is OfferResult.MAX_POSITION_EXCEEDED
    assert not publication.try_claim(0)
    assert publication.try_claim(0).result is OfferResult.MAX_POSITION_EXCEEDED
    for call in (lambda: publication.send(b"x"), lambda: publication.offer_batch((b"x", [1]))):
        with pytest.raises(MaxPositionExceeded, match=str(POSITION_MAX)):
            call()
    if isinstance(publication, ExclusivePublication):
        assert publication.append_padding(0) is OfferResult.MAX_POSITION_EXCEEDED
        assert publication.offer_block(bytes(32)) is OfferResult.MAX_POSITION_EXCEEDED
    assert publication.position == POSITION_MAX

    assert [message.payload for message in subscription.messages(limit=1)] == [b"last"]
    until(lambda: subscription.poll(lambda buffer, header: None) == subscription.images[0].position - POSITION_MAX)
    publication.close()
    until(lambda: not subscription.images or subscription.images[0].is_end_of_stream)


def test_a_stream_that_is_filled_to_the_last_byte_takes_no_more(aeron: Aeron) -> None:
    publication, subscription = at_the_end(aeron, True)
    assert publication.offer(bytes(96)) == POSITION_MAX
    assert publication.offer(b"") is OfferResult.MAX_POSITION_EXCEEDED
    assert [message.position for message in subscription.messages(limit=1)] == [POSITION_MAX]


@pytest.mark.parametrize("exclusive", [False, True], ids=["shared", "exclusive"])
def test_term_ids_wrap_around_under_a_stream(aeron: Aeron, exclusive: bool) -> None:
    stream_id = next(STREAMS)
    subscription = aeron.add_subscription("aeron:ipc", stream_id)
    add = aeron.add_exclusive_publication if exclusive else aeron.add_publication
    publication = add("aeron:ipc?term-length=64k|init-term-id=2147483647|term-id=2147483647|term-offset=0", stream_id)
    terms: set[int] = set()
    received: list[int] = []

    def handler(buffer: FragmentView, header: Header) -> None:
        terms.add(header.term_id)
        received.append(header.position)
        assert header.next_term_offset == (header.position - 1) % 65536 + 1

    sent = []
    for _ in range(160):
        sent.append(publication.send(bytes(1000)))
        poll_until(subscription, handler, 1)
    assert received == sent
    assert terms == {2147483647, -2147483648, -2147483647}


def test_what_a_publication_says_of_itself(aeron: Aeron) -> None:
    publication, _ = connected_pair(aeron)
    assert publication.max_message_length == 8192
    assert (publication.mtu_length, publication.max_payload_length) == (1408, 1376)
    assert (publication.term_buffer_length, publication.position_bits_to_shift) == (65536, 16)
    publication.offer(bytes(100))
    assert publication.position == 160
    assert publication.position_limit == publication.available_window + 160
    assert aeron.counters_reader.value(publication.position_limit_id) == publication.position_limit
    publication.close()
    assert publication.is_closed
    assert not publication.is_connected
    closed = [publication.position, publication.position_limit, publication.available_window, publication.offer(b"x")]
    assert closed == [OfferResult.CLOSED] * 4
    assert publication.try_claim(1).result is OfferResult.CLOSED
    with pytest.raises(PublicationClosed):
        publication.offer_batch((b"x", [1]))
    assert publication.max_message_length == 8192


def test_results_have_names() -> None:
    names = [Publication.error_string(code) for code in range(-7, 2)]
    assert names == [
        "UNKNOWN",
        "ERROR",
        "MAX_POSITION_EXCEEDED",
        "CLOSED",
        "ADMIN_ACTION",
        "BACK_PRESSURED",
        "NOT_CONNECTED",
        "NONE",
        "NONE",
    ]


def test_lengths_that_change_while_they_are_read_lead_nowhere_else(pair: Pair) -> None:
    """A thread writes lengths of another's memory into the array; what was checked is what is sent."""
    publication, subscription = pair
    payload = b"p" * 400
    lengths = np.ones(400, np.int32)
    stop = threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            lengths[1:] = 8000
            lengths[1:] = 1

    disturber = threading.Thread(target=disturb)
    disturber.start()
    accepted = 0
    try:
        for _ in range(3000):
            try:
                accepted += publication.offer_batch((payload, lengths))
            except ArgumentError:  # seen in time
                continue
            except TooLongError:
                pytest.fail("a length was sent that had not been checked")
            with subscription.poll_batch() as batch:
                assert set(batch.lengths.tolist()) <= {1}
    finally:
        stop.set()
        disturber.join()
    assert accepted > 0
