"""From positions to batches: reads segment files in blocks, scans them, and says loudly what is not right.

This is all that a Spark task needs: it takes only what pickles, and touches nothing but the segment files.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from aeronpy.errors import ArgumentError, CorruptError, NotFoundError
from aeronpy.recording.frames import Fault, Status, describe, term_id_at
from aeronpy.recording.scan import Arrays, Columns, Engine, EngineName, Scan, Stretch, choose_engine
from aeronpy.recording.segments import RecordingFiles, read_into

OnCorrupt = Literal["fail", "skipTerm", "stop"]
OnIncomplete = Literal["drop", "fail", "emit"]

ROWS_DEFAULT: Final = 16_384
BYTES_DEFAULT: Final = 8 << 20
_BLOCK_BYTES: Final = 1 << 20
_REMEDY: Final = "onCorrupt=skipTerm goes on at the next term, stop ends before it"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a recording: rows that begin in [from, to), made of bytes below limit. Pickles."""

    files: RecordingFiles
    from_position: int
    to_position: int
    limit: int
    is_live: bool = False  # a message that is open at limit is not there yet, rather than incomplete


@dataclass(frozen=True, slots=True)
class Policy:
    """What to do with bytes that are wrong, and how to cut batches."""

    on_corrupt: OnCorrupt = "fail"
    on_incomplete: OnIncomplete = "drop"
    rows_max: int = ROWS_DEFAULT
    bytes_max: int = BYTES_DEFAULT
    engine: EngineName = "auto"

    def __post_init__(self) -> None:
        if self.on_corrupt not in ("fail", "skipTerm", "stop"):
            raise ArgumentError(f"onCorrupt {self.on_corrupt!r}: it is 'fail', 'skipTerm' or 'stop'")
        if self.on_incomplete not in ("drop", "fail", "emit"):
            raise ArgumentError(f"onIncompleteMessage {self.on_incomplete!r}: it is 'drop', 'fail' or 'emit'")
        if not 1 <= self.rows_max <= 1 << 24:
            raise ArgumentError(f"batches have 1 to {1 << 24} rows, not {self.rows_max}")
        if not 1 <= self.bytes_max <= 1 << 30:
            raise ArgumentError(f"batches have 1 byte to 1 GiB of payload, not {self.bytes_max}")


@dataclass(slots=True)
class ScanReport:
    """What a scan met: pass one in to see it afterwards."""

    frames: int = 0
    incomplete: int = 0
    skipped_bytes: int = 0
    faults: list[str] = field(default_factory=list)


