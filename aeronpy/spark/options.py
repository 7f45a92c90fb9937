"""Options of the source: parsed once, on the driver, strictly."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

from aeronpy.errors import ArgumentError
from aeronpy.recording.columns import Unit, all_columns, choose_columns
from aeronpy.recording.walk import OnCorrupt, OnIncomplete, Policy

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
Positions = Literal["earliest", "latest"] | dict[int, int]

NAMES: Final = (
    "path",
    "paths",
    "table",
    "recordingIds",
    "streamIds",
    "startingPositions",
    "endingPositions",
    "columns",
    "unit",
    "payload",
    "splitBytes",
    "batchRows",
    "batchBytes",
    "onCorrupt",
    "onIncompleteMessage",
    "aeronDir",
)
_TABLES: Final = ("messages", "recordings")
_SPLIT_BYTES: Final = 128 << 20
_BATCH_ROWS: Final = 16_384
_BATCH_BYTES: Final = 8 << 20
_SIZE: Final = re.compile(r"(\d+)\s*([kmg]?)b?", re.IGNORECASE)
_UNITS: Final = {"": 0, "k": 10, "m": 20, "g": 30}


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for."""

    paths: tuple[str, ...]
    table: str
    recording_ids: tuple[range, ...] | None
    stream_ids: tuple[range, ...] | None
    starting_positions: Positions
    ending_positions: Positions
    columns: tuple[str, ...]
    unit: Unit
    split_bytes: int
    policy: Policy
    aeron_dir: str | None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Options:
        """Parse the options of a DataSource, whose names have lost their case. Raises ArgumentError."""
        given = {name.lower(): value for name, value in options.items()}
        _refuse_unknown(given)
        table = _choice(given, "table", "messages", _TABLES)
        unit = cast(Unit, _choice(given, "unit", "message", ("message", "frame")))
        policy = Policy(
            on_corrupt=cast(OnCorrupt, _choice(given, "onCorrupt", "fail", ("fail", "skipTerm", "stop"))),
            on_incomplete=cast(OnIncomplete, _choice(given, "onIncompleteMessage", "drop", ("drop", "fail", "emit"))),
            rows_max=_size(given, "batchRows", _BATCH_ROWS),
            bytes_max=_size(given, "batchBytes", _BATCH_BYTES),
        )
        return cls(
            paths=_paths(given),
            table=table,
            recording_ids=_ids(given, "recordingIds"),
            stream_ids=_ids(given, "streamIds"),
            starting_positions=_positions(given, "startingPositions", EARLIEST),
            ending_positions=_positions(given, "endingPositions", LATEST),
            columns=_columns(given, unit, policy),
            unit=unit,
            split_bytes=_size(given, "splitBytes", _SPLIT_BYTES),
            policy=policy,
            aeron_dir=given.get("aerondir"),
        )


def _refuse_unknown(given: Mapping[str, str]) -> None:
    known = {name.lower(): name for name in NAMES}
    for name in given:
        if name not in known:
            nearest = known[difflib.get_close_matches(name, known, 1, 0.0)[0]]
            raise ArgumentError(
                f"aeron-archive has no option {name!r}: did you mean {nearest!r}? It has {', '.join(NAMES)}"
            )


def _choice(given: Mapping[str, str], name: str, default: str, choices: tuple[str, ...]) -> str:
    value = given.get(name.lower(), default)
    for choice in choices:
        if value.lower() == choice.lower():
            return choice
    raise ArgumentError(f"{name}={value}: it is one of {', '.join(choices)}")


def _size(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name.lower())
    if text is None:
        return default
    match = _SIZE.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        raise ArgumentError(f"{name}={text}: it is a positive number, with k, m or g behind it where wanted")
    return int(match[1]) << _UNITS[match[2].lower()]


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    paths: list[str] = []
    if "paths" in given:
        try:
            paths = json.loads(given["paths"])
        except ValueError:
            paths = given["paths"].split(",")
    if "path" in given:
        paths = [given["path"], *paths]
    if not paths:
        raise ArgumentError("aeron-archive needs a path: .load('archive directory')")
    local = []
    for path in paths:
        scheme, colon, rest = path.partition(":")
        if colon and "/" not in scheme and scheme != "file":
            raise ArgumentError(f"path {path}: archives are read from file systems of this machine, not from {scheme}:")
        local.append(os.path.abspath("/" + rest.lstrip("/") if scheme == "file" and colon else path))
    return tuple(dict.fromkeys(local))


def _ids(given: Mapping[str, str], name: str) -> tuple[range, ...] | None:
    text = given.get(name.lower())
    if text is None:
        return None
    ranges = []
    for item in text.split(","):
        match = re.fullmatch(r"\s*(-?\d+)(?:\s*-\s*(-?\d+))?\s*", item)
        if match is None:
            raise ArgumentError(f"{name}={text}: {item.strip()!r} is no number or range; write it as 1,2,5-9")
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if last < first:
            raise ArgumentError(f"{name}={text}: the range {item.strip()!r} is empty")
        ranges.append(range(first, last + 1))
    return tuple(ranges)


def _positions(given: Mapping[str, str], name: str, default: Literal["earliest", "latest"]) -> Positions:
    text = given.get(name.lower(), default).strip()
    if text.lower() == EARLIEST:
        return "earliest"
    if text.lower() == LATEST:
        return "latest"
    problem = f'{name}={text}: it is earliest, latest, or JSON from recording id to position, as {{"7": 4096}}'
    try:
        positions = json.loads(text)
        parsed = {int(key): value for key, value in positions.items()}
    except (ValueError, AttributeError):
        raise ArgumentError(problem) from None
    if not all(type(value) is int and value >= 0 for value in parsed.values()):
        raise ArgumentError(problem)
    return parsed


def _columns(given: Mapping[str, str], unit: Unit, policy: Policy) -> tuple[str, ...]:
    text = given.get("columns")
    has_payload = _choice(given, "payload", "keep", ("keep", "none")) == "keep"
    names = None if text is None else [name.strip().lower() for name in text.split(",")]
    chosen = tuple(choose_columns(unit, names))
    if names is None:
        if policy.on_incomplete == "emit" and "corrupt" in all_columns(unit):
            chosen += ("corrupt",)
        return chosen if has_payload else tuple(name for name in chosen if name != "payload")
    if not has_payload and "payload" in chosen:
        raise ArgumentError("payload=none, but columns asks for payload")
    return chosen
