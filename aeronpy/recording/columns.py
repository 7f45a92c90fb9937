"""The columns of messages and frames: their names, their types, and which the scanner has to fill."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final, Literal

from aeronpy.errors import ArgumentError

Unit = Literal["message", "frame"]

MESSAGE_COLUMNS: Final = {
    "recording_id": "int64",
    "position": "int64",
    "end_position": "int64",
    "session_id": "int32",
    "stream_id": "int32",
    "term_id": "int32",
    "term_offset": "int32",
    "flags": "int16",
    "reserved_value": "int64",
    "fragments": "int32",
    "length": "int32",
    "payload": "binary",
}
FRAME_COLUMNS: Final = {
    "recording_id": "int64",
    "position": "int64",
    "end_position": "int64",
    "session_id": "int32",
    "frame_session_id": "int32",
    "stream_id": "int32",
    "term_id": "int32",
    "term_offset": "int32",
    "flags": "int16",
    "type": "int16",
    "reserved_value": "int64",
    "length": "int32",
    "payload": "binary",
}
# Given on request only.
EXTRA_COLUMNS: Final = {"channel": "string", "source_identity": "string", "file": "string", "corrupt": "string"}

# What the scanner fills, and as what.
SCANNED: Final = {
    "position": "int64",
    "end_position": "int64",
    "term_id": "int32",
    "term_offset": "int32",
    "flags": "int16",
    "type": "int16",
    "session_id": "int32",
    "reserved_value": "int64",
    "fragments": "int32",
    "length": "int32",
    "incomplete": "uint8",
}
# Of columns that are not scanned under their own name: what they are made from.
_NEEDS: Final = {"frame_session_id": "session_id", "file": "position", "corrupt": "incomplete"}
_CONSTANT: Final = frozenset({"recording_id", "session_id", "stream_id", "channel", "source_identity"})


def default_columns(unit: Unit) -> dict[str, str]:
    """Names and types of the columns that a unit has when nobody chooses."""
    if unit not in ("message", "frame"):
        raise ArgumentError(f"unit {unit!r}: it is 'message' or 'frame'")
    return MESSAGE_COLUMNS if unit == "message" else FRAME_COLUMNS


def all_columns(unit: Unit) -> dict[str, str]:
    """Names and types of all columns that may be asked for."""
    extra = {name: kind for name, kind in EXTRA_COLUMNS.items() if name != "corrupt" or unit == "message"}
    return default_columns(unit) | extra


def choose_columns(unit: Unit, names: Iterable[str] | None) -> dict[str, str]:
    """The columns of these names in their order, or the unit's own. Raises ArgumentError naming the nearest."""
    if names is None:
        return dict(default_columns(unit))
    known = all_columns(unit)
    chosen: dict[str, str] = {}
    for name in names:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, 1, 0.0)
            raise ArgumentError(
                f"no column {name!r} of a {unit}: did you mean {nearest[0]!r}? There are {', '.join(known)}"
            )
        if name in chosen:
            raise ArgumentError(f"column {name!r} is asked for twice")
        chosen[name] = known[name]
    if not chosen:
        raise ArgumentError("no column is asked for")
    return chosen


def scanned_columns(names: Iterable[str]) -> frozenset[str]:
    """What the scanner must fill so that these columns can be made."""
    return frozenset(_NEEDS.get(name, name) for name in names if name not in _CONSTANT)
