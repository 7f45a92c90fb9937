"""The scanner without the compiled module: a walk over the lengths in Python, all else by NumPy a block at a time.

It gives the same rows, counts and faults as the C scanner, which is an order of magnitude faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from aeronpy.recording.columns import SCANNED
from aeronpy.recording.frames import (
    FLAG_BEGIN,
    FLAG_END,
    FRAME_ALIGN,
    HEADER_BYTES,
    NO_BEGIN,
    NO_END,
    TYPE_DATA,
    TYPE_PADDING,
    Fault,
    Status,
    fault_of,
    term_id_at,
)
from aeronpy.recording.scan import Arrays, Stretch
from aeronpy.recording.segments import RecordingFiles

_HEADER: Final = np.dtype(
    [
        ("length", "<i4"),
        ("version", "u1"),
        ("flags", "u1"),
        ("type", "<u2"),
        ("term_offset", "<i4"),
        ("session_id", "<i4"),
        ("stream_id", "<i4"),
        ("term_id", "<i4"),
        ("reserved_value", "<i8"),
    ]
)


class NumpyColumns:
    """Columns as the parts that each block gave."""

    def __init__(self, rows_max: int, bytes_max: int, wanted: frozenset[str]) -> None:
        self.rows_max, self.bytes_max = rows_max, bytes_max
        self.names = [name for name in SCANNED if name in wanted]
        self.wants_payload = "payload" in wanted
        self.row_count = 0
        self.byte_count = 0
        self._parts: list[Arrays] = []
        self._payloads: list[bytes] = []

    def append(self, part: Arrays, count: int, payload: bytes, byte_count: int) -> None:
        """Take over the rows of one block."""
        self._parts.append(part)
        self._payloads.append(payload)
        self.row_count += count
        self.byte_count += byte_count

    def finish(self) -> Arrays:
        """The arrays by name."""
        names = self.names + (["payload_bytes"] if self.wants_payload else [])
        arrays: Arrays = {
            name: np.concatenate([part[name] for part in self._parts])
            if self._parts
            else np.empty(0, SCANNED.get(name, "int64"))
            for name in names
        }
        if self.wants_payload:
            offsets = np.zeros(self.row_count + 1, np.int32)
            np.cumsum(arrays.pop("payload_bytes"), out=offsets[1:])
            arrays["payload_offsets"] = offsets
            arrays["payload"] = np.frombuffer(b"".join(self._payloads), np.uint8)
        return arrays


@dataclass(frozen=True, slots=True)
class _Block:
    """Frames found good in one block of memory."""

    memory: memoryview
    headers: NDArray[Any]
    offsets: NDArray[np.int64]

    @property
    def data_bytes(self) -> NDArray[np.int64]:
        """Payload bytes of each frame; padding has none."""
        lengths = self.headers["length"].astype(np.int64) - HEADER_BYTES
        return np.where(self.headers["type"] == TYPE_DATA, lengths, 0)


@dataclass(slots=True)
class _Groups:
    """Runs of frames that make a message, a padding frame, or the rest of a message; the last one may be open."""

    first: NDArray[np.int64]  # index of the first frame
    last: NDArray[np.int64]
    begin: NDArray[np.int64]  # position
    end: NDArray[np.int64]
    incomplete: NDArray[np.uint8]
    is_data: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.first)

    def cut(self, count: int) -> None:
        """Keep the first ones."""
        for name in ("first", "last", "begin", "end", "incomplete", "is_data"):
            setattr(self, name, getattr(self, name)[:count])


class NumpyScan:
    """A walk over the frames of one recording."""

    def __init__(self, files: RecordingFiles, stretch: Stretch) -> None:
        self._files, self._stretch = files, stretch
        self.position = stretch.position
        self.frame_count = 0
        self.incomplete_count = 0
        self.incomplete_position = -1
        self.fault: Fault | None = None

    def run(self, memory: memoryview, columns: NumpyColumns) -> Status:
        """Append rows from memory, which begins at position."""
        self.fault = None
        base = self.position
        offsets, after = self._walk(memory, base)
        headers = np.frombuffer(memory[: len(memory) // FRAME_ALIGN * FRAME_ALIGN], _HEADER)[offsets >> 5]
        fault = self._first_fault(headers, offsets, base)
        if fault is not None:
            count, found = fault
            headers, offsets, after = headers[:count], offsets[:count], int(offsets[count])
        elif len(offsets) and headers["type"][-1] == TYPE_DATA and offsets[-1] + headers["length"][-1] > len(memory):
            headers, offsets, after = headers[:-1], offsets[:-1], int(offsets[-1])
        at_limit = base + after >= self._stretch.limit
        groups = self._group(headers, offsets, base)
        is_open = self._last_is_open(headers, groups)
        status = Status.FAULT if fault is not None else Status.DONE if at_limit else Status.MORE
        past = int(np.searchsorted(groups.begin, self._stretch.to_position))
        if past < len(groups) or (base + after >= self._stretch.to_position and not is_open):
            after = int(groups.begin[past]) - base if past < len(groups) else after
            groups.cut(past)
            status, is_open = Status.DONE, False
        if is_open and (status is Status.MORE or (status is Status.DONE and self._stretch.live)):
            after = int(groups.begin[-1]) - base
            groups.cut(len(groups) - 1)
        if not self._append(_Block(memory, headers, offsets), groups, columns):
            return Status.FULL
        self.position = base + after
        if status is Status.FAULT:
            self.fault = found
        return status

    def _walk(self, memory: memoryview, base: int) -> tuple[NDArray[np.int64], int]:
        """Offsets of the frames by their lengths, the last of which may be anything, and the offset after them."""
        words = memory[: len(memory) // 4 * 4].cast("i")
        end = min(len(memory) - HEADER_BYTES, self._stretch.limit - base - FRAME_ALIGN)
        offsets: list[int] = []
        at = 0
        append = offsets.append
        while at <= end:
            append(at)
            length = words[at >> 2]
            if length < HEADER_BYTES:
                break
            at += (length + 31) & -32
        return np.array(offsets, np.int64), at

    def _first_fault(self, headers: NDArray[Any], offsets: NDArray[np.int64], base: int) -> tuple[int, Fault] | None:
        files = self._files
        positions = offsets + base
        expected = positions % files.term_length
        terms = positions // files.term_length
        length = headers["length"].astype(np.int64)
        first_term = int(terms[0]) if len(terms) else 0
        expected_ids = (terms - first_term + term_id_at(files, first_term * files.term_length)).astype(np.int32)
        wrong = (
            (length < HEADER_BYTES)
            | (headers["version"] != 0)
            | (headers["type"] > TYPE_DATA)
            | (headers["term_offset"] != expected)
            | (headers["term_id"] != expected_ids)
            | (headers["stream_id"] != files.stream_id)
            | (length > files.term_length - expected)
            | (((length + 31) & -32) > self._stretch.limit - positions)
        )
        if not wrong.any():
            return None
        index = int(wrong.argmax())
        header, position = headers[index].tobytes(), int(positions[index])
        kind = fault_of(header, files, position, self._stretch.limit)
        assert kind is not None
        return index, Fault(kind, position, header)

    def _group(self, headers: NDArray[Any], offsets: NDArray[np.int64], base: int) -> _Groups:
        flags, is_padding = headers["flags"], headers["type"] == TYPE_PADDING
        ends = base + offsets + ((headers["length"].astype(np.int64) + 31) & -32)
        starts = np.ones(len(headers), bool)
        if not self._stretch.frames and len(headers):
            after_end = ((flags & FLAG_END) != 0) | is_padding
            starts = ((flags & FLAG_BEGIN) != 0) | is_padding | (headers["term_offset"] == 0)
            starts[1:] |= after_end[:-1]
            starts[0] = True
        first = np.flatnonzero(starts)
        last = np.append(first[1:], len(headers)) - 1 if len(first) else first
        is_data = ~is_padding[first]
        incomplete = np.zeros(len(first), np.uint8)
        if not self._stretch.frames:
            incomplete[(flags[first] & FLAG_BEGIN == 0) & is_data] |= NO_BEGIN
            incomplete[(flags[last] & FLAG_END == 0) & is_data] |= NO_END
        return _Groups(first, last, base + offsets[first], ends[last], incomplete, is_data)

    def _last_is_open(self, headers: NDArray[Any], groups: _Groups) -> bool:
        return bool(
            len(groups)
            and groups.incomplete[-1] & NO_END
            and groups.is_data[-1]
            and groups.end[-1] % self._files.term_length
        )

    def _append(self, block: _Block, groups: _Groups, columns: NumpyColumns) -> bool:
        """Rows of the groups; False, and position at the first that is left, where columns have no room for all."""
        owned = (groups.begin >= self._stretch.from_position) & (groups.begin < self._stretch.to_position)
        rows = owned & (groups.is_data | self._stretch.frames)
        if not self._stretch.emit_incomplete:
            rows &= groups.incomplete == 0
        data_bytes = block.data_bytes
        total = np.concatenate(([0], np.cumsum(data_bytes)))
        group_bytes = total[groups.last + 1] - total[groups.first] if len(groups) else total[:0]
        rows_after = columns.row_count + np.cumsum(rows)
        bytes_after = columns.byte_count + np.cumsum(np.where(rows & columns.wants_payload, group_bytes, 0))
        fit = int(np.count_nonzero((rows_after <= columns.rows_max) & (bytes_after <= columns.bytes_max)))
        has_room = fit == len(groups)
        if not has_room:
            self.position = int(groups.begin[fit])
            groups.cut(fit)
            rows, owned, group_bytes = rows[:fit], owned[:fit], group_bytes[:fit]
        self._count(groups, owned)
        chosen = np.flatnonzero(rows)
        if len(chosen):
            part = self._part(block.headers, groups, chosen, group_bytes[chosen], columns.names)
            payload = self._payload(block, data_bytes, groups, chosen) if columns.wants_payload else b""
            columns.append(part, len(chosen), payload, len(payload))
        return has_room

    def _count(self, groups: _Groups, owned: NDArray[np.bool_]) -> None:
        self.frame_count += int(groups.last[-1]) + 1 if len(groups) else 0
        incomplete = groups.begin[owned & (groups.incomplete != 0)]
        if len(incomplete) and self.incomplete_count == 0:
            self.incomplete_position = int(incomplete[0])
        self.incomplete_count += len(incomplete)

    def _part(
        self,
        headers: NDArray[Any],
        groups: _Groups,
        chosen: NDArray[np.int64],
        row_bytes: NDArray[np.int64],
        names: list[str],
    ) -> Arrays:
        first = headers[groups.first[chosen]]
        part: Arrays = {}
        for name in names:
            if name == "position":
                part[name] = groups.begin[chosen]
            elif name == "end_position":
                part[name] = groups.end[chosen]
            elif name == "fragments":
                part[name] = (groups.last[chosen] - groups.first[chosen] + 1).astype(np.int32)
            elif name == "incomplete":
                part[name] = groups.incomplete[chosen]
            elif name == "length":
                lengths = first["length"] - HEADER_BYTES if self._stretch.frames else row_bytes
                part[name] = lengths.astype(np.int32)
            else:
                part[name] = first[name].astype(SCANNED[name])
        part["payload_bytes"] = row_bytes
        return part

    @staticmethod
    def _payload(block: _Block, data_bytes: NDArray[np.int64], groups: _Groups, chosen: NDArray[np.int64]) -> bytes:
        wanted = np.zeros(len(block.offsets) + 1, np.int8)
        np.add.at(wanted, groups.first[chosen], 1)
        np.add.at(wanted, groups.last[chosen] + 1, -1)
        frames = np.flatnonzero(np.cumsum(wanted[:-1]))
        starts = block.offsets[frames] + HEADER_BYTES
        ends = starts + data_bytes[frames]
        return b"".join([block.memory[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])


class NumpyEngine:
    """Scans by NumPy."""

    name = "numpy"

    def columns(self, rows_max: int, bytes_max: int, wanted: frozenset[str]) -> NumpyColumns:
        """Columns for one batch."""
        return NumpyColumns(rows_max, bytes_max, wanted)

    def scan(self, files: RecordingFiles, stretch: Stretch) -> NumpyScan:
        """A scan that begins at position, a frame's start."""
        return NumpyScan(files, stretch)
