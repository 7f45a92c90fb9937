"""Archive directories written with nothing but struct, from the format's description: what the readers are held to.

A `Tape` plays the publication: it cuts messages at the MTU, pads and rotates terms, and keeps what a reader must give.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HEADER: Final = struct.Struct("<iBBHiiiiq")
BEGIN, END, WHOLE = 0x80, 0x40, 0xC0
DATA, PADDING = 1, 0
INVALID, VALID, DELETED = 0, 1, 2
TERM: Final = 65536
VERSION: Final = 3 << 16 | 1 << 8
NOW_MS: Final = 1_800_000_000_000


def align(value: int, to: int) -> int:
    return -(-value // to) * to


def wrap(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


@dataclass(frozen=True)
class Written:
    """A message as a reader must give it."""

    position: int
    end_position: int
    payload: bytes
    reserved_value: int
    fragments: int
    flags: int


@dataclass
class Tape:
    """One recording in the making: its bytes from the base of its first segment on."""

    recording_id: int = 0
    start_position: int = 0
    initial_term_id: int = 5
    term_length: int = TERM
    segment_length: int = 2 * TERM
    stream_id: int = 1001
    session_id: int = 42
    mtu: int = 1408
    stop_position: int | None = None  # where the tape ends unless told
    state: int = VALID
    checksum: int = 0
    channel: str = "aeron:ipc?alias=tape"
    frame_session_id: int | None = None
    messages: list[Written] = field(default_factory=list)
    frame_count: int = 0
    data: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.base = self.start_position - self.start_position % self.term_length
        self.position = self.start_position
        self.data += bytes(self.start_position - self.base)

    def fragment(self, payload: bytes, flags: int, reserved_value: int = 0) -> int:
        """Append a data frame with these flags, whatever came before; returns its position."""
        return self.frame(flags, DATA, HEADER.size + len(payload), payload, reserved_value)

    def frame(self, flags: int, kind: int, length: int, payload: bytes = b"", reserved_value: int = 0) -> int:
        """Append a frame of that length as it is; returns its position."""
        at = self.position
        session_id = self.session_id if self.frame_session_id is None else self.frame_session_id
        term_id = wrap(self.initial_term_id + at // self.term_length)
        offset = at % self.term_length
        header = HEADER.pack(length, 0, flags, kind, offset, session_id, self.stream_id, term_id, reserved_value)
        self.data += (header + payload).ljust(align(length, 32), b"\0")
        self.position += align(length, 32)
        self.frame_count += 1
        return at

    def pad(self, length: int) -> int:
        """Append a padding frame."""
        return self.frame(WHOLE, PADDING, length)

    def message(self, payload: bytes, reserved_value: int = 0) -> Written:
        """Append a message as a publication would."""
        payload_max = self.mtu - 32
        pieces = [payload[i : i + payload_max] for i in range(0, len(payload), payload_max)] or [b""]
        needed = sum(align(len(piece) + 32, 32) for piece in pieces)
        assert needed <= self.term_length // 2
        left = self.term_length - self.position % self.term_length
        if needed > left:
            self.pad(left)
        positions = []
        for index, piece in enumerate(pieces):
            flags = (BEGIN if index == 0 else 0) | (END if index == len(pieces) - 1 else 0)
            positions.append(self.frame(flags, DATA, len(piece) + 32, piece, reserved_value))
        first_flags = WHOLE if len(pieces) == 1 else BEGIN
        written = Written(positions[0], self.position, payload, reserved_value, len(pieces), first_flags)
        self.messages.append(written)
        return written

    def offset_of(self, position: int) -> int:
        return position - self.base

    def segment_paths(self, directory: Path) -> list[Path]:
        """The files that hold a byte of it, and one where there is none."""
        count = max(-(-len(self.data) // self.segment_length), 1)
        return [
            directory / f"{self.recording_id}-{self.base + index * self.segment_length}.rec" for index in range(count)
        ]

    def write(self, directory: Path) -> None:
        """Write its segment files, full length as an archive lays them out."""
        for index, path in enumerate(self.segment_paths(directory)):
            part = self.data[index * self.segment_length : (index + 1) * self.segment_length]
            with path.open("wb") as file:
                file.write(part)
                file.truncate(self.segment_length)

    def entry(self) -> bytes:
        """Its catalog entry without the header."""
        stop = self.position if self.stop_position is None else self.stop_position
        stopped_ms = -1 if stop == -1 else 2000
        numbers = (0, 0, self.recording_id, 1000, stopped_ms, self.start_position, stop, self.initial_term_id)
        lengths = (self.segment_length, self.term_length, self.mtu, self.session_id, self.stream_id)
        strings = (self.channel, self.channel + "|x=y", "127.0.0.1:9")
        texts = b"".join(struct.pack("<I", len(text)) + text.encode() for text in strings)
        return struct.pack("<qqqqqqqiiiiii", *numbers, *lengths) + texts


def catalog_bytes(tapes: list[Tape], *, version: int = VERSION, next_recording_id: int | None = None) -> bytes:
    following = max((tape.recording_id for tape in tapes), default=-1) + 1
    next_id = following if next_recording_id is None else next_recording_id
    data = struct.pack("<iiqi", version, 32, next_id, 64).ljust(32, b"\0")
    for tape in tapes:
        entry = tape.entry()
        length = align(32 + len(entry), 64) - 32
        data += struct.pack("<iii", length, tape.state, tape.checksum).ljust(32, b"\0") + entry.ljust(length, b"\0")
    return data.ljust(align(len(data) + 64, 4096), b"\0")


def write_archive(directory: Path, *tapes: Tape, next_recording_id: int | None = None) -> Path:
    """Write catalog and segments of all tapes."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "archive.catalog").write_bytes(catalog_bytes(list(tapes), next_recording_id=next_recording_id))
    for tape in tapes:
        if tape.state == VALID:
            tape.write(directory)
    return directory


