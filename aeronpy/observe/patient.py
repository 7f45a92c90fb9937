"""What the doctor looks at: a directory read once, as far as it can be read."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from aeronpy.errors import AeronError
from aeronpy.observe.cnc import CncReport, read_cnc_report
from aeronpy.observe.counters import Counter, DriverSnapshot
from aeronpy.observe.driver import Life
from aeronpy.observe.files import BLOCK_BYTES, open_cnc
from aeronpy.observe.logs import METADATA_BYTES, PARTITIONS, LogFile, LogMetadata, log_paths

if TYPE_CHECKING:
    from aeronpy.driver import MediaDriverContext

LOGS_MAX: Final = 4096
_MI: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Intent:
    """What a driver that is started here would ask for; the defaults are Aeron's."""

    so_rcvbuf: int = 128 << 10
    so_sndbuf: int = 0
    receiver_window: int = 128 << 10
    mtu: int = 1408
    term_length: int = 16 * _MI
    ipc_term_length: int = 64 * _MI
    low_storage_threshold: int = 160 * _MI
    driver_timeout_ms: int = 10_000

    @classmethod
    def of(cls, context: MediaDriverContext) -> Self:
        """What a driver of this context asks for."""
        return cls(
            so_rcvbuf=context.socket_so_rcvbuf,
            so_sndbuf=context.socket_so_sndbuf,
            receiver_window=context.rcv_initial_window_length,
            mtu=context.mtu_length,
            term_length=context.term_buffer_length,
            ipc_term_length=context.ipc_term_buffer_length,
            low_storage_threshold=context.low_file_store_warning_threshold,
            driver_timeout_ms=context.driver_timeout // 1_000_000,
        )

    @property
    def largest_log(self) -> int:
        """Bytes of the largest log that a stream takes unless its channel says otherwise."""
        return PARTITIONS * max(self.term_length, self.ipc_term_length) + METADATA_BYTES


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What matters about one log's file."""

    path: str
    length: int
    allocated: int
    metadata: LogMetadata

    @property
    def promised(self) -> int:
        """Bytes that the file may still take."""
        return max(self.length - self.allocated, 0)

    @property
    def is_image(self) -> bool:
        """Whether it belongs to an image rather than to a publication."""
        return os.path.basename(os.path.dirname(self.path)) == "images"


@dataclass(slots=True)
class Patient:
    """A directory as it was at one moment. What cannot be read is None, and ``problem`` says why."""

    aeron_dir: str
    intent: Intent
    now_ms: int
    report: CncReport | None = None
    snapshot: DriverSnapshot | None = None
    client_liveness_timeout_ns: int = 0
    problem: AeronError | None = None
    logs: Sequence[LogFacts] = field(default_factory=list)

    @classmethod
    def examine(cls, aeron_dir: str, intent: Intent) -> Self:
        """Read all that is there. Never waits."""
        found = cls(aeron_dir, intent, time.time_ns() // 1_000_000)
        try:
            found.report = read_cnc_report(aeron_dir)
        except AeronError as error:
            found.problem = error
            return found
        try:
            with open_cnc(aeron_dir) as cnc:
                found.client_liveness_timeout_ns = cnc.client_liveness_timeout_ns
                found.snapshot = DriverSnapshot.take(cnc)
        except AeronError as error:
            found.problem = error
        found.logs = [facts for path in log_paths(aeron_dir)[:LOGS_MAX] if (facts := log_facts(path)) is not None]
        return found

    @property
    def counters(self) -> Sequence[Counter]:
        """The counters, none where they cannot be read."""
        return () if self.snapshot is None else self.snapshot.counters

    @property
    def heartbeat_ms(self) -> int | None:
        """The driver's last sign of life, None where the file does not say."""
        ring = None if self.report is None else self.report.to_driver
        return None if ring is None else ring.heartbeat_timestamp_ms

    @property
    def pid(self) -> int | None:
        """The driver's process id, None where the file does not say."""
        header = None if self.report is None else self.report.header
        return None if header is None else header.pid

    @property
    def life(self) -> Life | None:
        """Whether a driver lives here; None where there is no file that could say."""
        if self.report is None or self.report.header is None or self.heartbeat_ms is None:
            return None
        if self.heartbeat_ms < 0:
            return Life.SHUT_DOWN
        if self.report.header.version == 0 or self.heartbeat_ms == 0:
            return Life.STARTING
        return Life.SILENT if self.now_ms - self.heartbeat_ms > self.intent.driver_timeout_ms else Life.ALIVE


def log_facts(path: str) -> LogFacts | None:
    """What matters about a log; None when it is gone or no log."""
    try:
        status = os.stat(path)
        with LogFile(path) as log:
            return LogFacts(path, status.st_size, status.st_blocks * BLOCK_BYTES, log.metadata)
    except (AeronError, OSError):
        return None
