"""Every way in which our client receives what the real clients send on their drivers."""

from __future__ import annotations

import os
import struct

import pytest

from aeronpy import ControlledAction, FragmentView, Header, Image
from aeronpy import Subscription as AeronSubscription
from tests.interop import ends, ours
from tests.interop.house import House, ipc, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell

MEDIA = pytest.mark.parametrize("local", [False, True], ids=["udp", "ipc"])
SENT = [bytes([65 + number]) * (10 + number) for number in range(8)]
FRAME = 64  # what each of these takes in the log


def sent(
    house: House, cell: Cell, local: bool, messages: list[bytes] = SENT
) -> tuple[AeronSubscription, Image, list[int]]:
    """Our subscription in which all that the peer has sent is waiting, and where each message ends."""
    pair = house.ends(cell)
    channel = ipc() if local else udp()
    subscription, witness = pair.target.subscription(channel), pair.target.subscription(channel)
    publication = pair.source.publication(channel, exclusive=True)
    ends.image_of(subscription)
    ends.image_of(witness)
    positions = publication.send(*messages)
    # The image is shared by both: what one has read is there for the other, so limits and counts are exact.
    assert [each.payload for each in witness.receive(len(messages))] == messages
    real = ours.subscription(subscription)
    return real, real.images[0], positions


class Taken:
    """What a handler got, and what it answers in a controlled poll."""

    def __init__(self, **answers: ControlledAction) -> None:
        self.payloads: list[bytes] = []
        self.positions: list[int] = []
        self.answers = {int(name[1:]): answer for name, answer in answers.items()}

    def plain(self, buffer: FragmentView, header: Header) -> None:
        self.payloads.append(bytes(buffer))
        self.positions.append(header.position)

    def controlled(self, buffer: FragmentView, header: Header) -> ControlledAction:
        self.plain(buffer, header)
        return self.answers.pop(len(self.payloads) - 1, ControlledAction.CONTINUE)


@MEDIA
@every("client.poll.poll")
def test_poll(house: House, cell: Cell, local: bool) -> None:
    subscription, image, positions = sent(house, cell, local)
    taken = Taken()

    assert subscription.poll(taken.plain, 3) == 3
    assert image.position == positions[2]
    assert image.poll(taken.plain, 100) == 5
    assert (taken.payloads, taken.positions) == (SENT, positions)
    assert image.position == positions[-1]


@MEDIA
@every("client.poll.controlled")
def test_controlled_poll(house: House, cell: Cell, local: bool) -> None:
    subscription, image, positions = sent(house, cell, local)
    taken = Taken(_1=ControlledAction.COMMIT, _3=ControlledAction.ABORT, _5=ControlledAction.BREAK)

    assert subscription.controlled_poll(taken.controlled, 100) == 3
    assert image.position == positions[2]
    # The aborted one comes again; the poll ends behind the one that breaks.
    assert image.controlled_poll(taken.controlled, 100) == 2
    assert image.position == positions[4]
    assert image.controlled_poll(taken.controlled, 100) == 3
    assert taken.payloads == [*SENT[:4], SENT[3], *SENT[4:]]
    assert image.position == positions[-1]


@MEDIA
@every("client.poll.bounded")
def test_bounded_poll(house: House, cell: Cell, local: bool) -> None:
    _, image, positions = sent(house, cell, local)
    taken = Taken()

    assert image.bounded_poll(taken.plain, positions[1], 100) == 2
    assert image.bounded_poll(taken.plain, positions[1], 100) == 0
    # A fragment that begins before the limit is given whole.
    assert image.bounded_poll(taken.plain, positions[3] + 1, 100) == 3
    assert image.bounded_poll(taken.plain, positions[-1], 2) == 2
    assert taken.payloads == SENT[:7]
    assert image.position == positions[6]


@MEDIA
@every("client.poll.bounded_controlled")
def test_bounded_controlled_poll(house: House, cell: Cell, local: bool) -> None:
    _, image, positions = sent(house, cell, local)
    taken = Taken(_1=ControlledAction.ABORT, _4=ControlledAction.BREAK)

    assert image.bounded_controlled_poll(taken.controlled, positions[4], 100) == 1
    assert image.bounded_controlled_poll(taken.controlled, positions[4], 100) == 3
    assert image.bounded_controlled_poll(taken.controlled, positions[4], 100) == 1
    assert image.bounded_controlled_poll(taken.controlled, positions[4], 100) == 0
    assert taken.payloads == [*SENT[:2], *SENT[1:5]]
    assert image.position == positions[4]


@MEDIA
@every("client.poll.controlled_peek")
def test_controlled_peek(house: House, cell: Cell, local: bool) -> None:
    subscription, image, positions = sent(house, cell, local)
    taken = Taken(_5=ControlledAction.BREAK)

    assert image.controlled_peek(0, taken.controlled, positions[2]) == positions[2]
    assert image.controlled_peek(positions[2], taken.controlled) == positions[5]
    assert image.position == 0
    assert taken.payloads == SENT[:6]
    again = Taken()
    assert subscription.poll(again.plain, 100) == len(SENT)
    assert again.payloads == SENT


