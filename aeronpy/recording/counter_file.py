"""A recording's position counter, read from its driver's CnC file without the compiled module (40-archive 3.20)."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Final

CNC_FILE: Final = "cnc.dat"
RECORDING_POSITION_TYPE_ID: Final = 100
_HEADER: Final = struct.Struct("<iiiiii")
_HEADER_BYTES: Final = 128
_METADATA_BYTES, _VALUE_BYTES = 512, 128
_UNUSED, _ALLOCATED = 0, 1
_CNC_MAJOR: Final = 0
_KEY_OFFSET: Final = 16
_KEY_BYTES: Final = 112
_BLOCK_COUNTERS: Final = 512


def read_recording_position(aeron_dir: str | os.PathLike[str], recording_id: int, archive_id: int) -> int | None:
    """The recorded position by its counter, or None where there is no such counter or no readable CnC file.

    Each read is a system call over an aligned 8 bytes, hence whole, and done before any byte of a segment is read.
    """
    try:
        fd = os.open(Path(aeron_dir) / CNC_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _find(fd, recording_id, archive_id)
    finally:
        os.close(fd)


def _find(fd: int, recording_id: int, archive_id: int) -> int | None:
    header = os.pread(fd, _HEADER.size, 0)
    if len(header) < _HEADER.size:
        return None
    version, to_driver, to_clients, metadata_bytes, value_bytes, _ = _HEADER.unpack(header)
    if version == 0 or version >> 16 != _CNC_MAJOR or min(to_driver, to_clients, metadata_bytes, value_bytes) <= 0:
        return None
    metadata_at = _HEADER_BYTES + to_driver + to_clients
    values_at = metadata_at + metadata_bytes
    count = min(metadata_bytes // _METADATA_BYTES, value_bytes // _VALUE_BYTES)
    for first in range(0, count, _BLOCK_COUNTERS):
        block_bytes = min(_BLOCK_COUNTERS, count - first) * _METADATA_BYTES
        block = os.pread(fd, block_bytes, metadata_at + first * _METADATA_BYTES)
        for index in range(len(block) // _METADATA_BYTES):
            state = int.from_bytes(block[index * _METADATA_BYTES :][:4], "little", signed=True)
            if state == _UNUSED:
                return None
            if _matches(block[index * _METADATA_BYTES :][:_METADATA_BYTES], recording_id, archive_id):
                at = metadata_at + (first + index) * _METADATA_BYTES
                value = os.pread(fd, 8, values_at + (first + index) * _VALUE_BYTES)
                # still the same counter after its value was read: it was not freed and used again between
                if _matches(os.pread(fd, _METADATA_BYTES, at), recording_id, archive_id):
                    return int.from_bytes(value, "little", signed=True)
    return None


def _matches(metadata: bytes, recording_id: int, archive_id: int) -> bool:
    if len(metadata) < _METADATA_BYTES:
        return False
    state, type_id = struct.unpack_from("<ii", metadata)
    key = metadata[_KEY_OFFSET : _KEY_OFFSET + _KEY_BYTES]
    if state != _ALLOCATED or type_id != RECORDING_POSITION_TYPE_ID:
        return False
    if int.from_bytes(key[:8], "little", signed=True) != recording_id:
        return False
    source_length = int.from_bytes(key[12:16], "little", signed=True)
    at = 16 + source_length
    if archive_id == -1 or not 0 <= source_length <= _KEY_BYTES - 24:
        return True
    return int.from_bytes(key[at : at + 8], "little", signed=True) == archive_id
