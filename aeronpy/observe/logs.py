"""A log buffer's file as an inspector sees it: its metadata, and the frames of its terms (spec: shared memory, 1).

Everything is read, not mapped: looking at a sparse log takes no memory of its file system, and a file that is cut
short meanwhile is an error instead of a signal.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from types import TracebackType
from typing import Final, Self

from aeronpy.errors import ArgumentError, CorruptError, StateError
from aeronpy.observe.files import IMAGES, PUBLICATIONS, open_file

PARTITIONS: Final = 3
METADATA_BYTES: Final = 4096
HEADER_BYTES: Final = 32
FRAME_ALIGNMENT: Final = 32
TERM_MIN: Final = 64 * 1024
TERM_MAX: Final = 1 << 30
PAD, DATA = 0, 1
_WINDOW_BYTES: Final = 256 * 1024

# Name, offset in the metadata, and struct format of each field.
_FIELDS: Final = (
    ("active_term_count", 24, "i"),
    ("end_of_stream_position", 128, "q"),
    ("is_connected", 136, "i"),
    ("active_transport_count", 140, "i"),
    ("correlation_id", 256, "q"),
    ("initial_term_id", 264, "i"),
    ("default_header_length", 268, "i"),
    ("mtu_length", 272, "i"),
    ("term_length", 276, "i"),
    ("page_size", 280, "i"),
    ("publication_window_length", 284, "i"),
    ("receiver_window_length", 288, "i"),
    ("socket_sndbuf_length", 292, "i"),
    ("os_default_sndbuf_length", 296, "i"),
    ("os_max_sndbuf_length", 300, "i"),
    ("socket_rcvbuf_length", 304, "i"),
    ("os_default_rcvbuf_length", 308, "i"),
    ("os_max_rcvbuf_length", 312, "i"),
    ("max_resend", 316, "i"),
    ("entity_tag", 448, "q"),
    ("response_correlation_id", 456, "q"),
    ("linger_timeout_ns", 464, "q"),
    ("untethered_window_limit_timeout_ns", 472, "q"),
    ("untethered_resting_timeout_ns", 480, "q"),
    ("group", 488, "B"),
    ("is_response", 489, "B"),
    ("rejoin", 490, "B"),
    ("reliable", 491, "B"),
    ("sparse", 492, "B"),
    ("signal_eos", 493, "B"),
    ("spies_simulate_connection", 494, "B"),
    ("tether", 495, "B"),
    ("is_publication_revoked", 496, "B"),
    ("type", 497, "B"),
    ("untethered_linger_timeout_ns", 500, "q"),
)
_DEFAULT_HEADER_AT: Final = 320
_HEADER: Final = struct.Struct("<iBBhiiiiq")


def align(value: int, to: int) -> int:
    """The next multiple of a power of two."""
    return (value + to - 1) & ~(to - 1)


def _int32(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """The 32 bytes before a payload. ``frame_length`` is 0 where nothing is, negative while it is being written."""

    frame_length: int
    version: int
    flags: int
    type: int
    term_offset: int
    session_id: int
    stream_id: int
    term_id: int
    reserved_value: int


@dataclass(frozen=True, slots=True)
class Frame:
    """A header, where in its term it stands, and as much of its payload as was asked for."""

    offset: int
    header: FrameHeader
    payload: bytes


@dataclass(frozen=True, slots=True)
class Tail:
    """The tail of a partition: where the next frame goes. The raw offset may stand beyond the term's end."""

    partition: int
    raw: int
    term_id: int
    term_offset: int
    position: int


