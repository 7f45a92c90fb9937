"""How far a recording may be read now (40-archive 8.2).

Files are laid out full-length and zero, so neither a file's size nor a frame length that is not zero proves that a
frame is complete. The edge is taken before any byte of data is read.
"""

from __future__ import annotations

import enum
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from aeronpy.errors import CorruptError
from aeronpy.recording.catalog import RecordingDescriptor, read_catalog
from aeronpy.recording.counter_file import read_recording_position
from aeronpy.recording.mark_file import find_mark_file, read_mark_file
from aeronpy.recording.recovery import recover_stop_position
from aeronpy.recording.segments import RecordingFiles, list_segments

_log = logging.getLogger(__name__)


class EdgeKind(enum.Enum):
    """How an edge is known."""

    STOPPED = "stop position of the catalog"
    COUNTER = "position counter of the running archive"
    RECOVERED = "recovered: nobody stopped the recording and its archive is dead"
    SEGMENTS = "whole segments only: whether its archive lives cannot be told here"


@dataclass(frozen=True, slots=True)
class Edge:
    """``position`` up to which bytes may be read, and how that is known."""

    position: int
    kind: EdgeKind

    @property
    def is_live(self) -> bool:
        """Whether more may follow, so that a message that is open at the edge is not lost but not yet there."""
        return self.kind in (EdgeKind.COUNTER, EdgeKind.SEGMENTS)


def find_edge(
    archive_dir: str | os.PathLike[str],
    descriptor: RecordingDescriptor,
    *,
    aeron_dir: str | os.PathLike[str] | None = None,
    now_ms: int | None = None,
) -> Edge:
    """The readable end of one recording. ``aeron_dir`` is the driver's, by default the one that the mark file names.

    Raises CorruptError where a recording that nobody stopped cannot be walked to its end.
    """
    if not descriptor.is_active:
        return Edge(descriptor.stop_position, EdgeKind.STOPPED)
    files = RecordingFiles.of(archive_dir, descriptor)
    mark_path = find_mark_file(archive_dir)
    mark = read_mark_file(mark_path) if mark_path is not None else None
    if mark is not None and not mark.is_alive(now_ms):
        bases = list_segments(archive_dir).get(descriptor.recording_id, [])
        return Edge(recover_stop_position(files, bases).position, EdgeKind.RECOVERED)
    driver_dir = aeron_dir if aeron_dir is not None else mark.aeron_directory if mark is not None else ""
    if driver_dir:
        edge = _counter_edge(files, Path(driver_dir), mark.archive_id if mark is not None else -1)
        if edge is not None:
            return edge
    # Without a counter the recording may just have ended: its stop position is stored before the counter goes.
    fresh = read_catalog(archive_dir).entry(descriptor.recording_id)
    if not fresh.is_active:
        return Edge(fresh.stop_position, EdgeKind.STOPPED)
    bases = list_segments(archive_dir).get(descriptor.recording_id, [])
    position = max(bases[-1], descriptor.start_position) if bases else descriptor.start_position
    _log.warning(
        "recording %d in %s is being recorded, and its position counter cannot be read here: data from position %d on "
        "is left out; give aeron_dir of its driver on the same host for more",
        descriptor.recording_id,
        os.fspath(archive_dir),
        position,
    )
    return Edge(position, EdgeKind.SEGMENTS)


def _counter_edge(files: RecordingFiles, aeron_dir: Path, archive_id: int) -> Edge | None:
    position = read_recording_position(aeron_dir, files.recording_id, archive_id)
    if position is None:
        return None
    if position < files.start_position or position % 32:
        raise CorruptError(
            f"{aeron_dir}: position counter of recording {files.recording_id} has {position}, which is no frame's end "
            f"after the start {files.start_position}: is it the driver of another archive? Give aeron_dir of its own"
        )
    return Edge(position, EdgeKind.COUNTER)
