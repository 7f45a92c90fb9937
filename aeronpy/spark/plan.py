"""From options to partitions: which recordings, which positions of them, and how they are cut for tasks.

Only the catalog, the mark file and, of a recording that runs, the position counter are read; of segments no more
than their names.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from aeronpy.errors import ArgumentError, CorruptError, NotFoundError
from aeronpy.recording.catalog import Catalog, RecordingDescriptor, RecordingState, read_catalog
from aeronpy.recording.live_edge import Edge, find_edge
from aeronpy.recording.segments import RecordingFiles
from aeronpy.recording.walk import Range
from aeronpy.spark.options import Positions, ReadOptions

_log = logging.getLogger(__name__)
_PARTS_MAX: Final = 4096


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of one recording, and the texts of its catalog entry where columns need them."""

    range: Range
    channel: str = ""
    source_identity: str = ""


def plan_messages(options: ReadOptions, *, with_texts: bool) -> list[tuple[Part, ...]]:
    """Parts of all chosen recordings, in tuples of up to ``splitBytes``, ordered by archive, recording and position.

    Cuts lie on segment ends, or on term starts inside a segment that is longer than a split, which are all frame
    starts. Raises ArgumentError, NotFoundError or CorruptError where a recording cannot be read as asked.
    """
    parts = []
    for path in options.paths:
        catalog = read_catalog(path)
        entries = _choose(catalog, options)
        _check_positions_are_used(options, [entry.recording_id for entry in entries], catalog)
        for entry in entries:
            parts += _parts_of(path, entry, options, with_texts)
    return list(_pack(parts, options.split_bytes))


def choose_entries(catalog: Catalog, options: ReadOptions) -> list[RecordingDescriptor]:
    """The entries, of all states, that recordingIds and streamIds name."""
    return [
        entry
        for entry in catalog.entries
        if (options.recording_ids is None or entry.recording_id in options.recording_ids)
        and (options.stream_ids is None or entry.stream_id in options.stream_ids)
    ]


def _choose(catalog: Catalog, options: ReadOptions) -> list[RecordingDescriptor]:
    """Those of them that can be read; one that is named alone and cannot be is an error."""
    named = options.recording_ids.singles() if options.recording_ids is not None else []
    if len(options.paths) == 1:
        for recording_id in named:
            catalog.entry(recording_id)
    valid = []
    for entry in choose_entries(catalog, options):
        if entry.state == RecordingState.VALID:
            valid.append(entry)
        elif entry.recording_id in named:
            raise NotFoundError(
                f"{catalog.path}: recording {entry.recording_id} is {entry.state.name}, its data is gone or suspect: "
                "take it out of recordingIds"
            )
        elif entry.state == RecordingState.INVALID:
            _log.warning("%s: recording %d is INVALID and left out", catalog.path, entry.recording_id)
    return valid


def _check_positions_are_used(options: ReadOptions, chosen: list[int], catalog: Catalog) -> None:
    for positions in (options.starting, options.ending):
        for recording_id in positions.by_recording:
            if recording_id not in chosen:
                raise ArgumentError(
                    f"{positions.option} names recording {recording_id}, which is not read: recordingIds and streamIds "
                    f"leave it out, or {catalog.path} has none"
                )


def _parts_of(path: str, entry: RecordingDescriptor, options: ReadOptions, with_texts: bool) -> list[Part]:
    where = f"{path}: recording {entry.recording_id}"
    for fault in entry.faults():
        raise CorruptError(f"{where} cannot be read: {fault} in the catalog; leave it out with recordingIds")
    edge = find_edge(path, entry, aeron_dir=options.aeron_dir)
    start = _resolve(where, options.starting, entry, edge)
    end = _resolve(where, options.ending, entry, edge)
    if start > end and not edge.is_live:
        raise ArgumentError(f"{where}: startingPositions {start} is past endingPositions {end}")
    files = RecordingFiles.of(path, entry)
    texts = (entry.stripped_channel, entry.source_identity) if with_texts else ("", "")
    # Where a recording ends at what is corrupt, only one task can know what comes before that.
    pieces = [(start, end)] if options.on_corrupt == "stop" else cut_range(files, start, end, options.split_bytes)
    return [Part(Range(files, low, high, edge.position, edge.is_live), *texts) for low, high in pieces if low < high]


def _resolve(where: str, positions: Positions, entry: RecordingDescriptor, edge: Edge) -> int:
    """The position that an option asks for, held against what there is."""
    asked = positions.of(entry.recording_id)
    if asked == "earliest":
        return entry.start_position
    if asked == "latest":
        return edge.position
    if asked < entry.start_position:
        raise ArgumentError(
            f"{where} starts at {entry.start_position}, {positions.option} asks for {asked}: what was before is purged "
            'or was never recorded; ask for that position or "earliest"'
        )
    if asked > edge.position and not (edge.is_live and positions.option == "startingPositions"):
        raise ArgumentError(
            f"{where} ends at {edge.position} ({edge.kind.value}), {positions.option} asks for {asked}: "
            'ask for less or "latest"'
        )
    return asked


def cut_range(files: RecordingFiles, start: int, end: int, split_bytes: int) -> Iterator[tuple[int, int]]:
    """Pieces of [start, end): whole segments, or whole terms of segments that are longer than a split."""
    terms = max(split_bytes // files.term_length, 1)
    at = start
    while at < end:
        after = files.segment_base(at) + files.segment_length
        if files.segment_length > split_bytes:
            after = min(after, files.term_base(at) + terms * files.term_length)
        yield at, min(after, end)
        at = min(after, end)


def _pack(parts: list[Part], split_bytes: int) -> Iterator[tuple[Part, ...]]:
    """Neighbours together as long as they fit a split; pieces of one recording that touch become one."""
    packed: list[Part] = []
    size = 0
    for part in parts:
        length = part.range.to_position - part.range.from_position
        if packed and (size + length > split_bytes or len(packed) == _PARTS_MAX):
            yield tuple(packed)
            packed, size = [], 0
        size += length
        if packed and packed[-1].range.files == part.range.files:
            joined = replace(packed[-1].range, to_position=part.range.to_position)
            packed[-1] = replace(part, range=joined)
        else:
            packed.append(part)
    if packed:
        yield tuple(packed)
