"""Every way that our client sends, read by the real ones, and every way that it reads, of what they sent."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Literal

import pytest

from aeronpy import (
    Aeron,
    ControlledAction,
    ControlledFragmentAssembler,
    ExclusivePublication,
    FragmentAssembler,
    FragmentView,
    Header,
    Image,
    ImageControlledFragmentAssembler,
    ImageFragmentAssembler,
    OfferResult,
    Subscription,
)
from aeronpy.errors import TooLongError
from tests.interop import calls
from tests.interop.calls import Fragment, Model, OurPublisher
from tests.interop.lines import Lines
from tests.interop.matrix import cell as matrix_cell
from tests.interop.matrix import every
from tests.interop.peers import need_pyaeron
from tests.interop.rows import Cell
from tests.interop.stage import IPC, Driver, Stage, free_port, udp
from tests.waiting import until

MEDIA = pytest.mark.parametrize("medium", ["ipc", "udp"])
LAST_TERM = "|init-term-id=5|term-id=-2147483644|term-offset=65408"
POSITION_MAX = 65536 << 31
SENDING = [f"client.offer.{name}" for name in ("variants", "reserved_value", "vectored", "block", "try_claim", "abort")]
READING = [
    f"client.poll.{name}"
    for name in (
        "poll",
        "controlled",
        "bounded",
        "bounded_controlled",
        "controlled_peek",
        "block",
        "raw",
        "assemblers",
        "session_assemblers",
        "controlled_assemblers",
    )
]


def ours_is_client(each: Cell) -> bool:
    return each.ours == "client"


def outwards(each: Cell) -> bool:
    return each.ours == "client" and each.direction == "out"


def inwards(each: Cell) -> bool:
    return each.ours == "client" and each.direction == "in"


def channel_of(medium: str) -> str:
    return IPC if medium == "ipc" else udp(free_port())


def peer(stage: Stage, cell: Cell, role: Literal["publish", "subscribe"], driver: Driver, channel: str) -> Lines:
    """A real client's program."""
    arguments = calls.options(driver, channel)
    if cell.peer == "java":
        return stage.hosted(f"calls-{role}", arguments)
    command = [need_pyaeron(), "-m", "tests.interop.programs.calls_c", role, *arguments]
    return stage.process(f"c calls {role}", command, {"PYTHONPATH": os.getcwd()})


@pytest.fixture
def driver(stage: Stage, cell: Cell) -> Driver:
    """The peer's driver."""
    return stage.driver(cell.peer)


@pytest.fixture
def aeron(driver: Driver) -> Iterator[Aeron]:
    with Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
        yield aeron


def ask(program: Lines, word: str) -> int:
    """Tell a publisher one word; returns its position."""
    program.tell(word)
    return int(program.expect("DONE")["position"])


def fragments_of(subscriber: Lines, count: int) -> list[dict[str, str]]:
    names = Model().take(["offer:0"]).fragments[0].fields()
    said = [subscriber.expect("FRAGMENT") for _ in range(count)]
    return [{name: each[name] for name in names} for each in said]


@MEDIA
@every(*SENDING, where=outwards)
def test_the_real_client_reads_all_that_ours_sends(
    stage: Stage, cell: Cell, driver: Driver, aeron: Aeron, medium: str
) -> None:
    channel, model = channel_of(medium), Model().take(calls.WORDS)
    subscriber = peer(stage, cell, "subscribe", driver, channel)
    subscriber.expect("READY")
    publication = aeron.add_exclusive_publication(channel, 1001)
    ours = OurPublisher(publication)

    assert [ours.send(word) for word in calls.WORDS] == model.positions
    subscriber.tell("poll")
    assert fragments_of(subscriber, len(model.fragments)) == [each.fields() for each in model.fragments]


