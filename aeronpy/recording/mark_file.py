"""Reader of ``archive-mark.dat``: who runs the archive, whether it lives, where its driver is (40-archive 2.6)."""

from __future__ import annotations

import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aeronpy.errors import CorruptError, VersionError
from aeronpy.recording.catalog import FORMAT_MAJOR, version_text

MARK_FILE: Final = "archive-mark.dat"
LINK_FILE: Final = "archive-mark.lnk"
LIVENESS_TIMEOUT_MS: Final = 10_000

_PREFIX_BYTES: Final = 8192
_MESSAGE_HEADER: Final = struct.Struct("<HHHH")
_FIELDS: Final = struct.Struct("<i4xqqqiiiii4xq")
_TEMPLATE_ID, _SCHEMA_ID = 200, 100
_START_IN_PROGRESS: Final = (1 << 63) - 1
_REMEDY: Final = "copy it again where this is a copy; an archive that starts writes it anew"


@dataclass(frozen=True, slots=True)
class MarkFile:
    """A mark file as it was at one moment; times in epoch ms."""

    path: Path
    version: int
    activity_timestamp: int
    start_timestamp: int
    pid: int
    control_stream_id: int
    local_control_stream_id: int
    events_stream_id: int
    header_length: int
    error_buffer_length: int
    archive_id: int
    control_channel: str
    local_control_channel: str
    events_channel: str
    aeron_directory: str

    def is_alive(self, now_ms: int | None = None) -> bool:
        """Whether an archive has said within 10 s that it runs, or is starting now."""
        now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        return self.activity_timestamp == _START_IN_PROGRESS or (
            self.activity_timestamp >= 0 and now - self.activity_timestamp < LIVENESS_TIMEOUT_MS
        )


def find_mark_file(archive_dir: str | os.PathLike[str]) -> Path | None:
    """The mark file of an archive directory, through its link file where it lives elsewhere; None without one."""
    directory = Path(archive_dir)
    link = directory / LINK_FILE
    try:
        elsewhere = link.read_bytes().decode("utf-8", "replace").strip()
    except FileNotFoundError:
        elsewhere = ""
    path = (Path(elsewhere) if elsewhere else directory) / MARK_FILE
    return path if path.exists() else None


def read_mark_file(path: str | os.PathLike[str]) -> MarkFile | None:
    """Read a mark file; None while its archive is still writing it for the first time.

    Raises VersionError for a foreign file format, CorruptError for bytes that are no mark file.
    """
    path = Path(path)
    with path.open("rb") as file:
        data = file.read(_PREFIX_BYTES)
    if len(data) < _MESSAGE_HEADER.size + _FIELDS.size:
        raise CorruptError(f"{path}: {len(data)} bytes are too few for a mark file: {_REMEDY}")
    block_length, template_id, schema_id, _ = _MESSAGE_HEADER.unpack_from(data)
    if (template_id, schema_id) != (_TEMPLATE_ID, _SCHEMA_ID):
        raise VersionError(f"{path}: no mark file of this format (a legacy one is rewritten when its archive starts)")
    version, *numbers = _FIELDS.unpack_from(data, _MESSAGE_HEADER.size)
    if version == 0:
        return None
    if version >> 16 != FORMAT_MAJOR:
        raise VersionError(f"{path}: file format {version_text(version)}, this reads {FORMAT_MAJOR}.x")
    strings = _read_strings(path, data, _MESSAGE_HEADER.size + block_length)
    return MarkFile(path, version, *numbers, *strings)


def _read_strings(path: Path, data: bytes, at: int) -> list[str]:
    strings = []
    for _ in range(4):
        length = int.from_bytes(data[at : at + 4], "little")
        at += 4
        if at + length > len(data):
            raise CorruptError(f"{path}: a string of {length} bytes at {at} runs past the header: {_REMEDY}")
        strings.append(data[at : at + length].decode("ascii", "replace"))
        at += length
    return strings
