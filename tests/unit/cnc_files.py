"""Files of a driver written with nothing but struct, from the format's description: what the tools are held to."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

RING, BROADCAST, VALUES, ERRORS = 4096 + 768, 4096 + 128, 128 * 64, 4096
METADATA = VALUES * 4
RING_AT = 128
METADATA_AT = RING_AT + RING + BROADCAST
VALUES_AT = METADATA_AT + METADATA
ERRORS_AT = VALUES_AT + VALUES
END = ERRORS_AT + ERRORS


def stream_key(registration_id: int, session_id: int, stream_id: int, channel: str) -> bytes:
    return struct.pack("<qiii", registration_id, session_id, stream_id, len(channel)) + channel.encode()


def align(value: int, to: int) -> int:
    return -(-value // to) * to


@dataclass
class CncBytes:
    """A CnC file in the making."""

    version: int = 512
    pid: int = 4711
    start_ms: int = 1_700_000_000_000
    heartbeat_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    data: bytearray = field(default_factory=lambda: bytearray(align(END, 4096)))
    _errors_end: int = ERRORS_AT

    def __post_init__(self) -> None:
        struct.pack_into("<6i", self.data, 0, self.version, RING, BROADCAST, METADATA, VALUES, ERRORS)
        struct.pack_into("<qqqi", self.data, 24, 10_000_000_000, self.start_ms, self.pid, 0)
        self.ring_field(640, self.heartbeat_ms)

    def ring_field(self, offset: int, value: int) -> None:
        struct.pack_into("<q", self.data, RING_AT + 4096 + offset, value)

    def counter(
        self,
        counter_id: int,
        type_id: int,
        label: str | bytes,
        value: int = 0,
        *,
        key: bytes = b"",
        registration_id: int = 0,
        owner_id: int = 0,
        reference_id: int = 0,
        state: int = 1,
    ) -> None:
        """Write a counter; what its key does not fill is residue, as the C driver leaves it."""
        text = label.encode() if isinstance(label, str) else label
        at = METADATA_AT + 512 * counter_id
        struct.pack_into("<iiq", self.data, at, state, type_id, (1 << 63) - 1)
        self.data[at + 16 : at + 128] = key.ljust(112, b"\xee")
        struct.pack_into("<i", self.data, at + 128, len(text))
        self.data[at + 132 : at + 132 + len(text)] = text
        numbers = value, registration_id, owner_id, reference_id
        struct.pack_into("<qqqq", self.data, VALUES_AT + 128 * counter_id, *numbers)

    def error(self, text: str, observations: int, first_ms: int, last_ms: int) -> None:
        encoded = text.encode()
        record = struct.pack("<iiqq", 24 + len(encoded), observations, last_ms, first_ms) + encoded
        self.data[self._errors_end : self._errors_end + len(record)] = record
        self._errors_end += align(len(record), 8)

    def write(self, directory: Path) -> Path:
        (directory / "cnc.dat").write_bytes(self.data)
        return directory


def loss_entry(numbers: tuple[int, int, int, int, int, int], channel: str, source: str) -> bytes:
    """Numbers are observations, bytes lost, first and last observation, session id, stream id."""
    head = struct.pack("<qqqqii", *numbers)
    channel_part = (struct.pack("<i", len(channel)) + channel.encode()).ljust(align(4 + len(channel), 4), b"\0")
    entry = head + channel_part + struct.pack("<i", len(source)) + source.encode()
    return entry.ljust(align(len(entry), 64), b"\0")


def write_loss(directory: Path, *entries: bytes) -> Path:
    (directory / "loss-report.dat").write_bytes(b"".join(entries).ljust(4096, b"\0"))
    return directory
