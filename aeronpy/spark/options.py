"""The options of the source: their names, their bounds, and what to say when one is wrong.

Needs neither Spark nor the rest of the package. Names are without case, as Spark hands them over in lower case.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar
from urllib.parse import unquote, urlsplit

from aeronpy.errors import ArgumentError

Word = Literal["earliest", "latest"]
T = TypeVar("T")

BATCH_ROWS: Final = 10_000
BATCH_ROWS_MAX: Final = 1 << 24
BATCH_BYTES: Final = 8 << 20
# Payload offsets in Spark's Arrow batches are signed 32-bit numbers; half of that leaves room for one more message.
BATCH_BYTES_MAX: Final = 1 << 30
# The length of a segment file where nobody set another.
SPLIT_BYTES: Final = 128 << 20

_NUMBERS: Final = re.compile(r"(-?\d+)(?:\s*-\s*(-?\d+))?")
_SIZE: Final = re.compile(r"(\d+)\s*([kmg]?)(?:i?b)?", re.IGNORECASE)
_UNITS: Final = {"": 0, "k": 10, "m": 20, "g": 30}


@dataclass(frozen=True, slots=True)
class NumberSet:
    """Numbers and ranges of them, both ends included, as in ``1,2,5-9``."""

    ranges: tuple[tuple[int, int], ...]

    def __contains__(self, number: int) -> bool:
        return any(low <= number <= high for low, high in self.ranges)

    def singles(self) -> list[int]:
        """The numbers that are named alone, so that their absence is a mistake."""
        return [low for low, high in self.ranges if low == high]


@dataclass(frozen=True, slots=True)
class Positions:
    """Where recordings begin or end to be read: a word for all, or positions by recording id."""

    option: str
    word: Word
    by_recording: Mapping[int, int | Word] = field(default_factory=dict)

    def of(self, recording_id: int) -> int | Word:
        """The position, or the word, for one recording."""
        return self.by_recording.get(recording_id, self.word)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """All options of one read, checked. Pickles."""

    paths: tuple[str, ...]
    table: Literal["messages", "recordings"]
    unit: Literal["message", "frame"]
    columns: tuple[str, ...] | None
    payload: Literal["keep", "none"]
    recording_ids: NumberSet | None
    stream_ids: NumberSet | None
    starting: Positions
    ending: Positions
    split_bytes: int
    batch_rows: int
    batch_bytes: int
    on_corrupt: Literal["fail", "skipTerm", "stop"]
    on_incomplete: Literal["drop", "fail", "emit"]
    aeron_dir: str | None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> ReadOptions:
        """Check options as Spark hands them over. Raises ArgumentError that names the option and what it takes."""
        given = {name.lower(): str(value) for name, value in options.items()}
        for name in given:
            if name not in _NAMES:
                nearest = difflib.get_close_matches(name, _NAMES, 1, 0.0)[0]
                raise ArgumentError(f"no option {name!r}: did you mean {_NAMES[nearest]!r}? There are {_all_names()}")

        def take(name: str, parse: Callable[[str, str], T], default: T) -> T:
            text = given.get(name.lower())
            return default if text is None else parse(name, text.strip())

        parsed = cls(
            paths=_paths(given),
            table=take("table", _one_of("messages", "recordings"), "messages"),  # type: ignore[arg-type]
            unit=take("unit", _one_of("message", "frame"), "message"),  # type: ignore[arg-type]
            columns=take("columns", _columns, None),
            payload=take("payload", _one_of("keep", "none"), "keep"),  # type: ignore[arg-type]
            recording_ids=take("recordingIds", _number_set, None),
            stream_ids=take("streamIds", _number_set, None),
            starting=take("startingPositions", _positions("earliest"), Positions("startingPositions", "earliest")),
            ending=take("endingPositions", _positions("latest"), Positions("endingPositions", "latest")),
            split_bytes=take("splitBytes", _size(1, 1 << 62), SPLIT_BYTES),
            batch_rows=take("batchRows", _count(1, BATCH_ROWS_MAX), BATCH_ROWS),
            batch_bytes=take("batchBytes", _size(1, BATCH_BYTES_MAX), BATCH_BYTES),
            on_corrupt=take("onCorrupt", _one_of("fail", "skipTerm", "stop"), "fail"),  # type: ignore[arg-type]
            on_incomplete=take(
                "onIncompleteMessage",
                _one_of("drop", "fail", "emit"),  # type: ignore[arg-type]
                "drop",
            ),
            aeron_dir=given.get("aerondir"),
        )
        parsed._check_together(given)
        return parsed

    def _check_together(self, given: Mapping[str, str]) -> None:
        """Options that contradict each other, or that would be silently without effect."""
        if self.table == "recordings":
            useless = sorted(_NAMES[name] for name in given if name not in _FOR_RECORDINGS)
            if useless:
                raise ArgumentError(f"option {useless[0]} has no meaning with table=recordings: leave it out")
        if self.payload == "none" and "payload" in map(str.lower, self.columns or ()):
            raise ArgumentError("columns asks for payload and payload=none takes it away: leave one of them out")
        if self.unit == "frame" and "onincompletemessage" in given:
            raise ArgumentError("option onIncompleteMessage has no meaning with unit=frame: every frame is a row")
        for positions in (self.starting, self.ending):
            if positions.by_recording and len(self.paths) > 1:
                raise ArgumentError(
                    f"{positions.option} names recordings by their ids, which {len(self.paths)} archives may share: "
                    "read one path at a time"
                )


_NAMES: Final = {
    name.lower(): name
    for name in (
        "path", "paths", "table", "unit", "columns", "payload", "recordingIds", "streamIds", "startingPositions",
        "endingPositions", "splitBytes", "batchRows", "batchBytes", "onCorrupt", "onIncompleteMessage",
        "aeronDir",
    )
}  # fmt: skip
_FOR_RECORDINGS: Final = frozenset({"path", "paths", "table", "columns", "recordingids", "streamids", "aerondir"})


def _all_names() -> str:
    return ", ".join(name for name in _NAMES.values() if name != "paths")


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    found = [given["path"]] if "path" in given else []
    if "paths" in given:
        try:
            several = json.loads(given["paths"])
        except json.JSONDecodeError as error:
            raise ArgumentError(f"paths is a JSON list of directories, not {given['paths']!r}: {error}") from None
        if not isinstance(several, list) or not all(isinstance(each, str) for each in several):
            raise ArgumentError(f"paths is a JSON list of directories, not {given['paths']!r}")
        found += several
    if not found or not all(each.strip() for each in found):
        raise ArgumentError("no path: give the archive's directory, as in .load('archive/')")
    paths = [_local_path(each.strip()) for each in found]
    for path in paths:
        if paths.count(path) > 1:
            raise ArgumentError(f"path {path} is given twice: its rows would be, too")
    return tuple(paths)


def _local_path(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise ArgumentError(f"path {text!r} names host {parts.netloc!r}: mount it, and give a path or file:///path")
        return os.path.abspath(unquote(parts.path))
    if "://" in text:
        raise ArgumentError(
            f"path {text!r}: archives are read from a directory that the driver and all executors see "
            "under one path; copy or mount it there"
        )
    return os.path.abspath(text)


def _one_of(*words: str) -> Callable[[str, str], str]:
    def parse(name: str, text: str) -> str:
        for word in words:
            if word.lower() == text.lower():
                return word
        raise ArgumentError(f"{name} is {' or '.join(words)}, not {text!r}")

    return parse


def _columns(name: str, text: str) -> tuple[str, ...] | None:
    names = tuple(each.strip() for each in text.split(","))
    if not all(names):
        raise ArgumentError(f"{name} is a list of names such as 'position,length', not {text!r}")
    return names


def _number_set(name: str, text: str) -> NumberSet | None:
    ranges = []
    for item in text.split(","):
        match = _NUMBERS.fullmatch(item.strip())
        if match is None:
            raise ArgumentError(
                f"{name} is a list such as '1,2,5-9', {item.strip()!r} in {text!r} is no number or range"
            )
        low = int(match[1])
        high = low if match[2] is None else int(match[2])
        if high < low:
            raise ArgumentError(f"{name}: the range {item.strip()!r} ends before it begins")
        ranges.append((low, high))
    return NumberSet(tuple(ranges))


def _count(low: int, high: int) -> Callable[[str, str], int]:
    def parse(name: str, text: str) -> int:
        if not (text.isascii() and text.isdigit()) or not low <= int(text) <= high:
            raise ArgumentError(f"{name} is a number from {low} to {high}, not {text!r}")
        return int(text)

    return parse


def _size(low: int, high: int) -> Callable[[str, str], int]:
    def parse(name: str, text: str) -> int:
        match = _SIZE.fullmatch(text)
        if match is None:
            raise ArgumentError(f"{name} is a size in bytes such as 65536, 64k, 8m or 1g, not {text!r}")
        size = int(match[1]) << _UNITS[match[2].lower()]
        if not low <= size <= high:
            raise ArgumentError(f"{name} is from {low} to {high} bytes, not {size}")
        return size

    return parse


def _positions(default: Word) -> Callable[[str, str], Positions]:
    def parse(name: str, text: str) -> Positions:
        word = _word(text.lower())
        if word is not None:
            return Positions(name, word)
        wrong = ArgumentError(
            f'{name} is "earliest", "latest" or JSON such as {{"7": 4096, "8": "latest"}} with positions by '
            f"recording id, not {text!r}"
        )
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            raise wrong from None
        if not isinstance(value, dict):
            raise wrong
        found: dict[int, int | Word] = {}
        for key, position in value.items():
            at = _word(position)
            is_position = isinstance(position, int) and not isinstance(position, bool) and position >= 0
            if not (key.isascii() and key.isdigit()) or (at is None and not is_position):
                raise wrong
            found[int(key)] = position if at is None else at
        return Positions(name, default, found)

    return parse


def _word(text: object) -> Word | None:
    return "earliest" if text == "earliest" else "latest" if text == "latest" else None