@every("client.offer.reserved_value", "client.offer.vectored", "client.offer.try_claim", where=outwards)
def test_the_real_client_reads_what_ours_sends_on_a_shared_publication(
    stage: Stage, cell: Cell, driver: Driver, aeron: Aeron
) -> None:
    words = [word for word in calls.WORDS if word.split(":")[0] not in ("padding", "block")]
    model = Model().take(words)
    subscriber = peer(stage, cell, "subscribe", driver, IPC)
    subscriber.expect("READY")
    ours = OurPublisher(aeron.add_publication(IPC, 1001))  # type: ignore[arg-type]

    assert [ours.send(word) for word in words] == model.positions
    subscriber.tell("poll")
    assert fragments_of(subscriber, len(model.fragments)) == [each.fields() for each in model.fragments]


# --- every way to read ---


class Readers:
    """One subscription to the same stream for each way to read."""

    def __init__(self, aeron: Aeron, channel: str, names: list[str]) -> None:
        self.subscriptions = {name: aeron.add_subscription(channel, 1001) for name in names}
        self.seen: list[Fragment] = []

    def image(self, name: str) -> Image:
        until(lambda: self.subscriptions[name].image_count == 1)
        return self.subscriptions[name].images[0]

    def note(self, buffer: FragmentView, header: Header) -> None:
        self.seen.append(
            Fragment(
                header.term_offset,
                len(buffer),
                header.flags,
                header.reserved_value,
                zlib.crc32(buffer),
                header.position,
            )
        )

    def collected(self, image: Image, end: int, turn: Callable[[], object]) -> list[Fragment]:
        """What one way of reading gave, on to a position."""
        self.seen = []

        def reached() -> bool:
            turn()
            return image.position >= end

        until(reached)
        return self.seen


def fragments_in(block: FragmentView) -> list[Fragment]:
    """The data frames of a block."""
    found, at, frames = [], 0, bytes(block)
    while at < len(frames):
        length, flags, kind, offset, reserved = struct.unpack_from("<ixBHi12xq", frames, at)
        payload = frames[at + 32 : at + length]
        if kind == 1:
            end = offset + calls.span(len(payload))
            found.append(Fragment(offset, len(payload), flags, reserved, zlib.crc32(payload), end))
        at += calls.span(length - 32)
    return found


def read_plainly(readers: Readers, subscription: Subscription, image: Image, name: str, end: int) -> list[Fragment]:
    """What one way to read fragments or blocks gives."""
    at_hand = iter(range(10_000))

    def controlled(buffer: FragmentView, header: Header) -> ControlledAction:
        number = next(at_hand)
        if number % 4 == 0:
            return ControlledAction.ABORT  # and it comes again
        readers.note(buffer, header)
        return (ControlledAction.BREAK, ControlledAction.COMMIT, ControlledAction.CONTINUE)[number % 3]

    def on_block(block: FragmentView, session_id: int, term_id: int) -> None:
        assert session_id == image.session_id
        assert term_id == image.initial_term_id
        readers.seen.extend(fragments_in(block))

    def on_raw(fileno: int, file_offset: int, block: FragmentView, session_id: int, term_id: int) -> None:
        assert os.pread(fileno, len(block), file_offset) == bytes(block)
        on_block(block, session_id, term_id)

    def bounded() -> None:
        image.bounded_poll(readers.note, image.position + 1)  # one fragment starts there

    turns: dict[str, Callable[[], object]] = {
        "poll": lambda: subscription.poll(readers.note, 2),
        "controlled": lambda: subscription.controlled_poll(controlled, 3),
        "bounded": bounded,
        "bounded_controlled": lambda: image.bounded_controlled_poll(controlled, end, 3),
        "block": lambda: subscription.block_poll(on_block, 2000),
        "raw": lambda: subscription.raw_poll(on_raw, 2000),
    }
    return readers.collected(image, end, turns[name])