def frames_of(block: bytes) -> list[bytes]:
    """The payloads of a run of whole frames."""
    payloads, offset = [], 0
    while offset < len(block):
        (length,) = struct.unpack_from("<i", block, offset)
        payloads.append(block[offset + 32 : offset + length])
        offset += (length + 31) & ~31
    return payloads


@MEDIA
@every("client.poll.block")
def test_block_poll(house: House, cell: Cell, local: bool) -> None:
    subscription, image, positions = sent(house, cell, local)
    blocks: list[tuple[bytes, int, int]] = []

    def keep(block: FragmentView, session_id: int, term_id: int) -> None:
        blocks.append((bytes(block), session_id, term_id))

    assert subscription.block_poll(keep, 3 * FRAME + 10) == 3 * FRAME
    assert image.block_poll(keep, 1 << 20) == 5 * FRAME
    assert [frames_of(block) for block, *_ in blocks] == [SENT[:3], SENT[3:]]
    assert {names for _, *names in map(tuple, blocks) for names in [tuple(names)]} == {
        (image.session_id, image.initial_term_id)
    }
    assert image.position == positions[-1]


@MEDIA
@every("client.poll.raw")
def test_raw_poll(house: House, cell: Cell, local: bool) -> None:
    subscription, image, positions = sent(house, cell, local)
    blocks: list[tuple[bytes, bytes]] = []

    def keep(file: int, offset: int, block: FragmentView, session_id: int, term_id: int) -> None:
        assert (session_id, term_id) == (image.session_id, image.initial_term_id)
        blocks.append((bytes(block), os.pread(file, len(block), offset)))

    assert subscription.raw_poll(keep, 2 * FRAME) == 2 * FRAME
    assert image.raw_poll(keep, 1 << 20) == 6 * FRAME
    assert all(block == read for block, read in blocks)
    assert [frames_of(block) for block, _ in blocks] == [SENT[:2], SENT[2:]]
    assert image.position == positions[-1]


LONG = [bytes([number]) * size for number, size in enumerate([1377, 10, 4200, 8192])]


@MEDIA
@every("client.poll.assemblers")
def test_image_assemblers(house: House, cell: Cell, local: bool) -> None:
    from aeronpy import ImageFragmentAssembler

    _, image, positions = sent(house, cell, local, LONG)
    taken = Taken()
    assembler = ImageFragmentAssembler(taken.plain)
    while image.position < positions[-1]:
        image.poll(assembler, 2)

    assert (taken.payloads, taken.positions) == (LONG, positions)


@MEDIA
@every("client.poll.controlled_assemblers")
def test_controlled_assemblers(house: House, cell: Cell, local: bool) -> None:
    from aeronpy import ControlledFragmentAssembler, ImageControlledFragmentAssembler

    subscription, image, positions = sent(house, cell, local, LONG)
    taken = Taken(_0=ControlledAction.ABORT, _2=ControlledAction.COMMIT)
    assembler = ControlledFragmentAssembler(taken.controlled)
    while len(taken.payloads) < 3:
        subscription.controlled_poll(assembler, 2)
    assert image.position == positions[1]
    single = ImageControlledFragmentAssembler(taken.controlled)
    while image.position < positions[-1]:
        image.controlled_poll(single, 100)

    assert taken.payloads == [LONG[0], *LONG]


@every("client.poll.session_assemblers")
def test_sessions_are_assembled_apart(house: House, cell: Cell) -> None:
    from aeronpy import FragmentAssembler

    pair, channel = house.ends(cell), udp()
    subscription = pair.target.subscription(channel)
    publications = [pair.source.publication(channel, exclusive=True) for _ in range(3)]
    for each in publications:
        ends.image_of(subscription, each.look()["session_id"])
    messages = {each.look()["session_id"]: bytes([number]) * 5000 for number, each in enumerate(publications)}
    for each in publications:
        each.send(messages[each.look()["session_id"]])
    got: dict[int, bytes] = {}
    assembler = FragmentAssembler(lambda buffer, header: got.update({header.session_id: bytes(buffer)}))

    # One fragment of each image at a time, so that the messages come interleaved.
    ends.until(lambda: ours.subscription(subscription).poll(assembler, 1) >= 0 and len(got) == 3, "three messages")
    assert got == messages


@every("client.poll.unassembled_limits")
def test_what_grows_past_the_limit_is_dropped(house: House, cell: Cell) -> None:
    from aeronpy import FragmentAssembler
    from aeronpy.errors import TooLongError

    subscription, image, positions = sent(house, cell, False, [b"short", b"long" * 1500, b"after it"])
    taken = Taken()
    assembler = FragmentAssembler(taken.plain, unassembled_limit=3000)
    with pytest.raises(TooLongError):
        while image.position < positions[-1]:
            subscription.poll(assembler, 1)
    while image.position < positions[-1]:
        subscription.poll(assembler, 1)

    assert taken.payloads == [b"short", b"after it"]
