"""Where a recording ended whose archive did not live to say so (spec: archive, section 2.8)."""

from __future__ import annotations

import mmap
import os
import re
import struct
from pathlib import Path
from typing import Final

from aeronpy.archive.catalog import Catalog, RecordingDescriptor
from aeronpy.errors import CorruptError

_PAGE: Final = 4096
_HEADER: Final = 32
_PADDING: Final = 0
_LENGTH_AND_TYPE: Final = struct.Struct("<iHH")
_NAME: Final = re.compile(r"(\d+)-(\d+)\.rec")


def segment_bases(directory: Path, recording_id: int) -> list[int]:
    """Base positions of the segment files of a recording, in order."""
    found = (_NAME.fullmatch(name) for name in os.listdir(directory))
    return sorted(int(name[2]) for name in found if name and int(name[1]) == recording_id)


def recover(directory: Path, catalog: Catalog) -> list[int]:
    """Give every recording without a stop position one; returns their ids.

    CorruptError where the last frame may be half written: the operator decides, nothing was changed.
    """
    running = [descriptor for descriptor in catalog if descriptor.stop_position < 0]
    stops = {descriptor.recording_id: stop_position(directory, descriptor) for descriptor in running}
    for recording_id, position in stops.items():
        catalog.stop(recording_id, position)
    return list(stops)


def stop_position(directory: Path, descriptor: RecordingDescriptor) -> int:
    """The end of the last whole frame in the last segment file of a recording."""
    bases = segment_bases(directory, descriptor.recording_id)
    if not bases:
        return descriptor.start_position
    offset_in_term = descriptor.start_position % descriptor.term_buffer_length
    begins_here = bases[-1] == descriptor.start_position - offset_in_term
    path = directory / f"{descriptor.recording_id}-{bases[-1]}.rec"
    with open(path, "rb") as file:
        limit = min(descriptor.segment_file_length, os.fstat(file.fileno()).st_size)
        if limit == 0:
            return max(bases[-1], descriptor.start_position)
        with mmap.mmap(file.fileno(), limit, prot=mmap.PROT_READ) as segment:
            end = _last_frame_end(path, segment, offset_in_term if begins_here else 0)
    return max(bases[-1] + end, descriptor.start_position)


def _last_frame_end(path: Path, segment: mmap.mmap, start: int) -> int:
    at, last = start, start
    while at + _HEADER <= len(segment):
        length, _, _ = _LENGTH_AND_TYPE.unpack_from(segment, at)
        if length <= 0:
            break
        last, at = at, at + (length + 31 & ~31)
    if at > len(segment):
        raise CorruptError(f"{path}: the frame at {last} runs past the end of the file, {len(segment)} bytes")
    if at == last or last // _PAGE == (at - 1) // _PAGE:
        return at
    _, _, kind = _LENGTH_AND_TYPE.unpack_from(segment, last)
    if kind != _PADDING and not _reached_every_page(segment, last, at):
        raise CorruptError(
            f"{path}: the last frame, at {last} to {at}, may be half written: a page of it is empty. "
            "Verify the recording with `ArchiveTool verify`, which asks whether to keep it"
        )
    return at


def _reached_every_page(segment: mmap.mmap, begin: int, end: int) -> bool:
    """A page that was never written holds zeros only. (Padding has no body: its header alone is written.)"""
    pages = range((begin // _PAGE + 1) * _PAGE, end, _PAGE)
    return all(any(segment[page : min(page + _PAGE, end)]) for page in pages)
