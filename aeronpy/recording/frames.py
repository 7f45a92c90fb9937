"""The frame header as it is in segment files, and what can be wrong with one (40-archive 2.4, 8.3)."""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass
from typing import Final

from aeronpy.recording.segments import RecordingFiles

HEADER_BYTES: Final = 32
FRAME_ALIGN: Final = 32
HEADER: Final = struct.Struct("<iBBHiiiiq")
TYPE_PADDING, TYPE_DATA = 0, 1
FLAG_BEGIN, FLAG_END = 0x80, 0x40
WHOLE, NO_BEGIN, NO_END = 0, 1, 2


class Status(enum.IntEnum):
    """Why a scan came back; the numbers are the C scanner's."""

    MORE = 0
    FULL = 1
    DONE = 2
    FAULT = 3


class FaultKind(enum.IntEnum):
    """What is wrong with a frame; the numbers are the C scanner's."""

    EMPTY = 1
    SHORT = 2
    VERSION = 3
    TYPE = 4
    TERM_OFFSET = 5
    TERM_ID = 6
    STREAM_ID = 7
    PAST_TERM = 8
    PAST_LIMIT = 9


@dataclass(frozen=True, slots=True)
class Fault:
    """A frame that cannot be, where a good one must be."""

    kind: FaultKind
    position: int
    header: bytes


def span(length: int) -> int:
    """Bytes that a frame of this length takes in a log."""
    return (length + FRAME_ALIGN - 1) & ~(FRAME_ALIGN - 1)


def wrap(value: int) -> int:
    """A number as a signed 32-bit one, as term ids wrap."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def term_id_at(files: RecordingFiles, position: int) -> int:
    """The term that a position lies in."""
    return wrap(files.initial_term_id + position // files.term_length)


def describe(fault: Fault, files: RecordingFiles, limit: int) -> str:
    """The fault in words: what was found and what had to be there."""
    length, version, _, kind, offset, _, stream_id, term_id, _ = HEADER.unpack(fault.header)
    expected_offset = fault.position % files.term_length
    left = files.term_length - expected_offset
    return {
        FaultKind.EMPTY: f"frame length {length} within the readable range, which ends at {limit}",
        FaultKind.SHORT: f"frame length {length} is less than a header's {HEADER_BYTES}",
        FaultKind.VERSION: f"frame version {version}, this reads version 0",
        FaultKind.TYPE: f"frame type {kind}, recordings have 0 (padding) and 1 (data)",
        FaultKind.TERM_OFFSET: f"term offset {offset}, the position has {expected_offset}",
        FaultKind.TERM_ID: f"term id {term_id}, the position has {term_id_at(files, fault.position)}",
        FaultKind.STREAM_ID: f"stream id {stream_id}, the recording has {files.stream_id}",
        FaultKind.PAST_TERM: f"frame length {length} runs past the term's end, {left} left",
        FaultKind.PAST_LIMIT: f"frame length {length} runs past the readable end {limit}",
    }[fault.kind]


def fault_of(header: bytes, files: RecordingFiles, position: int, limit: int) -> FaultKind | None:
    """What is wrong with the header at a position, or None; the order of checks is the C scanner's."""
    length, version, _, kind, offset, _, stream_id, term_id, _ = HEADER.unpack(header)
    expected_offset = position % files.term_length
    if length <= 0:
        return FaultKind.EMPTY
    if length < HEADER_BYTES:
        return FaultKind.SHORT
    if version != 0:
        return FaultKind.VERSION
    if kind not in (TYPE_DATA, TYPE_PADDING):
        return FaultKind.TYPE
    if offset != expected_offset:
        return FaultKind.TERM_OFFSET
    if term_id != term_id_at(files, position):
        return FaultKind.TERM_ID
    if stream_id != files.stream_id:
        return FaultKind.STREAM_ID
    if length > files.term_length - expected_offset:
        return FaultKind.PAST_TERM
    if span(length) > limit - position:
        return FaultKind.PAST_LIMIT
    return None
