"""The mark file of an archive: one living owner, who it is, and its errors (spec: archive, section 2.6)."""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from aeronpy._core import native
from aeronpy.archive.catalog import FILE_VERSION, allocate
from aeronpy.errors import ActiveError, ArgumentError, CapacityError, VersionError
from aeronpy.recording.catalog import FORMAT_MAJOR, version_text
from aeronpy.recording.mark_file import LINK_FILE, LIVENESS_TIMEOUT_MS, MARK_FILE

HEADER_LENGTH: Final = 8192
ERROR_BUFFER_LENGTH_MIN: Final = 1 << 20
PAGE_SIZE: Final = 4096

_MESSAGE_HEADER: Final = struct.Struct("<4H")
_MESSAGE: Final = (128, 200, 100, 2)  # block length, template, schema, version
_VERSION, _ACTIVITY_TIMESTAMP, _STRINGS = 8, 16, 136
_FIELDS: Final = struct.Struct("<qq3i2i4xq")  # from the start timestamp to the archive id
_FIELDS_AT: Final = 24
_ACTIVATING: Final = (1 << 63) - 1
_TERMINATED: Final = -1

ACTIVITY_TIMESTAMP_OFFSET: Final = _ACTIVITY_TIMESTAMP


def now_ms() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


class MarkFileWriter:
    """The mark file, held by a living archive. The recorder refreshes its timestamp from C."""

    def __init__(self, path: Path, file: mmap.mmap) -> None:
        self.path = path
        self.buffer = file
        self.errors = native.ErrorLogWriter(memoryview(file)[HEADER_LENGTH:])

    @classmethod
    def activate(
        cls,
        directory: Path,
        archive_id: int,
        aeron_dir: str = "",
        error_buffer_length: int = ERROR_BUFFER_LENGTH_MIN,
        clock_ms: Callable[[], int] = now_ms,
    ) -> MarkFileWriter:
        """Take the directory; ActiveError while another archive lives in it, VersionError for another format.

        The errors of the previous run are saved as text beside the file. Not ready before `signal_ready`.
        """
        if not ERROR_BUFFER_LENGTH_MIN <= error_buffer_length < (1 << 31) - HEADER_LENGTH:
            raise ArgumentError(f"error buffer of {error_buffer_length} bytes: at least {ERROR_BUFFER_LENGTH_MIN}")
        path = directory / MARK_FILE
        length = -(-(HEADER_LENGTH + error_buffer_length) // PAGE_SIZE) * PAGE_SIZE
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            file = _map(path, fd, length)
        except FileExistsError:
            file = _map(path, os.open(path, os.O_RDWR | os.O_CLOEXEC), length)
            try:
                _take_over(path, file, clock_ms())
            except BaseException:
                file.close()
                raise
        (directory / LINK_FILE).unlink(missing_ok=True)
        strings = b"".join(struct.pack("<I", len(s)) + s for s in (b"", b"", b"", aeron_dir.encode("ascii")))
        if _STRINGS + len(strings) > HEADER_LENGTH:
            raise CapacityError(f"the Aeron directory's name of {len(aeron_dir)} bytes does not fit into {path}")
        _MESSAGE_HEADER.pack_into(file, 0, *_MESSAGE)
        _FIELDS.pack_into(
            file, _FIELDS_AT, clock_ms(), os.getpid(), 0, 0, 0, HEADER_LENGTH, error_buffer_length, archive_id
        )
        file[_STRINGS : _STRINGS + len(strings)] = strings
        return cls(path, file)

    def signal_ready(self) -> None:
        """Tell the world that the archive lives."""
        self._signal(now_ms())

    def close(self) -> None:
        """Tell the world that it ended. Safe twice."""
        if not self.buffer.closed:
            self._signal(_TERMINATED)
            self.errors.close()
            self.buffer.close()

    def _signal(self, timestamp: int) -> None:
        native.put_i64_ordered(self.buffer, _ACTIVITY_TIMESTAMP, timestamp)
        native.put_i32_ordered(self.buffer, _VERSION, FILE_VERSION)
        self.buffer.flush()


def _map(path: Path, fd: int, length: int) -> mmap.mmap:
    try:
        allocate(fd, path, max(length, os.fstat(fd).st_size))
        return mmap.mmap(fd, 0)
    finally:
        os.close(fd)


def _take_over(path: Path, file: mmap.mmap, now: int) -> None:
    """Claim a mark file that nobody keeps alive, and empty it."""
    has_header = _MESSAGE_HEADER.unpack_from(file)[1:3] == _MESSAGE[1:3]
    at = _MESSAGE_HEADER.size if has_header else 0  # files of old releases begin with the block
    (version,) = struct.unpack_from("<i", file, at)
    (activity,) = struct.unpack_from("<q", file, at + 8)
    if version not in (0, -1) and version >> 16 != FORMAT_MAJOR:
        raise VersionError(f"{path} has version {version_text(version)}, {FORMAT_MAJOR}.x is served: migrate it first")
    if activity == _ACTIVATING:
        raise ActiveError(
            f"{path}: an archive is starting in this directory; if none is, it died there: delete the file"
        )
    if activity != _TERMINATED and now - activity < LIVENESS_TIMEOUT_MS:
        (pid,) = struct.unpack_from("<q", file, at + 24)
        raise ActiveError(f"{path}: process {pid} served this archive {now - activity} ms ago: stop it first")
    if not native.compare_and_set_i64(file, at + 8, activity, _ACTIVATING):
        raise ActiveError(f"{path}: another archive took this directory at the same moment")
    if has_header:
        _save_errors(path, file)
        file[HEADER_LENGTH:] = bytes(len(file) - HEADER_LENGTH)
        file[_STRINGS:HEADER_LENGTH] = bytes(HEADER_LENGTH - _STRINGS)
        native.put_i32_ordered(file, _VERSION, 0)
    else:
        file[:] = bytes(len(file))
        native.put_i64_ordered(file, _ACTIVITY_TIMESTAMP, _ACTIVATING)


def _save_errors(path: Path, file: mmap.mmap) -> None:
    (header_length, error_length) = struct.unpack_from("<2i", file, 52)
    if header_length != HEADER_LENGTH or not 0 < error_length <= len(file) - HEADER_LENGTH:
        return
    records = list(native.read_error_log(file[HEADER_LENGTH : HEADER_LENGTH + error_length]))
    if not records:
        return
    now = datetime.now().astimezone()
    name = f"archive-{now:%Y-%m-%d-%H-%M-%S}-{now.microsecond // 1000:03d}{now:%z}-error.log"
    with open(path.with_name(name), "w", encoding="utf-8") as out:
        for record in records:
            out.write(
                f"{record.observations} observations from {_time(record.first_observation_ms)} "
                f"to {_time(record.last_observation_ms)} for:\n{record.text}\n\n"
            )


def _time(epoch_ms: int) -> str:
    return datetime.fromtimestamp(epoch_ms / 1000).astimezone().isoformat(timespec="milliseconds")
