"""Which task reads what: recordings cut at terms, small pieces packed together.

A term's start is always a frame's start and no message crosses one, so tasks need nothing of each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from aeronpy.errors import ArgumentError, NotFoundError
from aeronpy.recording.reader import ArchiveDirectory, Recording, open_archive
from aeronpy.recording.walk import Range
from aeronpy.spark.options import Options, Positions

Part = tuple[Range, str, str]  # with the recording's channel and source identity
_NAMED_MAX: Final = 5


def plan(options: Options) -> list[tuple[Part, ...]]:
    """The parts of each task, in order of path, recording and position."""
    parts = [part for path in options.paths for part in _parts_of(path, options)]
    return list(_pack(parts, options.split_bytes))


def select(archive: ArchiveDirectory, options: Options) -> list[Recording]:
    """The recordings that the options name. Raises NotFoundError for a single id that is not there."""
    for ids in options.recording_ids or ():
        if len(ids) == 1:
            archive.recording(ids[0])
    return [
        recording
        for recording in archive
        if is_chosen(options.recording_ids, recording.recording_id)
        and is_chosen(options.stream_ids, recording.stream_id)
    ]


def is_chosen(ranges: tuple[range, ...] | None, number: int) -> bool:
    """Whether a number is among those of an option, which may not be given."""
    return ranges is None or any(number in ids for ids in ranges)


def _parts_of(path: str, options: Options) -> Iterator[Part]:
    archive = open_archive(path, aeron_dir=options.aeron_dir)
    recordings = select(archive, options)
    for positions in (options.starting_positions, options.ending_positions):
        _refuse_strangers(positions, recordings, path)
    for recording in recordings:
        whole = recording.range()
        start = _position(options.starting_positions, recording, whole, whole.from_position)
        stop = _position(options.ending_positions, recording, whole, whole.limit)
        _check_bounds(recording, whole, start, stop)
        descriptor = recording.descriptor
        chosen = replace(whole, from_position=start, to_position=stop)
        # To end a recording at its first fault, one task must read all of it.
        is_cut = options.policy.on_corrupt != "stop"
        for piece in split(chosen, options.split_bytes) if is_cut else [chosen]:
            yield piece, descriptor.stripped_channel, descriptor.source_identity


def _refuse_strangers(positions: Positions, recordings: list[Recording], path: str) -> None:
    if isinstance(positions, dict):
        strangers = sorted(set(positions) - {recording.recording_id for recording in recordings})
        if strangers:
            named = ", ".join(map(str, strangers[:_NAMED_MAX]))
            raise NotFoundError(f"positions are given for recording {named}, which is not among those read from {path}")


def _position(positions: Positions, recording: Recording, whole: Range, default: int) -> int:
    if positions == "earliest":
        return whole.from_position
    if positions == "latest":
        return whole.limit
    assert isinstance(positions, dict)
    return positions.get(recording.recording_id, default)


def _check_bounds(recording: Recording, whole: Range, start: int, stop: int) -> None:
    if start < whole.from_position:
        raise ArgumentError(
            f"recording {recording.recording_id} begins at {whole.from_position}, startingPositions says {start}: "
            "was it purged? earliest reads what is left"
        )
    if max(start, stop) > whole.limit:
        raise ArgumentError(
            f"recording {recording.recording_id} can be read up to {whole.limit}, the options say {max(start, stop)}: "
            "latest reads what is there"
        )


def split(whole: Range, split_bytes: int) -> Iterator[Range]:
    """Cut a range at term starts into pieces of at most split_bytes, one term at least, each within one segment."""
    files, at = whole.files, whole.from_position
    step = max(split_bytes // files.term_length, 1) * files.term_length
    while at < whole.to_position:
        segment_end = files.segment_base(at) + files.segment_length
        end = min(files.term_base(at) + step, segment_end, whole.to_position)
        yield replace(whole, from_position=at, to_position=end)
        at = end


def _pack(parts: Iterable[Part], split_bytes: int) -> Iterator[tuple[Part, ...]]:
    task: list[Part] = []
    used = 0
    for part in parts:
        size = part[0].to_position - part[0].from_position
        if task and used + size > split_bytes:
            yield tuple(task)
            task, used = [], 0
        if task and _continues(task[-1][0], part[0]):
            last, channel, source = task[-1]
            task[-1] = (replace(last, to_position=part[0].to_position), channel, source)
        else:
            task.append(part)
        used += size
    if task:
        yield tuple(task)


def _continues(last: Range, piece: Range) -> bool:
    return last.files == piece.files and last.to_position == piece.from_position