def read_assembled(subscription: Subscription, image: Image, name: str, end: int) -> list[bytes]:
    """The messages that one kind of assembler gives."""
    seen: list[bytes] = []
    refusals = iter([True, False] * 1000)

    def keep(buffer: FragmentView, header: Header) -> None:
        assert header.flags == 0xC0
        assert header.frame_length == len(buffer) + 32
        seen.append(bytes(buffer))

    def keep_at_second(buffer: FragmentView, header: Header) -> ControlledAction:
        if next(refusals):
            return ControlledAction.ABORT
        keep(buffer, header)
        return ControlledAction.COMMIT

    poll: Callable[[], int]
    if name == "assemblers":
        plain, controlled = ImageFragmentAssembler(keep), ImageControlledFragmentAssembler(keep_at_second)
        poll = lambda: image.poll(plain, 3) if len(seen) < 3 else image.controlled_poll(controlled, 3)  # noqa: E731
    elif name == "session_assemblers":
        session = FragmentAssembler(keep)
        poll = lambda: subscription.poll(session, 3)  # noqa: E731
    else:
        both = ControlledFragmentAssembler(keep_at_second)
        poll = lambda: subscription.controlled_poll(both, 3)  # noqa: E731

    def reached() -> bool:
        poll()
        return image.position >= end

    until(reached)
    return seen


def await_peek(image: Image, end: int) -> None:
    until(lambda: image.controlled_peek(0, lambda buffer, header: ControlledAction.CONTINUE) == end)


@MEDIA
@every(*READING, where=inwards)
def test_ours_reads_in_every_way_what_the_real_client_sends(
    stage: Stage, cell: Cell, driver: Driver, aeron: Aeron, medium: str
) -> None:
    channel, model = channel_of(medium), Model().take(calls.WORDS)
    names = [row.rpartition(".")[2] for row in READING]
    readers = Readers(aeron, channel, names)
    publisher = peer(stage, cell, "publish", driver, channel)
    session = int(publisher.expect("READY")["session"])
    for name in names:
        assert readers.image(name).session_id == session
    assert [ask(publisher, word) for word in calls.WORDS] == model.positions

    end = model.positions[-1]
    for name in names:
        subscription, image = readers.subscriptions[name], readers.image(name)
        if name.endswith("assemblers"):
            assert read_assembled(subscription, image, name, end) == model.messages, name
        elif name == "controlled_peek":
            readers.seen = []
            await_peek(image, end)
            assert image.controlled_peek(0, readers.note) == end
            assert (readers.seen, image.position) == (model.fragments, 0)
        else:
            assert read_plainly(readers, subscription, image, name, end) == model.fragments, name


@matrix_cell("client.poll.controlled_peek", "client", "java", "in")
def test_our_peek_reaches_what_the_real_one_reaches(stage: Stage) -> None:
    cell = Cell("client", "java", "in")
    driver, model = stage.driver("java"), Model().take(calls.WORDS)
    subscriber = peer(stage, cell, "subscribe", driver, IPC)
    subscriber.expect("READY")
    with Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
        subscription = aeron.add_subscription(IPC, 1001)
        publisher = peer(stage, cell, "publish", driver, IPC)
        publisher.expect("READY")
        subscriber.expect("IMAGE")
        until(lambda: subscription.image_count == 1)
        for word in calls.WORDS:
            ask(publisher, word)

        starts = [0, *(each.position for each in model.fragments)]
        limits = [64, 65, 1500, 3168, 3200, 10_000, model.positions[-1], 2**62]
        for start in starts:
            for limit in limits:
                for stop_after in (1, 2, 1000):
                    subscriber.tell(f"peek:{start}:{limit}:{stop_after}")
                    theirs = int(subscriber.expect("PEEKED")["position"])
                    left = iter(range(1, 2000))

                    def handler(
                        buffer: FragmentView, header: Header, left: Iterator[int] = left, last: int = stop_after
                    ) -> ControlledAction:
                        return ControlledAction.BREAK if next(left) == last else ControlledAction.CONTINUE

                    ours = subscription.images[0].controlled_peek(start, handler, limit)
                    assert ours == theirs, (start, limit, stop_after)


