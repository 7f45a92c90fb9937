"""Reader of ``archive.catalog``: which recordings there are and where they begin and end (40-archive 2.3)."""

from __future__ import annotations

import enum
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aeronpy.errors import CorruptError, NotFoundError, VersionError
from aeronpy.recording.checksum import checksum_function

CATALOG_FILE: Final = "archive.catalog"
FORMAT_MAJOR: Final = 3
NULL: Final = -1

_HEADER: Final = struct.Struct("<iiqi")
_HEADER_BYTES: Final = 32
_ENTRY: Final = struct.Struct("<iii")
_ENTRY_BYTES: Final = 32
_DESCRIPTOR: Final = struct.Struct("<qqqqqqqiiiiii")
_LENGTH: Final = struct.Struct("<I")
_TERM_BYTES_MIN, _TERM_BYTES_MAX = 1 << 16, 1 << 30
_FRAME_ALIGN: Final = 32
_READS_MAX: Final = 20


class RecordingState(enum.IntEnum):
    """What a catalog entry says of its recording."""

    INVALID = 0
    VALID = 1
    DELETED = 2


def version_text(packed: int) -> str:
    """A packed semantic version as ``major.minor.patch``."""
    return f"{packed >> 16 & 0xFF}.{packed >> 8 & 0xFF}.{packed & 0xFF}"


@dataclass(frozen=True, slots=True)
class RecordingDescriptor:
    """One entry of the catalog. Positions in bytes, times in epoch ms; -1 where there is none yet."""

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
    control_session_id: int
    correlation_id: int
    state: RecordingState
    checksum: int
    entry_offset: int
    entry_length: int
    broken: str = ""
    """What is wrong with the entry's own bytes, where something is; texts that cannot be read are empty then."""

    @property
    def is_active(self) -> bool:
        """Whether nobody has stored a stop position: recording now, or never ended."""
        return self.stop_position == NULL

    def faults(self) -> Iterator[str]:
        """What is impossible about the numbers; a recording with faults cannot be read."""
        term, segment = self.term_buffer_length, self.segment_file_length
        if self.broken:
            yield self.broken
        if not _TERM_BYTES_MIN <= term <= _TERM_BYTES_MAX or term & (term - 1):
            yield f"term length {term} is not a power of two from 64 KiB to 1 GiB"
        elif segment < term or segment % term or segment > _TERM_BYTES_MAX:
            yield f"segment length {segment} is not a multiple of the term length {term} up to 1 GiB"
        if self.start_position < 0:
            yield f"negative start position {self.start_position}"
        elif self.start_position % _FRAME_ALIGN:
            yield f"start position {self.start_position} is not a multiple of {_FRAME_ALIGN}"
        if self.stop_position != NULL:
            if self.stop_position < self.start_position:
                yield f"stop position {self.stop_position} is below the start position {self.start_position}"
            elif self.stop_position % _FRAME_ALIGN:
                yield f"stop position {self.stop_position} is not a multiple of {_FRAME_ALIGN}"
            elif self.stop_position > term << 31:
                yield f"stop position {self.stop_position} is past the last that terms of {term} bytes can have"


@dataclass(frozen=True, slots=True)
class Catalog:
    """A catalog as it was at one moment, entries of all states in the order of their ids."""

    path: Path
    version: int
    next_recording_id: int
    alignment: int
    entries: tuple[RecordingDescriptor, ...]

    def entry(self, recording_id: int) -> RecordingDescriptor:
        """The entry of that id in any state. Raises NotFoundError."""
        for entry in self.entries:
            if entry.recording_id == recording_id:
                return entry
        known = ", ".join(str(e.recording_id) for e in self.entries[:10]) or "none"
        more = ", ..." if len(self.entries) > 10 else ""
        raise NotFoundError(f"{self.path} has no recording {recording_id}; it has {known}{more}")


def read_catalog(archive_dir: str | os.PathLike[str]) -> Catalog:
    """Read the catalog of an archive directory, also while the archive runs.

    A broken entry spoils its own recording only, see `RecordingDescriptor.faults`. Raises NotFoundError without a
    catalog, VersionError for a foreign file format, CorruptError with the offset where the way to the next entry is
    lost.
    """
    path = Path(archive_dir) / CATALOG_FILE
    data = _read(path)
    for _ in range(_READS_MAX):
        catalog = error = None
        try:
            catalog = parse_catalog(path, data)
        except CorruptError as found:
            error = found
        if catalog is not None and not any(entry.broken for entry in catalog.entries):
            return catalog
        # An archive that runs may be moving entries: only bytes that stay as they are are corrupt.
        again = _read(path)
        if again == data:
            if error is not None:
                raise error
            break
        data = again
    return parse_catalog(path, data)


