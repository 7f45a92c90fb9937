"""The face that the two scanners share: the C one where the compiled module is installed, and the NumPy walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from aeronpy.errors import ArgumentError
from aeronpy.recording.columns import SCANNED
from aeronpy.recording.frames import Fault, FaultKind, Status
from aeronpy.recording.segments import RecordingFiles

try:
    from aeronpy._core import native
except ImportError:  # installed as pure Python, for instance shipped to Spark's executors
    native = None  # type: ignore[assignment]

EngineName = Literal["auto", "c", "numpy"]
HAS_NATIVE: Final = native is not None
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What to scan of a recording: frames from ``position``, where one starts, up to ``limit``.

    Rows are those that begin in [from_position, to_position): of frames, or of messages, with those that lack a
    fragment where ``emit_incomplete``. A ``live`` recording may go on behind the limit.
    """

    position: int
    limit: int
    from_position: int
    to_position: int
    frames: bool
    emit_incomplete: bool
    live: bool


class Columns(Protocol):
    """Rows while they are gathered into one batch."""

    @property
    def row_count(self) -> int:
        """Rows so far."""

    def finish(self) -> Arrays:
        """The arrays by name, cut to the rows there are; ``payload`` as bytes with ``payload_offsets`` of them."""


class Scan(Protocol):
    """A walk over the frames of one recording."""

    position: int

    @property
    def frame_count(self) -> int:
        """Frames so far."""

    @property
    def incomplete_count(self) -> int:
        """Messages so far that lack a fragment."""

    @property
    def incomplete_position(self) -> int:
        """Position of the first such message, or -1."""

    @property
    def fault(self) -> Fault | None:
        """What is wrong at position after FAULT."""

    def run(self, memory: memoryview, columns: Any) -> Status:
        """Append rows from memory, which begins at position."""


class Engine(Protocol):
    """Makes scans and the columns that they fill."""

    name: str

    def columns(self, rows_max: int, bytes_max: int, wanted: frozenset[str]) -> Columns:
        """Columns for one batch."""

    def scan(self, files: RecordingFiles, stretch: Stretch) -> Scan:
        """A scan that begins at position, a frame's start."""


class NativeColumns:
    """Columns that C fills."""

    def __init__(self, rows_max: int, bytes_max: int, wanted: frozenset[str]) -> None:
        self._arrays: Arrays = {name: np.empty(rows_max, SCANNED[name]) for name in SCANNED if name in wanted}
        if "payload" in wanted:
            self._arrays["payload_offsets"] = np.empty(rows_max + 1, np.int32)
            self._arrays["payload_offsets"][0] = 0
            self._arrays["payload"] = np.empty(bytes_max, np.uint8)
        arrays: dict[str, Any] = dict(self._arrays)
        self.native = native.SegmentColumns(rows_max, bytes_max, **arrays)

    @property
    def row_count(self) -> int:
        """Rows so far."""
        return self.native.row_count

    def finish(self) -> Arrays:
        """The arrays by name, cut to the rows there are."""
        rows = self.native.row_count
        ends = {"payload_offsets": rows + 1, "payload": self.native.byte_count}
        return {name: array[: ends.get(name, rows)] for name, array in self._arrays.items()}


class NativeScan:
    """The C scanner."""

    def __init__(self, scan: native.SegmentScan) -> None:
        self._scan = scan

    @property
    def position(self) -> int:
        """Where memory must begin."""
        return self._scan.position

    @position.setter
    def position(self, position: int) -> None:
        self._scan.position = position

    @property
    def frame_count(self) -> int:
        """Frames so far."""
        return self._scan.frame_count

    @property
    def incomplete_count(self) -> int:
        """Messages so far that lack a fragment."""
        return self._scan.incomplete_count

    @property
    def incomplete_position(self) -> int:
        """Position of the first such message, or -1."""
        return self._scan.incomplete_position

    @property
    def fault(self) -> Fault | None:
        """What is wrong at position after FAULT."""
        fault = self._scan.fault
        return None if fault is None else Fault(FaultKind(fault[0]), fault[1], fault[2])

    def run(self, memory: memoryview, columns: NativeColumns) -> Status:
        """Append rows from memory, which begins at position. Without the GIL."""
        return Status(self._scan.run(memory, columns.native))


class NativeEngine:
    """Scans in C."""

    name = "c"

    def columns(self, rows_max: int, bytes_max: int, wanted: frozenset[str]) -> NativeColumns:
        """Columns for one batch."""
        return NativeColumns(rows_max, bytes_max, wanted)

    def scan(self, files: RecordingFiles, stretch: Stretch) -> NativeScan:
        """A scan that begins at position, a frame's start."""
        return NativeScan(
            native.SegmentScan(
                files.initial_term_id,
                files.term_length,
                files.stream_id,
                stretch.position,
                stretch.limit,
                from_position=stretch.from_position,
                to_position=stretch.to_position,
                frames=stretch.frames,
                emit_incomplete=stretch.emit_incomplete,
                live=stretch.live,
            )
        )


def choose_engine(name: EngineName = "auto") -> Engine:
    """The C scanner where it is installed, or the one of that name. Raises ArgumentError."""
    from aeronpy.recording.numpy_walk import NumpyEngine

    if name not in ("auto", "c", "numpy"):
        raise ArgumentError(f"engine {name!r}: it is 'auto', 'c' or 'numpy'")
    if name == "c" and not HAS_NATIVE:
        raise ArgumentError("engine 'c' needs the compiled module of aeronpy, which is not installed here: use 'auto'")
    return NativeEngine() if name != "numpy" and HAS_NATIVE else NumpyEngine()