@every("client.poll.unassembled_limits", where=inwards)
def test_a_real_message_that_does_not_end_is_bounded(stage: Stage, cell: Cell, driver: Driver, aeron: Aeron) -> None:
    subscription = aeron.add_subscription(IPC, 1001)
    publisher = peer(stage, cell, "publish", driver, IPC)
    publisher.expect("READY")
    until(lambda: subscription.image_count == 1)
    ask(publisher, "begin:12")
    ask(publisher, "offer:8192")
    seen: list[bytes] = []
    assembler = FragmentAssembler(lambda buffer, header: seen.append(bytes(buffer)))

    with pytest.raises(TooLongError, match="at most 8192"):
        until(lambda: subscription.poll(assembler, 100) < 0)
    until(lambda: subscription.poll(assembler, 100) >= 0 and len(seen) == 1)
    assert (seen, assembler.refused_count) == ([calls.pattern(8192)], 1)


# --- the end of a stream ---


@MEDIA
@every("life.revoke", where=outwards)
def test_the_real_client_sees_ours_revoke(stage: Stage, cell: Cell, driver: Driver, aeron: Aeron, medium: str) -> None:
    channel = channel_of(medium)
    subscriber = peer(stage, cell, "subscribe", driver, channel)
    subscriber.expect("READY")
    publication: ExclusivePublication = aeron.add_exclusive_publication(channel, 1001)
    OurPublisher(publication).send("offer:5")
    session = str(publication.session_id)
    subscriber.expect("IMAGE", session=session)
    publication.revoke()

    assert publication.offer(b"x") is OfferResult.CLOSED
    gone = subscriber.expect("GONE", session=session)
    assert (gone["revoked"], gone["position"]) == ("true", "0")


@MEDIA
@every("life.revoke", where=inwards)
def test_ours_sees_the_real_client_revoke(stage: Stage, cell: Cell, driver: Driver, aeron: Aeron, medium: str) -> None:
    channel = channel_of(medium)
    gone: list[Image] = []
    subscription = aeron.add_subscription(channel, 1001, None, gone.append)
    publisher = peer(stage, cell, "publish", driver, channel)
    session = int(publisher.expect("READY")["session"])
    until(lambda: subscription.image_count == 1)
    ask(publisher, "offer:5")
    ask(publisher, "revoke")

    until(lambda: len(gone) == 1)
    assert (gone[0].session_id, gone[0].is_publication_revoked, gone[0].position) == (session, True, 0)
    assert subscription.has_no_images


@every("life.max_position", where=outwards)
def test_the_real_client_reads_ours_to_the_last_position(
    stage: Stage, cell: Cell, driver: Driver, aeron: Aeron
) -> None:
    subscriber = peer(stage, cell, "subscribe", driver, IPC)
    subscriber.expect("READY")
    publication = aeron.add_exclusive_publication(IPC + LAST_TERM, 1001)
    ours = OurPublisher(publication)

    assert [ours.send(word) for word in ("offer:5", "offer:64", "claim:0", "padding:0")] == [
        POSITION_MAX - 64,
        *[OfferResult.MAX_POSITION_EXCEEDED] * 3,
    ]
    subscriber.tell("poll")
    assert subscriber.expect("FRAGMENT")["position"] == str(POSITION_MAX - 64)
    publication.close()
    gone = subscriber.expect("GONE")
    assert (gone["position"], gone["end"]) == (str(POSITION_MAX), "true")


@every("life.max_position", where=inwards)
def test_ours_reads_the_real_client_to_the_last_position(
    stage: Stage, cell: Cell, driver: Driver, aeron: Aeron
) -> None:
    gone: list[Image] = []
    subscription = aeron.add_subscription(IPC, 1001, None, gone.append)
    publisher = peer(stage, cell, "publish", driver, IPC + LAST_TERM)
    publisher.expect("READY")
    until(lambda: subscription.image_count == 1)
    assert [ask(publisher, word) for word in ("offer:5", "offer:64")] == [POSITION_MAX - 64, -5]
    publisher.tell("close") if cell.peer == "java" else publisher.close()

    positions: list[int] = []

    def ended() -> bool:
        subscription.poll(lambda buffer, header: positions.append(header.position))
        return len(gone) == 1

    until(ended)
    assert positions == [POSITION_MAX - 64]
    assert (gone[0].position, gone[0].is_end_of_stream) == (POSITION_MAX, True)
