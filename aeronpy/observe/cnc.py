"""A CnC file laid open, as far as it goes: for when the file itself is in doubt (spec: shared memory, 4 to 8).

`CncFile` refuses what breaks the format; this says what is there and what is wrong with it. It reads instead of
mapping, each part at its own moment.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from typing import Final

from aeronpy.client.protocol import Command, Event
from aeronpy.errors import CorruptError
from aeronpy.observe.files import BLOCK_BYTES, CNC_FILE, open_file

HEADER_BYTES: Final = 128
RING_TRAILER: Final = 768
BROADCAST_TRAILER: Final = 128
METADATA_RECORD: Final = 512
VALUE_RECORD: Final = 128
VERSION_MAJOR: Final = 0
PADDING: Final = -1
PENDING_MAX: Final = 1000
LABEL_MAX: Final = 380
_LABEL_AT: Final = 128
_CHUNK: Final = 128 * METADATA_RECORD
_KEEPALIVE_AND_CLOSE: Final = {0x06: "CLIENT_KEEPALIVE", 0x0B: "CLIENT_CLOSE"}


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the file."""

    name: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class CncHeader:
    """The first bytes of the file."""

    version: int
    to_driver_length: int
    to_clients_length: int
    counters_metadata_length: int
    counters_values_length: int
    error_log_length: int
    client_liveness_timeout_ns: int
    start_timestamp_ms: int
    pid: int
    file_page_size: int

    @property
    def version_text(self) -> str:
        """As 0.2.0."""
        return f"{self.version >> 16}.{self.version >> 8 & 0xFF}.{self.version & 0xFF}"

    def sections(self) -> list[Section]:
        """The parts in their order."""
        lengths = {
            "to-driver": self.to_driver_length,
            "to-clients": self.to_clients_length,
            "counters-metadata": self.counters_metadata_length,
            "counters-values": self.counters_values_length,
            "error-log": self.error_log_length,
        }
        found, offset = [], HEADER_BYTES
        for name, length in lengths.items():
            found.append(Section(name, offset, length))
            offset += max(length, 0)
        return found


@dataclass(frozen=True, slots=True)
class Message:
    """A record in a ring or a broadcast buffer."""

    position: int
    length: int
    type: int
    name: str


@dataclass(frozen=True, slots=True)
class RingState:
    """The ring by which clients tell the driver what they want."""

    capacity: int
    tail_position: int
    head_cache_position: int
    head_position: int
    next_correlation_id: int
    heartbeat_timestamp_ms: int
    pending: tuple[Message, ...]

    @property
    def pending_bytes(self) -> int:
        """Bytes that the driver has not taken."""
        return self.tail_position - self.head_position


@dataclass(frozen=True, slots=True)
class BroadcastState:
    """The buffer by which the driver tells all clients what happened."""

    capacity: int
    tail_intent: int
    tail: int
    latest: int
    latest_message: Message | None


@dataclass(frozen=True, slots=True)
class CountersState:
    """How many counters there are, and room for how many."""

    capacity: int
    allocated: int
    reclaimed: int


@dataclass(frozen=True, slots=True)
class ErrorLogState:
    """How many distinct errors there are, and how much room they take."""

    length: int
    distinct_errors: int
    used_bytes: int


@dataclass(slots=True)
class CncReport:
    """What could be read of the file, and what is wrong with it."""

    path: str
    file_length: int
    allocated_bytes: int
    header: CncHeader | None = None
    sections: list[Section] = field(default_factory=list)
    to_driver: RingState | None = None
    to_clients: BroadcastState | None = None
    counters: CountersState | None = None
    error_log: ErrorLogState | None = None
    problems: list[str] = field(default_factory=list)


def command_name(type_id: int) -> str:
    """A command in words."""
    try:
        return Command(type_id).name
    except ValueError:
        return _KEEPALIVE_AND_CLOSE.get(
            type_id, "PADDING" if type_id == PADDING else f"unknown 0x{type_id & 0xFFFFFFFF:x}"
        )


def event_name(type_id: int) -> str:
    """An event in words."""
    try:
        return Event(type_id).name
    except ValueError:
        return "PADDING" if type_id == PADDING else f"unknown 0x{type_id & 0xFFFFFFFF:x}"


def _align8(length: int) -> int:
    return (length + 7) & ~7


