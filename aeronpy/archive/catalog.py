"""The catalog of an archive, as its one writer: ``archive.catalog`` (spec: archive, section 2.3).

Readers may map the file meanwhile. They rely on two orders: an entry is complete before the header's next
recording id covers it, and a stop position is stored after its timestamp, in one aligned store of eight bytes.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from aeronpy._core import native
from aeronpy.errors import ArgumentError, CapacityError, CorruptError, NotFoundError, StateError, StorageError
from aeronpy.recording.catalog import CATALOG_FILE, NULL, Catalog, RecordingDescriptor, RecordingState, parse_catalog

FILE_VERSION: Final = 3 << 16 | 1 << 8
CAPACITY_DEFAULT: Final = 1 << 20
CAPACITY_MAX: Final = (1 << 31) - 1
ALIGNMENT: Final = 64

_HEADER: Final = struct.Struct("<iiqi11xb")
_NEXT_RECORDING_ID: Final = 8
_DESCRIPTOR: Final = struct.Struct("<7q6i")
_ENTRY_HEADER_LENGTH: Final = 32
_ENTRY_LENGTH, _ENTRY_STATE = 0, 4
_CONTROL_SESSION_ID, _STOP_TIMESTAMP, _STOP_POSITION, _SESSION_ID = 32, 64, 80, 104


class CatalogWriter:
    """The catalog file, open for writing. One owner, one thread at a time."""

    def __init__(self, path: Path, file: mmap.mmap, fd: int, sync_level: int) -> None:
        self._path = path
        self._fd = fd
        self._map = file
        self._sync_level = sync_level
        found = parse_catalog(path, file[:])
        for entry in found.entries:
            if entry.broken:
                raise CorruptError(
                    f"{path}: the entry at {entry.entry_offset}, of recording {entry.recording_id}, is broken: "
                    f"{entry.broken}: restore the catalog from a copy"
                )
        self._alignment = found.alignment
        self._offsets = {
            entry.recording_id: entry.entry_offset for entry in found.entries if entry.state is RecordingState.VALID
        }
        self._end = _HEADER.size
        self.next_recording_id = found.next_recording_id
        if found.entries:
            last = found.entries[-1]
            self._end = last.entry_offset + self._span(_ENTRY_HEADER_LENGTH + last.entry_length)
            self.next_recording_id = found.next_recording_id or last.recording_id + 1
        if self._end + 4 <= len(file) and struct.unpack_from("<i", file, self._end)[0] > 0:
            raise CorruptError(
                f"{path}: the entry at {self._end} has an id that is not below the next recording id, "
                f"{self.next_recording_id}: restore the catalog from a copy"
            )

    @classmethod
    def open(cls, directory: Path, capacity: int = CAPACITY_DEFAULT, sync_level: int = 0) -> CatalogWriter:
        """Open the catalog of an archive directory, or create it with ``capacity`` bytes.

        Raises VersionError for another major version of the format, CorruptError for entries out of order.
        """
        if not _HEADER.size <= capacity <= CAPACITY_MAX:
            raise ArgumentError(f"catalog capacity {capacity} is outside {_HEADER.size} to {CAPACITY_MAX}")
        path = directory / CATALOG_FILE
        is_new = not path.exists()
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if is_new else 0), 0o666)
        try:
            size = os.fstat(fd).st_size
            if not is_new and size < _HEADER.size:
                raise CorruptError(
                    f"{path} has {size} bytes: a catalog has {_HEADER.size} at least: restore it from a copy"
                )
            allocate(fd, path, capacity if is_new else size)
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
        return (entry for entry in self._parsed().entries if entry.state is RecordingState.VALID)

    def descriptor(self, recording_id: int) -> RecordingDescriptor:
        """The entry of a recording; NotFoundError when there is no valid one."""
        self._offset(recording_id)
        return self._parsed().entry(recording_id)

    def _parsed(self) -> Catalog:
        if self._map.closed:
            raise StateError(f"{self._path} is closed")
        return parse_catalog(self._path, self._map[: self._end])

    def _offset(self, recording_id: int) -> int:
        if self._map.closed:
            raise StateError(f"{self._path} is closed")
        if recording_id not in self._offsets:
            raise NotFoundError(f"{self._path} has no recording {recording_id}")
        return self._offsets[recording_id]

    def add(
        self,
        *,
        start_timestamp: int,
        start_position: int,
        initial_term_id: int,
        segment_file_length: int,
        term_buffer_length: int,
        mtu_length: int,
        session_id: int,
        stream_id: int,
        stripped_channel: str,
        original_channel: str,
        source_identity: str,
    ) -> int:
        """Append a recording that runs, and return its id; CapacityError when the catalog is full."""
        recording_id = self.next_recording_id
        body = _DESCRIPTOR.pack(
            0,
            0,
            recording_id,
            start_timestamp,
            NULL,
            start_position,
            NULL,
            initial_term_id,
            segment_file_length,
            term_buffer_length,
            mtu_length,
            session_id,
            stream_id,
        )
        for text in (stripped_channel, original_channel, source_identity):
            body += struct.pack("<I", len(text)) + text.encode("ascii")
        size = self._span(_ENTRY_HEADER_LENGTH + len(body))
        if self._end + size > len(self._map):
            self._grow(self._end + size)
        at = self._end
        self._map[at + _ENTRY_HEADER_LENGTH : at + _ENTRY_HEADER_LENGTH + len(body)] = body
        struct.pack_into("<ii", self._map, at + _ENTRY_STATE, RecordingState.VALID, 0)
        native.put_i32_ordered(self._map, at + _ENTRY_LENGTH, size - _ENTRY_HEADER_LENGTH)
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
        struct.pack_into("<q", self._map, at + _STOP_TIMESTAMP, NULL)
        struct.pack_into("<i", self._map, at + _SESSION_ID, session_id)
        native.put_i64_ordered(self._map, at + _STOP_POSITION, NULL)
        self._sync()

    def _grow(self, needed: int) -> None:
        if needed > CAPACITY_MAX:
            raise CapacityError(f"{self._path} is full: an entry more needs {needed} of {CAPACITY_MAX} bytes")
        capacity = len(self._map)
        while capacity < needed:
            capacity = min(capacity + (capacity >> 1), CAPACITY_MAX)
        self._resize(capacity)

    def _resize(self, capacity: int) -> None:
        allocate(self._fd, self._path, capacity)
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


def allocate(fd: int, path: Path, length: int) -> None:
    """Give a file its length and its pages, since a mapped page that the disk cannot hold is a SIGBUS later."""
    try:
        os.posix_fallocate(fd, 0, length)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        free = shutil.disk_usage(path.parent).free
        raise StorageError(f"{path} needs {length} bytes, its file system has {free} free: make room") from error


def _sync_directory(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
