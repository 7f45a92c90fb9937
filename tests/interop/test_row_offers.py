"""Every way in which our client sends, read by the real clients on their drivers."""

from __future__ import annotations

import array
import struct
import zlib

import numpy as np
import pytest

from aeronpy import BufferClaim, ExclusivePublication, FragmentView, OfferResult
from aeronpy import Publication as SharedPublication
from tests.interop import ends, ours
from tests.interop.house import Ends, House, ipc, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell

KINDS = pytest.mark.parametrize("exclusive", [False, True], ids=["shared", "exclusive"])


def stream(
    house: House, cell: Cell, exclusive: bool, channel: str = ""
) -> tuple[Ends, SharedPublication | ExclusivePublication, ends.Subscription]:
    """Our connected publication, and the peer's subscription to it."""
    pair, channel = house.ends(cell), channel or udp()
    subscription = pair.target.subscription(channel)
    publication = pair.source.publication(channel, exclusive=exclusive)
    ends.connected(publication)
    return pair, ours.exclusive(publication) if exclusive else ours.shared(publication), subscription


def accepted(result: int | OfferResult) -> int:
    assert not isinstance(result, OfferResult), result
    return result


@KINDS
@every("client.offer.variants")
def test_every_kind_of_buffer(house: House, cell: Cell, exclusive: bool) -> None:
    _, publication, subscription = stream(house, cell, exclusive)
    numbers = np.arange(300, dtype="<i4")
    buffers = [
        b"bytes",
        bytearray(b"bytearray"),
        memoryview(b"a view of it")[2:6],
        array.array("d", [1.5, -2.5]),
        numbers,
    ]

    positions = [accepted(publication.offer(each)) for each in buffers]
    positions.append(accepted(publication.offer(b"head ", bytearray(b"and body"))))

    got = subscription.receive(6)
    assert [each.payload for each in got] == [*(bytes(each) for each in buffers), b"head and body"]
    assert [each.position for each in got] == positions


@KINDS
@every("client.offer.variants")
def test_batches(house: House, cell: Cell, exclusive: bool) -> None:
    _, publication, subscription = stream(house, cell, exclusive)
    sent = np.arange(400, dtype="<i8").reshape(100, 4)
    accepted_rows = 0

    def all_accepted() -> bool:
        nonlocal accepted_rows
        accepted_rows += publication.offer_batch(sent.view(np.uint8)[accepted_rows:])
        return accepted_rows == len(sent)

    ends.until(all_accepted, "all rows")

    assert [each.payload for each in subscription.receive(100)] == [bytes(row) for row in sent]


@KINDS
@every("client.offer.reserved_value")
def test_reserved_values(house: House, cell: Cell, exclusive: bool) -> None:
    _, publication, subscription = stream(house, cell, exclusive)
    frames: list[bytes] = []

    def checksum(frame: FragmentView) -> int:
        frames.append(bytes(frame)[32:])
        return -zlib.crc32(frames[-1])

    publication.offer(b"constant", reserved_value=-(1 << 62))
    publication.offer(b"called", reserved_value=checksum)
    long = bytes(range(256)) * 12
    publication.offer(long, reserved_value=checksum)

    got = subscription.receive(3)
    assert [each.payload for each in got] == [b"constant", b"called", long]
    assert [each.reserved for each in got[:2]] == [-(1 << 62), -zlib.crc32(b"called")]
    # The supplier is asked for each frame; an assembled message shows its first frame's value.
    assert b"".join(frames[1:]) == long
    assert len(frames) == 4
    assert got[2].reserved == -zlib.crc32(frames[1])


@KINDS
@every("client.offer.vectored")
def test_vectored_offers(house: House, cell: Cell, exclusive: bool) -> None:
    _, publication, subscription = stream(house, cell, exclusive)
    parts = [b"", b"one", b"x" * 1376, bytearray(b"y" * 1000), memoryview(b"end"), b""]

    positions = [accepted(publication.offer(*parts)), accepted(publication.offer(*parts[:2]))]

    got = subscription.receive(2)
    assert [each.payload for each in got] == [b"".join(bytes(each) for each in parts), b"one"]
    assert [each.position for each in got] == positions


@every("client.offer.block")
def test_block_offers(house: House, cell: Cell) -> None:
    channel = udp("init-term-id=5|term-id=5|term-offset=0")
    _, publication, subscription = stream(house, cell, True, channel)
    assert isinstance(publication, ExclusivePublication)
    payloads = [b"first of the block", b"", b"z" * 1000]
    block = bytearray()
    for payload in payloads:
        frame = struct.pack("<iBBHiiiiq", 32 + len(payload), 0, 0xC0, 1, len(block), publication.session_id,
                            publication.stream_id, 5, 7 + len(block)) + payload  # fmt: skip
        block += frame + bytes(-len(frame) % 32)

    assert publication.offer_block(block) == len(block)
    end = accepted(publication.offer(b"behind it"))

    got = subscription.receive(4)
    assert [each.payload for each in got] == [*payloads, b"behind it"]
    assert [each.reserved for each in got] == [7, 7 + 64, 7 + 96, 0]
    assert got[-1].position == end == len(block) + 64


@KINDS
@every("client.offer.try_claim", "client.offer.abort")
def test_claims_committed_and_aborted(house: House, cell: Cell, exclusive: bool) -> None:
    _, publication, subscription = stream(house, cell, exclusive)
    positions = []
    for number in range(6):
        claim = publication.try_claim(100)
        claim.buffer[:] = bytes([number]) * 100
        claim.reserved_value = number
        if number % 2:
            claim.abort()
        else:
            positions.append(claim.result)
            claim.commit()
    last = accepted(publication.offer(b"last"))

    got = subscription.receive(4)
    assert [each.payload for each in got] == [bytes([number]) * 100 for number in (0, 2, 4)] + [b"last"]
    assert [each.reserved for each in got] == [0, 2, 4, 0]
    assert [each.position for each in got] == [*positions, last]
    assert last == 6 * 160 + 64


@every("client.offer.try_claim")
def test_claims_that_are_left_by_an_error_are_dropped(house: House, cell: Cell) -> None:
    _, publication, subscription = stream(house, cell, True, ipc() if cell.peer == "c" else "")

    def claimed(length: int) -> BufferClaim:
        claim: BufferClaim = ends.until(lambda: publication.try_claim(length), "a claim")
        return claim

    with pytest.raises(KeyError), claimed(8) as claim:
        claim.buffer[:] = b"not sent"
        raise KeyError
    with claimed(4) as claim:
        claim.buffer[:] = b"sent"

    assert [each.payload for each in subscription.receive(1)] == [b"sent"]
