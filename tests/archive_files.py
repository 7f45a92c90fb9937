"""Archive directories written frame by frame, and a decoder of them: from the layout alone, with none of our code."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

HEADER = struct.Struct("<iBBHiiiiq")
BEGIN, END = 0x80, 0x40
PADDING, DATA = 0, 1
VALID, INVALID, DELETED = 1, 0, 2


def aligned(length: int) -> int:
    return (length + 31) & ~31


@dataclass
class WrittenRecording:
    """Frames of one recording as a publisher would lay them out; whole terms, padded where a message does not fit."""

    recording_id: int = 0
    start_position: int = 0
    term_length: int = 1 << 16
    segment_length: int = 1 << 16
    initial_term_id: int = 7
    session_id: int = 11
    stream_id: int = 1001
    mtu: int = 1408
    channel: str = "aeron:ipc"
    source_identity: str = "aeron:ipc"
    state: int = VALID
    is_stopped: bool = True
    data: bytearray = field(default_factory=bytearray)

    @property
    def base(self) -> int:
        return self.start_position - self.start_position % self.term_length

    @property
    def position(self) -> int:
        return self.start_position + len(self.data)

    def frame(
        self, payload: bytes, *, flags: int = BEGIN | END, kind: int = DATA, length: int = -1, value: int = 0
    ) -> int:
        """Append one frame as it is told; returns its position."""
        at = self.position
        length = HEADER.size + len(payload) if length < 0 else length
        term_id = (self.initial_term_id + at // self.term_length + (1 << 31)) % (1 << 32) - (1 << 31)
        self.data += HEADER.pack(
            length, 0, flags, kind, at % self.term_length, self.session_id, self.stream_id, term_id, value
        )
        self.data += payload.ljust(aligned(length) - HEADER.size, b"\0")
        return at

    def pad(self, length: int) -> None:
        self.frame(b"", kind=PADDING, length=length)

    def message(self, payload: bytes, value: int = 0) -> int:
        """Append a message in as many frames as the MTU makes it; returns its position."""
        most = self.mtu - HEADER.size
        pieces = [payload[i : i + most] for i in range(0, len(payload), most)] or [b""]
        needed = sum(aligned(HEADER.size + len(piece)) for piece in pieces)
        left = self.term_length - self.position % self.term_length
        if needed > left:
            self.pad(left)
        at = self.position
        for index, piece in enumerate(pieces):
            first, last = index == 0, index == len(pieces) - 1
            self.frame(piece, flags=BEGIN * first | END * last, value=value)
        return at

    def entry(self) -> bytes:
        stop = self.position if self.is_stopped else -1
        texts = (self.channel, self.channel + "?alias=asked", self.source_identity)
        body = struct.pack(
            "<7q6i", 0, 0, self.recording_id, 1_700_000_000_123, 1_700_000_001_456 if self.is_stopped else -1,
            self.start_position, stop, self.initial_term_id, self.segment_length, self.term_length, self.mtu,
            self.session_id, self.stream_id,
        )  # fmt: skip
        body += b"".join(struct.pack("<I", len(text)) + text.encode() for text in texts)
        body = body.ljust((32 + len(body) + 63) // 64 * 64 - 32, b"\0")
        return struct.pack("<iii19xb", len(body), self.state, 0, 0) + body

    def write_segments(self, directory: Path) -> None:
        whole = bytes(self.start_position - self.base) + bytes(self.data)
        for at in range(0, max(len(whole), 1), self.segment_length):
            name = f"{self.recording_id}-{self.base + at}.rec"
            (directory / name).write_bytes(whole[at : at + self.segment_length].ljust(self.segment_length, b"\0"))


def write_archive(directory: Path, recordings: Iterable[WrittenRecording]) -> Path:
    """The catalog and all segment files."""
    directory.mkdir(parents=True, exist_ok=True)
    entries = [recording.entry() for recording in recordings]
    next_id = max((recording.recording_id for recording in recordings), default=-1) + 1
    header = struct.pack("<iiqi11xb", 3 << 16 | 1 << 8, 32, next_id, 64, 0)
    (directory / "archive.catalog").write_bytes((header + b"".join(entries)).ljust(1 << 16, b"\0"))
    for recording in recordings:
        if recording.state == VALID:
            recording.write_segments(directory)
    return directory


@dataclass(frozen=True)
class DecodedMessage:
    position: int
    end_position: int
    reserved_value: int
    fragments: int
    payload: bytes


def decode_sequentially(
    directory: Path, recording_id: int, start: int, stop: int, term_length: int
) -> list[DecodedMessage]:
    """All whole messages, one frame after the other over all segment files laid end to end."""
    files = sorted(directory.glob(f"{recording_id}-*.rec"), key=lambda path: int(path.stem.split("-")[1]))
    base = int(files[0].stem.split("-")[1])
    assert base == start - start % term_length
    data = b"".join(path.read_bytes() for path in files)
    found: list[DecodedMessage] = []
    open_at, open_value, pieces = -1, 0, list[bytes]()
    at = start
    while at < stop:
        length, _, flags, kind, offset, _, _, _, value = HEADER.unpack_from(data, at - base)
        assert length >= HEADER.size
        assert offset == at % term_length
        end = at + aligned(length)
        payload = data[at - base + HEADER.size : at - base + length]
        if kind == PADDING:
            open_at = -1
        elif flags & BEGIN:
            open_at, open_value, pieces = at, value, [payload]
        elif open_at >= 0:
            pieces.append(payload)
        if kind == DATA and flags & END and open_at >= 0:
            found.append(DecodedMessage(open_at, end, open_value, len(pieces), b"".join(pieces)))
            open_at = -1
        at = end
    return found