def write_mark_file(
    path: Path, *, activity_ms: int, aeron_dir: str = "", archive_id: int = 9, version: int = VERSION
) -> None:
    """Write a mark file without errors in its log."""
    data = struct.pack("<HHHH", 128, 200, 100, 2)
    data += struct.pack("<i4xqqqiiiii4xq", version, activity_ms, 1, 77, 10, 11, 30, 8192, 4096, archive_id)
    data = data.ljust(136, b"\0")
    for text in ("aeron:udp?endpoint=localhost:8010", "aeron:ipc", "", aeron_dir):
        data += struct.pack("<I", len(text)) + text.encode()
    path.write_bytes(data.ljust(8192 + 4096, b"\0"))


def recording_counter_key(recording_id: int, session_id: int, stream_id: int, source: str, archive_id: int) -> bytes:
    """Key of a recording position counter: the archive id follows the source unaligned."""
    return struct.pack("<qii", recording_id, session_id, len(source)) + source.encode() + struct.pack("<q", archive_id)


def decode_sequentially(directory: Path, recording_id: int, start: int, stop: int, term_length: int) -> list[Written]:
    """All whole messages, one frame after the other over all segment files laid end to end."""
    files = sorted(directory.glob(f"{recording_id}-*.rec"), key=lambda path: int(path.stem.split("-")[1]))
    base = int(files[0].stem.split("-")[1])
    assert base == start - start % term_length
    data = b"".join(path.read_bytes() for path in files)
    return decode_messages(data[start - base : stop - base], start, term_length)


def decode_messages(data: bytes, base: int, term_length: int) -> list[Written]:
    """A reader of its own, the plainest there is: whole messages in the bytes from position ``base`` on."""
    messages: list[Written] = []
    open_parts: list[tuple[int, int, int, bytes]] = []
    at = 0
    while at < len(data):
        length, _, flags, kind, _, _, _, _, reserved_value = HEADER.unpack_from(data, at)
        position = base + at
        at += align(length, 32)
        if kind == PADDING or flags & BEGIN or position % term_length == 0:
            open_parts = []
        if kind == PADDING:
            continue
        if flags & BEGIN or open_parts:
            open_parts.append((position, reserved_value, flags, data[at - align(length, 32) + 32 :][: length - 32]))
        if flags & END and open_parts:
            payload = b"".join(part[3] for part in open_parts)
            first = open_parts[0]
            messages.append(Written(first[0], base + at, payload, first[1], len(open_parts), first[2]))
            open_parts = []
    return messages