class Walker:
    """One walk over one range; iterate it once."""

    def __init__(
        self,
        part: Range,
        wanted: frozenset[str],
        policy: Policy,
        *,
        frames: bool = False,
        report: ScanReport | None = None,
    ) -> None:
        self._part, self._files, self._wanted, self._policy = part, part.files, wanted, policy
        self._report = report if report is not None else ScanReport()
        self._engine: Engine = choose_engine(policy.engine)
        stretch = Stretch(
            position=part.files.frame_start(part.from_position),
            limit=part.limit,
            from_position=part.from_position,
            to_position=part.to_position,
            frames=frames,
            emit_incomplete=policy.on_incomplete == "emit",
            live=part.is_live,
        )
        self._scan: Scan = self._engine.scan(part.files, stretch)
        self._columns = self._new_columns(policy.bytes_max)
        self._block = memoryview(bytearray(min(_BLOCK_BYTES, part.files.segment_length)))

    def _new_columns(self, bytes_max: int) -> Columns:
        return self._engine.columns(self._policy.rows_max, bytes_max, self._wanted)

    def __iter__(self) -> Iterator[Arrays]:
        """Arrays of at least one row each. Raises CorruptError, after all rows before what is wrong."""
        scan, end = self._scan, min(self._part.to_position, self._part.limit)
        is_done = False  # by the scan's word: a message held back at a live edge leaves position before the end
        try:
            while not is_done and scan.position < end:
                base = self._files.segment_base(scan.position)
                try:
                    with self._files.open(base) as fd:
                        is_done = yield from self._segment(fd, base)
                except (CorruptError, NotFoundError) as error:
                    yield from self._flush()
                    if not self._goes_on_after(error):
                        break
            yield from self._flush()
            self._report_incomplete()
        finally:
            self._report.frames += scan.frame_count
            self._report.incomplete += scan.incomplete_count

    def _segment(self, fd: int, base: int) -> Generator[Arrays, None, bool]:
        """Rows of one segment file, up to its end or that of the range; whether the range is done with it."""
        scan = self._scan
        end = min(base + self._files.segment_length, self._part.limit)
        while scan.position < min(end, self._part.to_position):
            start = scan.position
            memory = self._block[: end - start]
            count = read_into(fd, memory, start - base)
            is_done = yield from self._rows(memory[:count])
            if is_done:
                return True
            if scan.position == start:  # not one whole message in this block
                if count < len(memory):
                    raise CorruptError(self._cut_short(base, start, base + os.fstat(fd).st_size, end))
                assert len(memory) < end - start
                self._block = memoryview(bytearray(min(2 * len(self._block), self._files.segment_length)))
        return False

    def _rows(self, memory: memoryview) -> Generator[Arrays, None, bool]:
        """Rows of one block; whether the range is done with it."""
        scan, base = self._scan, self._scan.position
        bytes_max = self._policy.bytes_max
        while True:
            status = scan.run(memory[scan.position - base :], self._columns)
            if status is Status.FULL and self._columns.row_count == 0:
                bytes_max = min(2 * bytes_max, (1 << 31) - 1)  # for one message that is larger than a batch
                self._columns = self._new_columns(bytes_max)
            elif status is Status.FULL:
                yield from self._flush()
            elif status is Status.FAULT:
                assert scan.fault is not None
                raise CorruptError(self._fault_text(scan.fault))
            else:
                return status is Status.DONE

    def _flush(self) -> Iterator[Arrays]:
        """Hand over the rows gathered so far."""
        if self._columns.row_count:
            self._check_incomplete()
            columns, self._columns = self._columns, self._new_columns(self._policy.bytes_max)
            yield columns.finish()

    def _check_incomplete(self) -> None:
        if self._policy.on_incomplete == "fail" and self._scan.incomplete_count:
            position = self._scan.incomplete_position
            raise CorruptError(
                f"{self._files.path(self._files.segment_base(position))}: recording {self._files.recording_id}, the "
                f"message at position {position} lacks a fragment: onIncompleteMessage=drop leaves such messages out, "
                "emit gives what there is of them"
            )

    def _report_incomplete(self) -> None:
        self._check_incomplete()
        if self._scan.incomplete_count:
            _log.warning(
                "recording %d in %s: %d messages lack a fragment, the first at position %d: %s",
                self._files.recording_id,
                self._files.archive_dir,
                self._scan.incomplete_count,
                self._scan.incomplete_position,
                "given as they are" if self._policy.on_incomplete == "emit" else "left out",
            )

    def _goes_on_after(self, error: CorruptError | NotFoundError) -> bool:
        """Raise, end here, or move to the next term, as the policy says."""
        if self._policy.on_corrupt == "fail":
            raise error
        position = self._scan.position
        next_term = self._files.term_base(position) + self._files.term_length
        resumes = next_term if self._policy.on_corrupt == "skipTerm" else self._part.limit
        skipped = min(resumes, self._part.to_position, self._part.limit) - position
        self._report.faults.append(str(error))
        self._report.skipped_bytes += skipped
        _log.warning("%s; %d bytes from position %d on are left out", error, skipped, position)
        if self._policy.on_corrupt == "stop":
            return False
        self._scan.position = next_term
        return True

    def _where(self, position: int) -> str:
        files = self._files
        base = files.segment_base(position)
        return (
            f"{files.path(base)}: recording {files.recording_id}, position {position} (term id "
            f"{term_id_at(files, position)}, term offset {position % files.term_length}, file offset {position - base})"
        )

    def _fault_text(self, fault: Fault) -> str:
        return (
            f"{self._where(fault.position)}: {describe(fault, self._files, self._part.limit)}; "
            f"header {fault.header.hex()}: {_REMEDY}"
        )

    def _cut_short(self, base: int, position: int, file_end: int, needed: int) -> str:
        return (
            f"{self._where(position)}: the file has {file_end - base} bytes, {needed - base} of it are needed: "
            f"it was cut short or copied in part; copy it again, or {_REMEDY}"
        )