@dataclass(frozen=True, slots=True)
class LogMetadata:
    """What the last 4096 bytes of a log say; fields that drivers before 1.47 lack are 0."""

    fields: dict[str, int]
    default_header: FrameHeader
    tails: tuple[Tail, ...]

    @property
    def term_length(self) -> int:
        """Bytes of a term."""
        return self.fields["term_length"]

    @property
    def position_shift(self) -> int:
        """log2 of the term length."""
        return self.term_length.bit_length() - 1

    @property
    def initial_term_id(self) -> int:
        """The id of the term that starts at position 0."""
        return self.fields["initial_term_id"]

    @property
    def receiver_window(self) -> int:
        """Bytes that an image lets its sender be ahead of its subscribers: as asked for, and at most half a term."""
        return min(self.fields["receiver_window_length"], self.term_length // 2)

    @property
    def active_partition(self) -> int:
        """Which partition publishers write to."""
        return self.fields["active_term_count"] % PARTITIONS


def _tail(partition: int, raw: int, term_length: int, initial_term_id: int) -> Tail:
    term_id, term_offset = raw >> 32, raw & 0xFFFFFFFF
    count = _int32(term_id - initial_term_id)
    return Tail(partition, raw, term_id, term_offset, count * term_length + min(term_offset, term_length))


def _metadata(path: str, block: bytes, file_length: int) -> LogMetadata:
    fields = {name: struct.unpack_from("<" + kind, block, at)[0] for name, at, kind in _FIELDS}
    term_length, page_size = fields["term_length"], fields["page_size"]
    if not TERM_MIN <= term_length <= TERM_MAX or term_length & (term_length - 1):
        raise CorruptError(
            f"{path} is no log: its term length of {term_length} is not a power of two from {TERM_MIN} to {TERM_MAX}"
        )
    if not METADATA_BYTES <= page_size <= TERM_MAX or page_size & (page_size - 1):
        raise CorruptError(f"{path} is no log: its page size of {page_size} is not a power of two from 4096")
    if file_length < PARTITIONS * term_length + METADATA_BYTES:
        needed = align(PARTITIONS * term_length + METADATA_BYTES, page_size)
        raise CorruptError(f"{path} has {file_length} bytes: with terms of {term_length} it must have {needed}")
    initial = fields["initial_term_id"]
    tails = struct.unpack_from("<3q", block, 0)
    return LogMetadata(
        fields,
        FrameHeader(*_HEADER.unpack_from(block, _DEFAULT_HEADER_AT)),
        tuple(_tail(partition, raw, term_length, initial) for partition, raw in enumerate(tails)),
    )


class LogFile:
    """An open log file, to look at while publishers and drivers go on. Belongs to one thread."""

    def __init__(self, path: str | PathLike[str]) -> None:
        """Raises NotFoundError, CorruptError where the file cannot be a log, SystemCallError."""
        self.path = os.fspath(path)
        self._stack = ExitStack()
        self._file: int | None = self._stack.enter_context(open_file(self.path))
        self._window, self._window_at = b"", 0
        try:
            self.length = os.fstat(self._file).st_size
            self.metadata = self._read_metadata()
        except BaseException:
            self.close()
            raise

    def _read_metadata(self) -> LogMetadata:
        smallest = PARTITIONS * TERM_MIN + METADATA_BYTES
        if self.length < smallest:
            raise CorruptError(f"{self.path} is no log: it has {self.length} bytes, the smallest has {smallest}")
        return _metadata(self.path, self._read(self.length - METADATA_BYTES, METADATA_BYTES), self.length)

    def _read(self, at: int, length: int) -> bytes:
        if self._file is None:
            raise StateError(f"{self.path} is closed")
        block = os.pread(self._file, length, at)
        if len(block) < length:
            raise CorruptError(f"{self.path} ends at {at + len(block)}: it was cut short while being read")
        return block

    def read_term(self, partition: int, offset: int, length: int) -> bytes:
        """Bytes of a term, as they are at that moment; ArgumentError where they are not within it."""
        term_length = self.metadata.term_length
        if not (0 <= partition < PARTITIONS and 0 <= offset <= offset + length <= term_length):
            raise ArgumentError(f"{length} bytes at {offset} of partition {partition}: terms have {term_length}")
        start = partition * term_length + offset
        if not (self._window_at <= start and start + length <= self._window_at + len(self._window)):
            rest = term_length - offset
            self._window, self._window_at = self._read(start, min(max(length, _WINDOW_BYTES), rest)), start
        begin = start - self._window_at
        return self._window[begin : begin + length]

    def header(self, partition: int, offset: int) -> FrameHeader:
        """The header at an offset."""
        return FrameHeader(*_HEADER.unpack(self.read_term(partition, offset, HEADER_BYTES)))

    def frames(self, partition: int, *, payload_max: int = TERM_MAX, over_zeroes: bool = False) -> Iterator[Frame]:
        """Yield the frames of a term from its start, and last whatever stands where they end.

        That last one has a length below 32: nothing was written there, or it is being written, or broken; its
        payload is what follows in the term. With ``over_zeroes`` the search goes on behind lengths of 0.
        """
        term_length, offset = self.metadata.term_length, 0
        while offset < term_length:
            header = self.header(partition, offset)
            left = term_length - offset - HEADER_BYTES
            if header.frame_length == 0 and over_zeroes:
                yield Frame(offset, header, b"")
                offset += FRAME_ALIGNMENT
                continue
            ends = header.frame_length < HEADER_BYTES
            length = min(left if ends else header.frame_length - HEADER_BYTES, left, payload_max)
            yield Frame(offset, header, self.read_term(partition, offset + HEADER_BYTES, length))
            if ends:
                return
            offset += align(header.frame_length, FRAME_ALIGNMENT)

    def gaps(self, position: int, end: int, *, gaps_max: int = 16) -> list[tuple[int, int]]:
        """Holes of an image between two stream positions, as (position, bytes), the first few of them."""
        term_length, shift = self.metadata.term_length, self.metadata.position_shift
        if end - position > term_length:  # the term before it may be written over meanwhile
            position = end - term_length
        found: list[tuple[int, int]] = []
        start: int | None = None
        while position < end and len(found) < gaps_max:
            partition, offset = (position >> shift) % PARTITIONS, position & (term_length - 1)
            length = self.header(partition, offset).frame_length
            if length > 0:
                if start is not None:
                    found.append((start, position - start))
                    start = None
                position += min(align(length, FRAME_ALIGNMENT), term_length - offset)
            else:
                start = position if start is None else start
                position += FRAME_ALIGNMENT
        if start is not None and len(found) < gaps_max:
            found.append((start, end - start))
        return found

    def close(self) -> None:
        """Let the file go. Twice is fine."""
        self._file = None
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def log_paths(aeron_dir: str | PathLike[str]) -> list[str]:
    """The log files of a directory, publications first, each kind by age of its id; empty where there are none."""
    found = []
    for kind in (PUBLICATIONS, IMAGES):
        folder = os.path.join(os.fspath(aeron_dir), kind)
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        numbered = sorted((int(stem), name) for name in names if (stem := _stem(name)) is not None)
        found += [os.path.join(folder, name) for _, name in numbered]
    return found


def _stem(name: str) -> str | None:
    found = re.fullmatch(r"(-?[0-9]{1,19})\.logbuffer", name)
    return None if found is None else found[1]


def find_log(aeron_dir: str | PathLike[str], registration_id: int) -> str | None:
    """The log of a publication or an image by its id, or None."""
    for kind in (PUBLICATIONS, IMAGES):
        path = os.path.join(os.fspath(aeron_dir), kind, f"{registration_id}.logbuffer")
        if os.path.exists(path):
            return path
    return None