def _read(path: Path) -> bytes:
    """The header first: it names only entries that were complete before it was stored."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
            return header + file.read()
    except FileNotFoundError:
        raise NotFoundError(f"{path} does not exist: give the directory that an Aeron archive writes") from None


def parse_catalog(path: Path, data: bytes) -> Catalog:
    """A catalog from the bytes of its file; ``path`` is for error texts."""
    if len(data) < _HEADER_BYTES:
        raise CorruptError(f"{path}: {len(data)} bytes, a catalog has at least {_HEADER_BYTES}: restore it from a copy")
    version, length, next_recording_id, alignment = _HEADER.unpack_from(data)
    if version >> 16 != FORMAT_MAJOR:
        raise VersionError(
            f"{path}: file format {version_text(version)}, this reads {FORMAT_MAJOR}.x: "
            "migrate the archive with Aeron's ArchiveTool first"
        )
    if length != _HEADER_BYTES or alignment < 8 or alignment & (alignment - 1):
        raise CorruptError(
            f"{path}: header of {length} bytes with alignment {alignment}, expected 32 and a power of two: restore it "
            "from a copy"
        )
    entries: list[RecordingDescriptor] = []
    at = _HEADER_BYTES
    while at + _ENTRY_BYTES <= len(data):
        entry_length = _ENTRY.unpack_from(data, at)[0]
        if entry_length <= 0:
            break
        entry = _parse_entry(path, data, at, entry_length)
        if entries and entry.recording_id <= entries[-1].recording_id:
            raise CorruptError(
                f"{path}: entry at {at} has recording id {entry.recording_id} after {entries[-1].recording_id}: "
                "restore the catalog from a copy"
            )
        if next_recording_id != 0 and entry.recording_id >= next_recording_id:
            break  # being appended now
        entries.append(entry)
        at += -(-(entry_length + _ENTRY_BYTES) // alignment) * alignment
    return Catalog(path, version, next_recording_id, alignment, tuple(entries))


def _parse_entry(path: Path, data: bytes, at: int, length: int) -> RecordingDescriptor:
    body, end = at + _ENTRY_BYTES, at + _ENTRY_BYTES + length
    if end > len(data) or length < _DESCRIPTOR.size + 3 * _LENGTH.size:
        raise CorruptError(
            f"{path}: entry at {at} says {length} bytes, the file ends at {len(data)}: is it truncated? Copy it "
            "again, or restore it"
        )
    _, state, checksum = _ENTRY.unpack_from(data, at)
    control_session_id, correlation_id, recording_id, *numbers = _DESCRIPTOR.unpack_from(data, body)
    strings, broken = _parse_strings(data, body + _DESCRIPTOR.size, end)
    if state not in RecordingState.__members__.values():
        # Taken as valid, so that reading it fails: left out, it would be missing in silence.
        state, broken = RecordingState.VALID, f"state {state}, known are 0 to 2"
    owner = (control_session_id, correlation_id)
    tail = (RecordingState(state), checksum, at, length, broken)
    entry: tuple[Any, ...] = (recording_id, *numbers, *strings, *owner, *tail)
    return RecordingDescriptor(*entry)


def _parse_strings(data: bytes, at: int, end: int) -> tuple[list[str], str]:
    """The three texts of an entry, and what is wrong with them, empty where nothing is."""
    strings = ["", "", ""]
    for index in range(3):
        if at + _LENGTH.size > end:
            return strings, "the entry ends within its strings"
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        if length > end - at:
            return strings, f"a string of {length} bytes, {end - at} are left"
        strings[index] = data[at : at + length].decode("ascii", "replace")
        at += length
    return strings, ""


def entry_checksum(catalog: Catalog, entry: RecordingDescriptor, checksum: str) -> int:
    """The checksum that an entry should have by the bytes that it has now, as a signed int32."""
    body = entry.entry_offset + _ENTRY_BYTES
    return checksum_function(checksum)(_read(catalog.path)[body : body + entry.entry_length])