class _Reader:
    """Fills in a report from an open file."""

    def __init__(self, file: int, report: CncReport) -> None:
        self._file = file
        self._report = report

    def _read(self, at: int, length: int) -> bytes:
        block = os.pread(self._file, length, at)
        if len(block) < length:
            raise CorruptError(f"{self._report.path} ends at {at + len(block)}: it was cut short while being read")
        return block

    def problem(self, text: str) -> None:
        self._report.problems.append(text)

    def header(self) -> CncHeader | None:
        block = os.pread(self._file, HEADER_BYTES, 0)
        if len(block) < HEADER_BYTES:
            self.problem(f"the file has {len(block)} bytes, its header alone takes {HEADER_BYTES}")
            return None
        header = CncHeader(*struct.unpack_from("<6iqqqi", block))
        if header.version == 0:
            self.problem("the version is 0: the driver is starting, or its start failed")
        elif header.version >> 16 != VERSION_MAJOR:
            self.problem(f"the version is {header.version_text}: this reads {VERSION_MAJOR}.x")
            return header
        return header

    def fits(self, section: Section) -> bool:
        end = section.offset + section.length
        if section.length <= 0 or end > self._report.file_length:
            end_text = f"ends at {end}, the file at {self._report.file_length}"
            self.problem(
                f"{section.name} has {section.length} bytes" if section.length <= 0 else f"{section.name} {end_text}"
            )
            return False
        return True

    def _capacity(self, section: Section, trailer: int) -> int | None:
        capacity = section.length - trailer
        if capacity < 16 or capacity & (capacity - 1):
            self.problem(
                f"{section.name} has {section.length} bytes: without its trailer, {capacity} is no power of two"
            )
            return None
        return capacity

    def ring(self, section: Section) -> RingState | None:
        capacity = self._capacity(section, RING_TRAILER)
        if capacity is None:
            return None
        trailer = self._read(section.offset + capacity, RING_TRAILER)
        tail, head_cache, head, correlation, heartbeat = (
            struct.unpack_from("<q", trailer, at)[0] for at in (128, 256, 384, 512, 640)
        )
        pending: tuple[Message, ...] = ()
        if 0 <= head <= tail <= head + capacity:
            pending = tuple(self._pending(section.offset, capacity, head, tail))
        else:
            self.problem(f"to-driver has its head at {head} and its tail at {tail}, with a capacity of {capacity}")
        return RingState(capacity, tail, head_cache, head, correlation, heartbeat, pending)

    def _pending(self, at: int, capacity: int, head: int, tail: int) -> Iterator[Message]:
        """Records that are written and not taken; the first that is not finished ends them."""
        for _ in range(PENDING_MAX):
            if head >= tail:
                return
            index = head & (capacity - 1)
            length, type_id = struct.unpack("<ii", self._read(at + index, 8))
            if length < 8 or index + length > capacity:
                state = "being written, or left by a dead client" if length <= 0 else f"broken: {length} bytes"
                yield Message(head, length, type_id, state)
                return
            yield Message(head, length, type_id, command_name(type_id))
            head += _align8(length)

    def broadcast(self, section: Section) -> BroadcastState | None:
        capacity = self._capacity(section, BROADCAST_TRAILER)
        if capacity is None:
            return None
        intent, tail, latest = struct.unpack("<3q", self._read(section.offset + capacity, 24))
        message = None
        if 0 <= latest < tail:
            index = latest & (capacity - 1)
            length, type_id = struct.unpack("<ii", self._read(section.offset + index, 8))
            if 8 <= length <= capacity - index:
                message = Message(latest, length, type_id, event_name(type_id))
            elif latest != 0 or tail != 0:
                self.problem(f"to-clients has a record of {length} bytes at {latest}")
        return BroadcastState(capacity, intent, tail, latest, message)

    def counters(self, metadata: Section, values: Section) -> CountersState:
        capacity = min(metadata.length // METADATA_RECORD, values.length // VALUE_RECORD)
        if metadata.length // 4 < values.length:
            self.problem(
                f"counters have {metadata.length} bytes of metadata for {values.length} of values: 4 times are due"
            )
        allocated = reclaimed = 0
        for at in range(0, capacity * METADATA_RECORD, _CHUNK):
            block = self._read(metadata.offset + at, min(_CHUNK, capacity * METADATA_RECORD - at))
            states = [struct.unpack_from("<i", block, each)[0] for each in range(0, len(block) - 3, METADATA_RECORD)]
            used = states[: states.index(0)] if 0 in states else states
            allocated += used.count(1)
            reclaimed += used.count(-1)
            strange = next((each for each in used if each not in (1, -1)), None)
            if strange is not None:
                self.problem(f"counter {at // METADATA_RECORD + used.index(strange)} has the state {strange}")
            for index, state in enumerate(used):
                (length,) = struct.unpack_from("<i", block, index * METADATA_RECORD + _LABEL_AT)
                if state == 1 and not 0 <= length <= LABEL_MAX:
                    self.problem(f"counter {at // METADATA_RECORD + index} has a label of {length} bytes")
            if len(used) < len(states):
                break
        return CountersState(capacity, allocated, reclaimed)

    def error_log(self, section: Section) -> ErrorLogState:
        errors = used = 0
        while used + 24 <= section.length:
            (length,) = struct.unpack("<i", self._read(section.offset + used, 4))
            if length == 0:
                break
            if length < 24 or used + length > section.length:
                self.problem(f"error-log has a record of {length} bytes at {used}")
                break
            errors += 1
            used += _align8(length)
        return ErrorLogState(section.length, errors, min(used, section.length))


def read_cnc_report(aeron_dir: str | PathLike[str]) -> CncReport:
    """Lay open the CnC file of a directory. NotFoundError without one; whatever else is wrong is in ``problems``."""
    path = os.path.join(os.fspath(aeron_dir), CNC_FILE)
    with open_file(path) as file:
        status = os.fstat(file)
        report = CncReport(path, status.st_size, status.st_blocks * BLOCK_BYTES)
        reader = _Reader(file, report)
        report.header = header = reader.header()
        if header is None or header.version >> 16 != VERSION_MAJOR:
            return report
        report.sections = header.sections()
        fits = [reader.fits(each) for each in report.sections]
        ring, clients, metadata, values, errors = report.sections
        if fits[0]:
            report.to_driver = reader.ring(ring)
        if fits[1]:
            report.to_clients = reader.broadcast(clients)
        if fits[2] and fits[3]:
            report.counters = reader.counters(metadata, values)
        if fits[4]:
            report.error_log = reader.error_log(errors)
    return report
