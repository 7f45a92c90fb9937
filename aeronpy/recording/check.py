"""Verification of recordings, by the rules of Aeron's own tool but without touching anything (40-archive 6)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from aeronpy.errors import CorruptError, NotFoundError
from aeronpy.recording.catalog import NULL, RecordingDescriptor, entry_checksum, read_catalog
from aeronpy.recording.checksum import Checksum, checksum_function
from aeronpy.recording.frames import HEADER, HEADER_BYTES, TYPE_DATA, span
from aeronpy.recording.live_edge import Edge, EdgeKind
from aeronpy.recording.recovery import headers, recover_stop_position
from aeronpy.recording.segments import RecordingFiles, list_segments
from aeronpy.recording.walk import Policy, Range, ScanReport, Walker


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: ``position`` is -1 where it has none, ``what`` says it whole."""

    recording_id: int
    position: int
    what: str


def check_recording(
    archive_dir: Path, descriptor: RecordingDescriptor, find_edge: Callable[[], Edge], checksum: str | None
) -> list[Finding]:
    """All findings of one recording; none means that it can be read whole."""
    recording_id = descriptor.recording_id
    faults = [Finding(recording_id, NULL, fault) for fault in descriptor.faults()]
    if faults:
        return faults
    try:
        edge = find_edge()
    except CorruptError as error:
        return [Finding(recording_id, NULL, str(error))]
    return list(_check(RecordingFiles.of(archive_dir, descriptor), descriptor, edge, checksum))


def _check(
    files: RecordingFiles, descriptor: RecordingDescriptor, edge: Edge, checksum: str | None
) -> Iterator[Finding]:
    recording_id = descriptor.recording_id
    bases = list_segments(files.archive_dir).get(recording_id, [])
    if edge.position > files.start_position and not bases:
        yield Finding(recording_id, files.start_position, f"no segment file of it is in {files.archive_dir}")
        return
    if bases and max(files.start_position, edge.position) > bases[-1] + files.segment_length:
        yield Finding(
            recording_id,
            edge.position,
            f"its end {edge.position} is past that of its last segment {files.path(bases[-1])}",
        )
    if edge.kind is EdgeKind.STOPPED:
        yield from _check_end(files, bases, edge, checksum)
    report = ScanReport()
    part = Range(files, files.start_position, edge.position, edge.position, edge.is_live)
    for _ in Walker(part, frozenset({"position"}), Policy(on_corrupt="skipTerm", engine="auto"), report=report):
        pass
    yield from (Finding(recording_id, NULL, fault) for fault in report.faults)
    if checksum is not None:
        yield from _check_checksums(files, bases, edge, descriptor, checksum)


def _check_end(files: RecordingFiles, bases: list[int], edge: Edge, checksum: str | None) -> Iterator[Finding]:
    try:
        found = recover_stop_position(files, bases, checksum).position
    except (CorruptError, NotFoundError) as error:
        yield Finding(files.recording_id, NULL, str(error))
        return
    if found != edge.position:
        yield Finding(
            files.recording_id,
            found,
            f"the frames of its last segment end at {found}, the catalog says {edge.position}",
        )


def _check_checksums(
    files: RecordingFiles, bases: list[int], edge: Edge, descriptor: RecordingDescriptor, name: str
) -> Iterator[Finding]:
    expected = entry_checksum(read_catalog(files.archive_dir), descriptor, name)
    if expected != descriptor.checksum:
        yield Finding(
            files.recording_id, NULL, f"its catalog entry has checksum {descriptor.checksum}, its bytes give {expected}"
        )
    function = checksum_function(name)
    for base in bases:
        if files.segment_base(files.start_position) <= base < edge.position:
            yield from _check_segment(files, base, edge.position, function)


def _check_segment(files: RecordingFiles, base: int, limit: int, checksum: Checksum) -> Iterator[Finding]:
    first = max(base, files.start_position)
    end = min(base + files.segment_length, limit)
    with files.open(base) as fd:
        try:
            for position, header in headers(fd, files, base, first, end):
                length, _, _, kind, _, stored, *_ = HEADER.unpack(header)
                if kind != TYPE_DATA:
                    continue
                payload = os.pread(fd, span(length) - HEADER_BYTES, position - base + HEADER_BYTES)
                actual = checksum(payload)
                if actual != stored:
                    yield Finding(
                        files.recording_id,
                        position,
                        f"{files.path(base)}: the frame at position {position} has checksum {stored}, "
                        f"its bytes give {actual}",
                    )
        except CorruptError:
            return  # found by the walk already
