"""Where a recording ends that nobody ended: the rules of an archive's start (40-archive 2.8).

Only the newest segment is walked; pages are those of the file. A last frame that crosses a page and whose later pages
are all zero may be half written: the archive would ask its operator, a reader takes it as absent and says so.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aeronpy.errors import CorruptError
from aeronpy.recording.checksum import checksum_function
from aeronpy.recording.frames import HEADER, HEADER_BYTES, TYPE_PADDING, FaultKind, describe, fault_of, span
from aeronpy.recording.frames import Fault as FrameFault
from aeronpy.recording.segments import RecordingFiles

PAGE_BYTES: Final = 4096
_BLOCK_BYTES: Final = 1 << 20
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recovered:
    """``position`` where the recording ends; ``dropped_position`` of a last frame taken as absent, or -1."""

    position: int
    dropped_position: int = -1


def recover_stop_position(files: RecordingFiles, bases: list[int], checksum: str | None = None) -> Recovered:
    """Find the end of a recording from its newest segment file.

    Raises CorruptError where a frame header contradicts its position before the end is reached.
    """
    if not bases:
        return Recovered(files.start_position)
    base = bases[-1]
    first = files.start_position if base == files.term_base(files.start_position) else base
    with files.open(base) as fd:
        last, end = _walk(fd, files, base, first)
        if last >= 0 and not _is_complete(fd, base, last, end, checksum):
            _log.warning(
                "%s: the last frame, at position %d, crosses a page and may be half written: taken as absent",
                files.path(base),
                last,
            )
            return Recovered(max(last, files.start_position), last)
    return Recovered(max(end, files.start_position))


def headers(fd: int, files: RecordingFiles, base: int, first: int, limit: int) -> Iterator[tuple[int, bytes]]:
    """Position and header of each frame from ``first``, up to the first empty one or limit."""
    block, block_at = b"", first
    position = first
    while position + HEADER_BYTES <= limit:
        if not block_at <= position <= block_at + len(block) - HEADER_BYTES:
            block, block_at = os.pread(fd, _BLOCK_BYTES, position - base), position
            if len(block) < HEADER_BYTES:
                return
        header = block[position - block_at : position - block_at + HEADER_BYTES]
        kind = fault_of(header, files, position, base + files.segment_length)
        if kind is FaultKind.EMPTY:
            return
        if kind is not None:
            raise CorruptError(
                f"{files.path(base)}: recording {files.recording_id}, position {position}, file offset "
                f"{position - base}: "
                f"{describe(FrameFault(kind, position, header), files, limit)}; header {header.hex()}: "
                "its end cannot be found; let Aeron's ArchiveTool verify it, or read up to a stop position of your own"
            )
        yield position, header
        position += span(HEADER.unpack(header)[0])


def _walk(fd: int, files: RecordingFiles, base: int, first: int) -> tuple[int, int]:
    limit = base + min(files.segment_length, os.fstat(fd).st_size)
    last, end = -1, first
    for position, header in headers(fd, files, base, first, limit):
        last, end = position, position + span(HEADER.unpack(header)[0])
    return last, end


def _is_complete(fd: int, base: int, position: int, end: int, checksum: str | None) -> bool:
    offset, stop = position - base, end - base
    if offset // PAGE_BYTES == (stop - 1) // PAGE_BYTES:
        return True
    frame = os.pread(fd, stop - offset, offset)
    _, _, _, kind, _, session_id, *_ = HEADER.unpack(frame[:HEADER_BYTES])
    if kind == TYPE_PADDING:
        return True  # only its header is ever written
    if checksum is not None and checksum_function(checksum)(frame[HEADER_BYTES:]) == session_id:
        return True
    page = (offset // PAGE_BYTES + 1) * PAGE_BYTES
    while page < stop:
        if not any(frame[page - offset : page - offset + PAGE_BYTES]):
            return False
        page += PAGE_BYTES
    return True
