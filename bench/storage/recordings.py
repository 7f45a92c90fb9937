"""Archive directories for benchmarks: one recording of messages that are all alike in size, random in content."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

TERM_BYTES = 16 << 20
SEGMENT_BYTES = 128 << 20
HEADER = np.dtype(
    [
        ("length", "<i4"),
        ("version", "u1"),
        ("flags", "u1"),
        ("type", "<u2"),
        ("term_offset", "<i4"),
        ("session_id", "<i4"),
        ("stream_id", "<i4"),
        ("term_id", "<i4"),
        ("reserved_value", "<i8"),
    ]
)


def write_archive(directory: Path, message_bytes: int, total_bytes: int, stream_id: int = 1001) -> int:
    """Write recording 0 of at least total_bytes, whole terms of it; returns its messages."""
    directory.mkdir(parents=True, exist_ok=True)
    span = (message_bytes + 32 + 31) & ~31
    frames = TERM_BYTES // span
    padding = TERM_BYTES - frames * span
    terms = -(-total_bytes // TERM_BYTES)
    random = np.random.default_rng(7)
    body = np.zeros((frames, span), np.uint8)
    body[:, 32 : 32 + message_bytes] = random.integers(0, 256, (frames, message_bytes), np.uint8)
    per_segment = SEGMENT_BYTES // TERM_BYTES
    for first in range(0, terms, per_segment):
        with (directory / f"0-{first * TERM_BYTES}.rec").open("wb") as file:
            for term in range(first, min(first + per_segment, terms)):
                headers = np.zeros(frames, HEADER)
                headers["length"] = 32 + message_bytes
                headers["flags"], headers["type"] = 0xC0, 1
                headers["term_offset"] = np.arange(frames) * span
                headers["session_id"], headers["stream_id"], headers["term_id"] = 77, stream_id, term
                headers["reserved_value"] = term * frames + np.arange(frames)
                body[:, :32] = headers.view(np.uint8).reshape(frames, 32)
                file.write(body.tobytes())
                if padding:
                    tail = struct.pack("<iBBHiiiiq", padding, 0, 0xC0, 0, frames * span, 77, stream_id, term, 0)
                    file.write(tail.ljust(padding, b"\0"))
            file.truncate(SEGMENT_BYTES)
    _write_catalog(directory, terms * TERM_BYTES, stream_id)
    return terms * frames


def _write_catalog(directory: Path, stop_position: int, stream_id: int) -> None:
    strings = b"".join(struct.pack("<I", len(text)) + text for text in (b"aeron:ipc", b"aeron:ipc", b"aeron:ipc"))
    numbers = (0, 0, 0, 1, 2, 0, stop_position, 0, SEGMENT_BYTES, TERM_BYTES, 1408, 77, stream_id)
    entry = struct.pack("<qqqqqqqiiiiii", *numbers) + strings
    length = (32 + len(entry) + 63) // 64 * 64 - 32
    header = struct.pack("<iiqi", 3 << 16 | 1 << 8, 32, 1, 64).ljust(32, b"\0")
    data = header + struct.pack("<iii", length, 1, 0).ljust(32, b"\0") + entry.ljust(length, b"\0")
    (directory / "archive.catalog").write_bytes(data.ljust(4096, b"\0"))
