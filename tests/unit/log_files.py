"""Log files written with nothing but struct, from the format's description: what the inspectors are held to."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

TERM = 64 * 1024
METADATA_AT = 3 * TERM
INITIAL_TERM_ID = 7


def frame(
    length: int,
    payload: bytes = b"",
    *,
    flags: int = 0xC0,
    kind: int = 1,
    offset: int = 0,
    term_id: int = INITIAL_TERM_ID,
    reserved: int = 0,
) -> bytes:
    return struct.pack("<iBBhiiiiq", length, 0, flags, kind, offset, -5, 1001, term_id, reserved) + payload


@dataclass
class LogBytes:
    """A log in the making: terms of 64 KiB, the first one active, 4096 bytes taken."""

    is_connected: int = 1
    kind: int = 0
    receiver_window: int = 0
    socket_rcvbuf: int = 0
    os_max_rcvbuf: int = 0
    data: bytearray = field(default_factory=lambda: bytearray(METADATA_AT + 4096))

    def __post_init__(self) -> None:
        at = METADATA_AT
        struct.pack_into("<qqqi", self.data, at, INITIAL_TERM_ID << 32 | 4096, 5 << 32, 6 << 32 | 70000, 0)
        struct.pack_into("<qii", self.data, at + 128, (1 << 63) - 1, self.is_connected, 0)
        struct.pack_into("<qiiiii", self.data, at + 256, 99, INITIAL_TERM_ID, 32, 1408, TERM, 4096)
        struct.pack_into("<i", self.data, at + 288, self.receiver_window)
        struct.pack_into("<iii", self.data, at + 304, self.socket_rcvbuf, 212992, self.os_max_rcvbuf)
        struct.pack_into("<B", self.data, at + 497, self.kind)
        self.data[at + 320 : at + 352] = frame(0)

    def put(self, offset: int, length: int, payload: bytes = b"", **fields: int) -> None:
        """Write a frame at an offset of the first term."""
        written = frame(length, payload, offset=offset, **fields)
        self.data[offset : offset + len(written)] = written

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data)
        return path


def busy_log() -> LogBytes:
    """A message, padding, a claim that is not committed, a gap, and a message behind it."""
    log = LogBytes()
    log.put(0, 44, b"hello\x80\xffworld")
    log.put(64, 64, kind=0, reserved=-1)
    log.put(128, 132, bytes(range(60, 160)), flags=0x80)
    log.put(320, 40, b"later!!!", flags=0x40)
    log.put(384, -100, b"abc")
    log.put(512, 40, b"hidden!!")
    return log
