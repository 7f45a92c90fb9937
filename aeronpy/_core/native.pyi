"""Types of the compiled module; stubtest holds this file to it. One section per room, in the order of native.pyx."""

from collections.abc import Iterator
from os import PathLike
from types import TracebackType
from typing import Self, final

from typing_extensions import Buffer

# --- base ---

# --- logbuffer ---

# --- control ---

@final
class CounterInfo:
    """One counter as it was at one moment; owns its bytes."""

    @property
    def counter_id(self) -> int: ...
    @property
    def state(self) -> int: ...
    @property
    def type_id(self) -> int: ...
    @property
    def value(self) -> int: ...
    @property
    def registration_id(self) -> int: ...
    @property
    def owner_id(self) -> int: ...
    @property
    def reference_id(self) -> int: ...
    @property
    def key(self) -> bytes: ...
    @property
    def label(self) -> str: ...

@final
class CountersReader:
    """Reads the counters of a driver while they change. Belongs to whoever mapped them, and closes with it."""

    @property
    def max_counter_id(self) -> int: ...
    def __iter__(self) -> Iterator[CounterInfo]: ...
    def info(self, counter_id: int) -> CounterInfo | None: ...
    def value(self, counter_id: int) -> int: ...
    def find_by_registration(self, type_id: int, registration_id: int) -> int | None: ...
    def find_by_key(self, type_id: int, key: int) -> int | None: ...

@final
class ErrorRecord:
    """A distinct error: how often and when it was observed (epoch ms), and its text."""

    @property
    def observations(self) -> int: ...
    @property
    def first_observation_ms(self) -> int: ...
    @property
    def last_observation_ms(self) -> int: ...
    @property
    def text(self) -> str: ...

@final
class LossEntry:
    """Loss seen by one image: how often, how many bytes, when (epoch ms), on which stream, from whom."""

    @property
    def observations(self) -> int: ...
    @property
    def bytes_lost(self) -> int: ...
    @property
    def first_observation_ms(self) -> int: ...
    @property
    def last_observation_ms(self) -> int: ...
    @property
    def session_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def channel(self) -> str: ...
    @property
    def source(self) -> str: ...

def read_error_log(buffer: Buffer, since_ms: int = 0) -> Iterator[ErrorRecord]: ...
def read_loss_report(buffer: Buffer) -> Iterator[LossEntry]: ...

@final
class CncFile:
    """The command-and-control file of a directory, mapped read-only: for tools, whether its driver lives or not."""

    def __new__(cls, directory: str | PathLike[str]) -> Self: ...
    @property
    def directory(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    @property
    def version(self) -> tuple[int, int, int]: ...
    @property
    def pid(self) -> int: ...
    @property
    def start_timestamp_ms(self) -> int: ...
    @property
    def client_liveness_timeout_ns(self) -> int: ...
    @property
    def file_page_size(self) -> int: ...
    @property
    def heartbeat_timestamp_ms(self) -> int: ...
    @property
    def to_driver_capacity(self) -> int: ...
    @property
    def to_driver_size(self) -> int: ...
    @property
    def to_driver_producer_position(self) -> int: ...
    @property
    def to_driver_consumer_position(self) -> int: ...
    @property
    def counters(self) -> CountersReader: ...
    def errors(self, since_ms: int = 0) -> Iterator[ErrorRecord]: ...
    def error_log(self) -> bytes: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

# --- client ---

# --- driver ---

# --- archive ---

def put_i32_ordered(buffer: Buffer, offset: int, value: int) -> None:
    """Store after all that was stored before, for readers in other processes. The offset is 4-aligned."""

def put_i64_ordered(buffer: Buffer, offset: int, value: int) -> None:
    """As put_i32_ordered, of 8 aligned bytes, which no reader sees half written."""

def compare_and_set_i64(buffer: Buffer, offset: int, expected: int, value: int) -> bool:
    """Store value if expected is there; whether it was."""

@final
class ErrorLogWriter:
    """Writes a distinct error log into a zeroed buffer, which it keeps alive until closed. Safe from any thread."""

    def __new__(cls, buffer: Buffer) -> Self: ...
    def record(self, text: str) -> None:
        """Count an error once more, or for the first time; CapacityError when the log has no room for it."""
    def close(self) -> None:
        """Let go of the buffer. Safe twice."""

@final
class Recorder:
    """Owns the thread that records images into segment files; it never needs the interpreter."""

    def __new__(
        cls,
        directory: str | PathLike[str],
        mark: Buffer,
        activity_offset: int,
        block_max: int = ...,
        sync_level: int = 0,
        idle_strategy: str = "backoff",
        idle_arguments: str = "",
        cpu: int = -1,
    ) -> Self: ...
    def abort(self, recording_id: int) -> bool:
        """Let a recording end where it is; whether there was one. `wait` tells when it has ended."""
    def wait(self, timeout_s: float) -> tuple[int, int, int, str] | None:
        """Wait for a recording to end: ``(recording_id, stop_position, code, text)``; None when woken or late."""
    def wake(self) -> None:
        """Make `wait` return. Safe from any thread."""
    def close(self) -> None:
        """Stop the thread; what still records ends unreported. Safe twice, not while another thread waits."""

# --- recording ---

@final
class SegmentColumns:
    """Arrays that a SegmentScan appends rows to; those that are None are not wanted. Keeps them alive."""

    def __new__(
        cls,
        rows_max: int,
        bytes_max: int,
        position: Buffer | None = None,
        end_position: Buffer | None = None,
        term_id: Buffer | None = None,
        term_offset: Buffer | None = None,
        flags: Buffer | None = None,
        type: Buffer | None = None,
        session_id: Buffer | None = None,
        reserved_value: Buffer | None = None,
        fragments: Buffer | None = None,
        length: Buffer | None = None,
        incomplete: Buffer | None = None,
        payload_offsets: Buffer | None = None,
        payload: Buffer | None = None,
    ) -> SegmentColumns: ...
    @property
    def row_count(self) -> int: ...
    @property
    def byte_count(self) -> int: ...

@final
class SegmentScan:
    """Walks the frames of a recording and appends what it finds to columns. For one thread."""

    def __new__(
        cls,
        initial_term_id: int,
        term_length: int,
        stream_id: int,
        position: int,
        limit: int,
        *,
        from_position: int,
        to_position: int,
        frames: bool = False,
        emit_incomplete: bool = False,
        live: bool = False,
    ) -> SegmentScan: ...
    def run(self, memory: Buffer, columns: SegmentColumns) -> int: ...
    @property
    def position(self) -> int: ...
    @position.setter
    def position(self, value: int) -> None: ...
    @property
    def frame_count(self) -> int: ...
    @property
    def incomplete_count(self) -> int: ...
    @property
    def incomplete_position(self) -> int: ...
    @property
    def fault(self) -> tuple[int, int, bytes] | None: ...
