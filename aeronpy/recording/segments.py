"""Segment files: their names, where a position lies in them, and reading them safely (40-archive 2.4, 8.1, 8.5).

Files are read, never mapped: an archive may cut one short at any time, and a mapped file that shrinks kills its reader.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aeronpy.errors import NotFoundError
from aeronpy.recording.catalog import RecordingDescriptor

SEGMENT_SUFFIX: Final = ".rec"


def list_segments(archive_dir: str | os.PathLike[str]) -> dict[int, list[int]]:
    """Base positions of the segment files there are, in order, by recording id."""
    found: dict[int, list[int]] = {}
    with os.scandir(archive_dir) as files:
        for file in files:
            recording_id, dash, base = file.name.removesuffix(SEGMENT_SUFFIX).partition("-")
            if file.name.endswith(SEGMENT_SUFFIX) and dash and _is_number(recording_id) and _is_number(base):
                found.setdefault(int(recording_id), []).append(int(base))
    for bases in found.values():
        bases.sort()
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


@dataclass(frozen=True, slots=True)
class RecordingFiles:
    """What it takes to read a recording's segments: small, and the same for every part of it. Pickles."""

    archive_dir: str
    recording_id: int
    start_position: int
    initial_term_id: int
    term_length: int
    segment_length: int
    session_id: int
    stream_id: int

    @classmethod
    def of(cls, archive_dir: str | os.PathLike[str], descriptor: RecordingDescriptor) -> RecordingFiles:
        """The files of one recording. The descriptor must have no faults."""
        return cls(
            os.fspath(archive_dir),
            descriptor.recording_id,
            descriptor.start_position,
            descriptor.initial_term_id,
            descriptor.term_buffer_length,
            descriptor.segment_file_length,
            descriptor.session_id,
            descriptor.stream_id,
        )

    def term_base(self, position: int) -> int:
        """Where the term of a position begins."""
        return position - position % self.term_length

    def segment_base(self, position: int) -> int:
        """Where the segment of a position begins: bases count from the term of the recording's start."""
        first = self.term_base(self.start_position)
        return first + (position - first) // self.segment_length * self.segment_length

    def frame_start(self, position: int) -> int:
        """The nearest position at or before this one that is known to be a frame's start."""
        return max(self.term_base(position), self.start_position)

    def path(self, base: int) -> Path:
        """The segment file with that base."""
        return Path(self.archive_dir) / f"{self.recording_id}-{base}{SEGMENT_SUFFIX}"

    @contextmanager
    def open(self, base: int) -> Iterator[int]:
        """A descriptor of the segment file with that base. Raises NotFoundError."""
        path = self.path(base)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise NotFoundError(
                f"{path} is missing on {socket.gethostname()}, recording {self.recording_id} needs it: was it purged "
                "or truncated meanwhile, or is the directory not mounted here? List the recordings again, or restore it"
            ) from None
        try:
            yield fd
        finally:
            os.close(fd)


def read_into(fd: int, memory: memoryview, offset: int) -> int:
    """Read until memory is full or the file ends; returns the bytes read."""
    done = 0
    while done < len(memory):
        count = os.preadv(fd, [memory[done:]], offset + done)
        if count == 0:
            break
        done += count
    return done
