"""Any sequence of appends leaves the bytes, tails and results that the format's rules say.

The rules stand here once more, in plain Python over a list of frames, without a look at the C core.
"""

from __future__ import annotations

import struct
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aeronpy._core.native import LogAppender, LogBuffer, LogClaim
from aeronpy.errors import TooLongError

TERM = 65536
SESSION, STREAM = -77, 1001
NOT_CONNECTED, BACK_PRESSURED, ADMIN_ACTION, MAX_POSITION_EXCEEDED = -1, -2, -3, -5
TOO_LONG = 0
PAD, DATA = 0, 1
LAST_TERM = 2**31 - 1
PATTERN = bytes((i * 7 + i // 251) & 255 for i in range(70000))


def align(length: int) -> int:
    return (length + 31) // 32 * 32


def wrap(term_id: int) -> int:
    return (term_id + 2**31) % 2**32 - 2**31


@dataclass
class Frame:
    offset: int
    length: int  # negative while it is claimed
    flags: int
    kind: int
    payload: bytes = b""


@dataclass
class Model:
    """One log by the book. Offsets are not clamped, as in the raw tails."""

    mtu: int
    initial_term_id: int
    count: int
    offset: int
    limit: int = 0
    is_connected: bool = False
    terms: dict[int, list[Frame]] = field(default_factory=dict)

    @property
    def position(self) -> int:
        return self.count * TERM + min(self.offset, TERM)

    @property
    def message_max(self) -> int:
        return min(TERM // 8, 16 * 1024 * 1024)

    def required(self, length: int) -> int:
        payload_max = self.mtu - 32
        if length <= payload_max:
            return align(length + 32)
        full, rest = divmod(length, payload_max)
        return full * self.mtu + (align(rest + 32) if rest else 0)

    def refusal(self, length: int) -> int | None:
        if self.position < self.limit:
            return None
        if self.position + align(length + 32) >= TERM << 31:
            return MAX_POSITION_EXCEEDED
        return BACK_PRESSURED if self.is_connected else NOT_CONNECTED

    def take(self, required: int) -> tuple[int, int]:
        """The result, and where the space is when that is a position."""
        start = min(self.offset, TERM)
        if start + required <= TERM:
            self.offset = start + required
            return self.position, start
        if start < TERM:
            self.frames().append(Frame(start, TERM - start, 0xC0, PAD))
        self.offset = TERM
        if self.count == LAST_TERM:
            return MAX_POSITION_EXCEEDED, -1
        self.count, self.offset = self.count + 1, 0
        return ADMIN_ACTION, -1

    def frames(self) -> list[Frame]:
        return self.terms.setdefault(self.count, [])

    def offer(self, message: bytes) -> int:
        if (refused := self.refusal(len(message))) is not None:
            return refused
        if len(message) > max(self.mtu - 32, self.message_max):
            return TOO_LONG
        result, at = self.take(self.required(len(message)))
        if result > 0:
            pieces = [message[i : i + self.mtu - 32] for i in range(0, len(message), self.mtu - 32)] or [b""]
            for index, piece in enumerate(pieces):
                flags = (0x80 if index == 0 else 0) | (0x40 if index == len(pieces) - 1 else 0)
                self.frames().append(Frame(at, len(piece) + 32, flags, DATA, piece))
                at += align(len(piece) + 32)
        return result

    def one_frame(self, length: int, longest: int, frame: Frame) -> int:
        if length > longest:
            return TOO_LONG
        if (refused := self.refusal(length)) is not None:
            return refused
        result, frame.offset = self.take(align(length + 32))
        if result > 0:
            self.frames().append(frame)
        return result

    def image(self, count: int) -> bytes:
        """All bytes of a term."""
        term = bytearray(TERM)
        for frame in self.terms.get(count, []):
            term_id = wrap(self.initial_term_id + count)
            header = (frame.length, 0, frame.flags, frame.kind, frame.offset, SESSION, STREAM, term_id)
            struct.pack_into("<iBBHiiii", term, frame.offset, *header)
            term[frame.offset + 32 : frame.offset + 32 + len(frame.payload)] = frame.payload
        return bytes(term)


class Pair:
    """The log and its model, driven alike."""

    def __init__(self, log: LogBuffer, model: Model, exclusive: bool) -> None:
        self.log, self.model, self.exclusive = log, model, exclusive
        self.limit = array("q", [0])
        self.appender = LogAppender(log, self.limit, exclusive=exclusive)
        self.claims: list[tuple[LogClaim, Frame]] = []
        self.cleaned = model.count * TERM
        self.sequence = 0

    def message(self, length: int) -> bytes:
        self.sequence += 1
        return PATTERN[self.sequence % 256 :][:length]

    def offer(self, lengths: list[int]) -> None:
        parts = [self.message(length) for length in lengths]
        expected = self.model.offer(b"".join(parts))
        if expected == TOO_LONG:
            with pytest.raises(TooLongError):
                self.appender.offer(*parts)
        else:
            assert self.appender.offer(*parts) == expected

    def claim(self, length: int) -> None:
        frame = Frame(0, -(length + 32), 0xC0, DATA)
        expected = self.model.one_frame(length, self.model.mtu - 32, frame)
        if expected == TOO_LONG:
            with pytest.raises(TooLongError):
                self.appender.claim(length)
            return
        result, claim = self.appender.claim(length)
        assert result == expected
        assert (claim is None) == (result < 0)
        if claim is not None:
            frame.payload = self.message(length)
            claim.buffer[:] = frame.payload
            self.claims.append((claim, frame))

    def end_claim(self, commit: bool) -> None:
        if self.claims:
            claim, frame = self.claims.pop(self.sequence % len(self.claims))
            frame.length = -frame.length
            if commit:
                claim.commit()
            else:
                claim.abort()
                frame.kind = PAD

    def pad(self, length: int) -> None:
        if not self.exclusive:
            return
        longest = self.model.required(self.model.message_max)
        expected = self.model.one_frame(length, longest, Frame(0, length + 32, 0xC0, PAD))
        if expected == TOO_LONG:
            with pytest.raises(TooLongError):
                self.appender.append_padding(length)
        else:
            assert self.appender.append_padding(length) == expected

    def set_limit(self, ahead: int, connected: bool) -> None:
        self.limit[0] = self.model.limit = max(self.model.position + ahead, 0)
        self.log.is_connected = self.model.is_connected = connected

    def clean(self) -> None:
        """As a driver does: one term stays readable behind the producer's. Claims there are ended before."""
        while self.cleaned < (self.model.count - 1) * TERM:
            while self.claims:
                self.end_claim(True)
            self.model.terms.pop(self.cleaned // TERM, None)
            before, self.cleaned = self.cleaned, self.log.clean(self.cleaned, (self.model.count - 1) * TERM)
            assert before < self.cleaned

    def check(self) -> None:
        model, fields = self.model, self.log.fields()
        assert self.appender.position == self.log.producer_position == model.position
        assert fields["active_term_count"] == model.count
        tail = fields["tails"][model.count % 3]
        assert tail >> 32 == wrap(model.initial_term_id + model.count)
        assert min(tail & 0xFFFFFFFF, TERM) == min(model.offset, TERM)

    def check_bytes(self) -> None:
        for count in range(max(self.model.count - 2, 0), self.model.count + 1):
            assert bytes(self.log.term(count % 3)) == self.model.image(count), f"term {count}"


@contextmanager
def pair_of(mtu: int, initial_term_id: int, count: int, offset: int, exclusive: bool) -> Iterator[Pair]:
    with (
        tempfile.TemporaryDirectory(prefix="aeronpy-log-", dir="/dev/shm") as directory,
        LogBuffer.create(
            Path(directory) / "log",
            term_length=TERM,
            mtu_length=mtu,
            session_id=SESSION,
            stream_id=STREAM,
            initial_term_id=initial_term_id,
            term_id=wrap(initial_term_id + count),
            term_offset=offset,
        ) as log,
    ):
        pair = Pair(log, Model(mtu, initial_term_id, count, offset), exclusive)
        pair.set_limit(1 << 40, True)
        yield pair


lengths = st.one_of(st.integers(0, 200), st.integers(1300, 1500), st.integers(0, 8300))
operations = st.one_of(
    st.tuples(st.just("offer"), st.lists(lengths, min_size=0, max_size=4), st.integers(1, 30)),
    st.tuples(st.just("offer"), st.lists(lengths, min_size=1, max_size=1), st.integers(1, 60)),
    st.tuples(st.just("claim"), st.integers(0, 1500), st.integers(1, 10)),
    st.tuples(st.just("end_claim"), st.booleans(), st.integers(1, 4)),
    st.tuples(st.just("pad"), st.integers(0, 9000), st.integers(1, 3)),
    st.tuples(st.just("limit"), st.tuples(st.integers(-64, 40000), st.booleans()), st.just(1)),
)
starts = st.one_of(st.integers(0, 5), st.integers(LAST_TERM - 2, LAST_TERM))


def run(pair: Pair, sequence: list[tuple[str, object, int]]) -> None:
    for name, argument, times in sequence:
        for _ in range(times):
            match name, argument:
                case "offer", list(parts):
                    pair.offer(parts)
                case "claim", int(length):
                    pair.claim(length)
                case "end_claim", bool(commit):
                    pair.end_claim(commit)
                case "pad", int(length):
                    pair.pad(length)
                case "limit", (int(ahead), bool(connected)):
                    pair.set_limit(ahead, connected)
                case _:
                    raise AssertionError(name)
            pair.clean()
        pair.check()
    pair.check_bytes()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    mtu=st.sampled_from([64, 288, 1408, 4096, 65504]),
    initial_term_id=st.sampled_from([0, 7, -(2**31), 2**31 - 1, -3]),
    count=starts,
    offset=st.sampled_from([0, 4096, TERM - 1024, TERM - 32, TERM]),
    exclusive=st.booleans(),
    sequence=st.lists(operations, max_size=25),
)
@example(mtu=1408, initial_term_id=7, count=0, offset=0, exclusive=False, sequence=[("offer", [1000], 70)])
@example(
    mtu=1408, initial_term_id=7, count=LAST_TERM, offset=TERM - 1024, exclusive=True, sequence=[("offer", [1000], 5)]
)
@example(
    mtu=1408, initial_term_id=7, count=LAST_TERM, offset=TERM - 1024, exclusive=False, sequence=[("offer", [1000], 5)]
)
def test_any_sequence_of_appends_follows_the_rules(
    *, mtu: int, initial_term_id: int, count: int, offset: int, exclusive: bool, sequence: list[tuple[str, object, int]]
) -> None:
    with pair_of(mtu, initial_term_id, count, offset, exclusive) as pair:
        run(pair, sequence)


def scan_by_the_book(frames: list[Frame], offset: int, bytes_max: int) -> tuple[int, int]:
    """What one datagram may carry: whole published frames; of padding its header, which ends it unless that is all."""
    limit = min(bytes_max, TERM - offset)
    taken = 0
    for frame in (frame for frame in frames if frame.offset >= offset):
        if frame.length < 0 or taken >= limit:
            break
        step = 32 if frame.kind == PAD else align(frame.length)
        if taken + step > limit:
            return (taken, 0) if taken else (-step, 0)
        taken += step
        if frame.kind == PAD and align(frame.length) > 32:
            return taken, align(frame.length) - 32
    return taken, 0


def block_by_the_book(frames: list[Frame], offset: int, bytes_max: int) -> int:
    """A run of whole published frames; padding alone, and whole."""
    end = offset
    for frame in (frame for frame in frames if frame.offset >= offset):
        if frame.length < 0 or end >= offset + bytes_max:
            break
        if frame.kind == PAD:
            return align(frame.length) if end == offset else end - offset
        if frame.offset + align(frame.length) > offset + bytes_max:
            break
        end = frame.offset + align(frame.length)
    return end - offset


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(sequence=st.lists(operations, max_size=12), bytes_max=st.integers(0, 70000), exclusive=st.booleans())
def test_scans_see_what_the_rules_say_from_every_frame(
    sequence: list[tuple[str, object, int]], bytes_max: int, exclusive: bool
) -> None:
    with pair_of(1408, 3, 0, 0, exclusive) as pair:
        run(pair, sequence)
        count = pair.model.count
        frames = pair.model.terms.get(count, [])
        for frame in frames:
            position = count * TERM + frame.offset
            assert pair.log.scan(position, bytes_max) == scan_by_the_book(frames, frame.offset, bytes_max)
            assert pair.log.block_scan(position, bytes_max) == block_by_the_book(frames, frame.offset, bytes_max)
