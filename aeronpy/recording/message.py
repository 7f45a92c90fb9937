"""What iterating a recording gives: messages, and frames for those who look closer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """One whole message. ``position`` is where its first frame starts, ``end_position`` where its last one ends."""

    payload: bytes
    position: int
    end_position: int
    session_id: int
    stream_id: int
    term_id: int
    term_offset: int
    flags: int
    reserved_value: int
    fragments: int


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame as it is on disk. ``payload`` is empty for padding, whose ``length`` tells what it skips.

    ``frame_session_id`` is the header's field, which holds a checksum where the archive wrote checksums;
    ``session_id`` is the catalog's.
    """

    payload: bytes
    position: int
    end_position: int
    session_id: int
    frame_session_id: int
    stream_id: int
    term_id: int
    term_offset: int
    flags: int
    type: int
    reserved_value: int
    length: int

    @property
    def is_padding(self) -> bool:
        """Whether this frame carries nothing."""
        return self.type == 0
