"""The catalog of an archive, as its one writer: ``archive.catalog`` (spec: archive, section 2.3).

Readers may map the file meanwhile. They rely on two orders: an entry is complete before the header's next
recording id covers it, and a stop position is stored after its timestamp, in one aligned store of eight bytes.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Final

from aeronpy._core import native
from aeronpy.errors import ArgumentError, CapacityError, CorruptError, NotFoundError, StateError, VersionError

CATALOG_FILE_NAME: Final = "archive.catalog"
FILE_VERSION: Final = 3 << 16 | 1 << 8
NULL_POSITION: Final = -1
NULL_TIMESTAMP: Final = -1
DEFAULT_CAPACITY: Final = 1 << 20
MAX_CAPACITY: Final = (1 << 31) - 1
ALIGNMENT: Final = 64

_HEADER: Final = struct.Struct("<iiqi11xb")
_NEXT_RECORDING_ID: Final = 8
_ENTRY_HEADER: Final = struct.Struct("<iii19xb")
_DESCRIPTOR: Final = struct.Struct("<7q6i")
_ENTRY_LENGTH, _ENTRY_STATE, _ENTRY_CHECKSUM = 0, 4, 8
_CONTROL_SESSION_ID, _STOP_TIMESTAMP, _STOP_POSITION, _SESSION_ID = 32, 64, 80, 104
_STRINGS: Final = 112


class RecordingState(IntEnum):
    """Whether an entry may be trusted."""

    INVALID = 0
    VALID = 1
    DELETED = 2


@dataclass(frozen=True, slots=True)
class RecordingDescriptor:
    """One entry. Positions in bytes, timestamps in epoch ms; both stops are -1 while the recording runs."""

    recording_id: int
    start_timestamp: int
    stop_timestamp: int
    start_position: int
    stop_position: int
    initial_term_id: int
    segment_file_length: int
    term_buffer_length: int
    mtu_length: int
    session_id: int
    stream_id: int
    stripped_channel: str
    original_channel: str
    source_identity: str
    control_session_id: int = 0
    correlation_id: int = 0

    def encode(self) -> bytes:
        """The block and its strings, without the entry's header."""
        block = _DESCRIPTOR.pack(
            self.control_session_id,
            self.correlation_id,
            self.recording_id,
            self.start_timestamp,
            self.stop_timestamp,
            self.start_position,
            self.stop_position,
            self.initial_term_id,
            self.segment_file_length,
            self.term_buffer_length,
            self.mtu_length,
            self.session_id,
            self.stream_id,
        )
        texts = (self.stripped_channel, self.original_channel, self.source_identity)
        return block + b"".join(struct.pack("<I", len(text)) + text.encode("ascii") for text in texts)


def decode_descriptor(entry: bytes | memoryview) -> RecordingDescriptor:
    """The descriptor of an entry, header included; CorruptError when its strings run past its end."""
    data = bytes(entry)
    values = _DESCRIPTOR.unpack_from(data, _ENTRY_HEADER.size)
    texts, at = [], _STRINGS
    for _ in range(3):
        (length,) = struct.unpack_from("<I", data, at)
        if at + 4 + length > len(data):
            raise CorruptError(f"catalog entry of recording {values[2]}: a text of {length} bytes does not fit")
        texts.append(data[at + 4 : at + 4 + length].decode("ascii", "replace"))
        at += 4 + length
    return RecordingDescriptor(*values[2:13], *texts, *values[:2])


class Catalog:
    """The catalog file, open for writing. One owner, one thread at a time."""

    def __init__(self, path: Path, file: mmap.mmap, fd: int, sync_level: int) -> None:
        self._path = path
        self._fd = fd
        self._map = file
        self._sync_level = sync_level
        self._offsets: dict[int, int] = {}
        self._end = _HEADER.size
        self._scan()

    @classmethod
    def open(cls, directory: Path, capacity: int = DEFAULT_CAPACITY, sync_level: int = 0) -> Catalog:
        """Open the catalog of an archive directory, or create it with ``capacity`` bytes.

        Raises VersionError for another major version of the format, CorruptError for entries out of order.
        """
        if not _HEADER.size <= capacity <= MAX_CAPACITY:
            raise ArgumentError(f"catalog capacity {capacity} is outside {_HEADER.size} to {MAX_CAPACITY}")
        path = directory / CATALOG_FILE_NAME
        is_new = not path.exists()
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if is_new else 0), 0o666)
        try:
            size = os.fstat(fd).st_size
            if not is_new and size < _HEADER.size:
                raise CorruptError(f"{path} has {size} bytes: a catalog has {_HEADER.size} at least")
            if is_new:
                os.ftruncate(fd, capacity)
            file = mmap.mmap(fd, 0)
            if is_new:
                _HEADER.pack_into(file, 0, FILE_VERSION, _HEADER.size, 0, ALIGNMENT, 0)
                if sync_level:
                    file.flush()
                    _sync_directory(directory)
            catalog = cls(path, file, fd, sync_level)
            if catalog.capacity < capacity:
                catalog._resize(capacity)
            return catalog
        except BaseException:
            os.close(fd)
            raise

    def _scan(self) -> None:
        version, _, next_id, alignment, _ = _HEADER.unpack_from(self._map)
        if version >> 16 != FILE_VERSION >> 16:
            raise VersionError(
                f"{self._path} has version {version >> 16}.{version >> 8 & 255}.{version & 255}, 3.x.y is served: "
                "migrate it with the tool of the archive that wrote it"
            )
        if alignment <= 0 or alignment & (alignment - 1):
            raise CorruptError(f"{self._path}: alignment {alignment} is no power of two")
        self._alignment = alignment
        last_id = -1
        while self._end + _STRINGS < len(self._map):
            length, state, _, _ = _ENTRY_HEADER.unpack_from(self._map, self._end)
            if length <= 0:
                break
            size = self._span(length + _ENTRY_HEADER.size)
            (recording_id,) = struct.unpack_from("<q", self._map, self._end + 48)
            if recording_id <= last_id or self._end + size > len(self._map):
                raise CorruptError(
                    f"{self._path}: the entry at {self._end} has recording id {recording_id} and {size} bytes "
                    f"after id {last_id}, in a file of {len(self._map)} bytes"
                )
            if state == RecordingState.VALID:
                self._offsets[recording_id] = self._end
            last_id = recording_id
            self._end += size
        if next_id not in (0, last_id + 1) and next_id <= last_id:
            raise CorruptError(f"{self._path}: next recording id {next_id} is not above {last_id}")
        self.next_recording_id: int = next_id or last_id + 1

    def _span(self, length: int) -> int:
        return -(-length // self._alignment) * self._alignment

    @property
    def capacity(self) -> int:
        """Bytes of the file."""
        return len(self._map)

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[RecordingDescriptor]:
        """The valid entries in order of their ids."""
        for recording_id in list(self._offsets):
            yield self.descriptor(recording_id)

    def descriptor(self, recording_id: int) -> RecordingDescriptor:
        """The entry of a recording; NotFoundError when there is no valid one."""
        offset = self._offset(recording_id)
        (length,) = struct.unpack_from("<i", self._map, offset)
        return decode_descriptor(self._map[offset : offset + _ENTRY_HEADER.size + length])

    def _offset(self, recording_id: int) -> int:
        if self._map.closed:
            raise StateError(f"{self._path} is closed")
        if recording_id not in self._offsets:
            raise NotFoundError(f"{self._path} has no recording {recording_id}")
        return self._offsets[recording_id]

    def add(self, descriptor: RecordingDescriptor) -> int:
        """Append an entry under the next recording id, which is returned; CapacityError when the catalog is full."""
        recording_id = self.next_recording_id
        body = replace(descriptor, recording_id=recording_id).encode()
        size = self._span(_ENTRY_HEADER.size + len(body))
        if self._end + size > len(self._map):
            self._grow(self._end + size)
        at = self._end
        self._map[at + _ENTRY_HEADER.size : at + _ENTRY_HEADER.size + len(body)] = body
        struct.pack_into("<ii", self._map, at + _ENTRY_STATE, RecordingState.VALID, 0)
        native.put_i32_ordered(self._map, at + _ENTRY_LENGTH, size - _ENTRY_HEADER.size)
        native.put_i64_ordered(self._map, _NEXT_RECORDING_ID, recording_id + 1)
        self._offsets[recording_id] = at
        self._end += size
        self.next_recording_id = recording_id + 1
        self._sync()
        return recording_id

    def stop(self, recording_id: int, position: int, timestamp: int | None = None) -> None:
        """Store where and when (epoch ms; default: now) a recording ended."""
        at = self._offset(recording_id)
        now = time.time_ns() // 1_000_000 if timestamp is None else timestamp
        native.put_i64_ordered(self._map, at + _STOP_TIMESTAMP, now)
        native.put_i64_ordered(self._map, at + _STOP_POSITION, position)
        self._sync()

    def extend(self, recording_id: int, control_session_id: int, correlation_id: int, session_id: int) -> None:
        """Make a stopped recording run again, for an image of another session."""
        at = self._offset(recording_id)
        struct.pack_into("<qq", self._map, at + _CONTROL_SESSION_ID, control_session_id, correlation_id)
        struct.pack_into("<q", self._map, at + _STOP_TIMESTAMP, NULL_TIMESTAMP)
        struct.pack_into("<i", self._map, at + _SESSION_ID, session_id)
        native.put_i64_ordered(self._map, at + _STOP_POSITION, NULL_POSITION)
        self._sync()

    def _grow(self, needed: int) -> None:
        if needed > MAX_CAPACITY:
            raise CapacityError(f"{self._path} is full: an entry more needs {needed} of {MAX_CAPACITY} bytes")
        capacity = len(self._map)
        while capacity < needed:
            capacity = min(capacity + (capacity >> 1), MAX_CAPACITY)
        self._resize(capacity)

    def _resize(self, capacity: int) -> None:
        os.ftruncate(self._fd, capacity)
        grown = mmap.mmap(self._fd, capacity)
        self._map.close()
        self._map = grown

    def _sync(self) -> None:
        if self._sync_level:
            self._map.flush()

    def close(self) -> None:
        """Write all to the disk and close. Safe twice."""
        if not self._map.closed:
            self._map.flush()
            self._map.close()
            os.fsync(self._fd)
            os.close(self._fd)


def _sync_directory(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
