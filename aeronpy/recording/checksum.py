"""The checksums that an archive may store: CRC-32 and CRC-32C, as signed 32-bit numbers (40-archive 2.5)."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from aeronpy.errors import ArgumentError

Checksum = Callable[[bytes], int]

_CASTAGNOLI: Final = 0x82F63B78
_NAMES: Final = {
    "CRC-32": "CRC-32",
    "CRC32": "CRC-32",
    "io.aeron.archive.checksum.Crc32": "CRC-32",
    "org.agrona.checksum.Crc32": "CRC-32",
    "CRC-32C": "CRC-32C",
    "CRC32C": "CRC-32C",
    "io.aeron.archive.checksum.Crc32c": "CRC-32C",
    "org.agrona.checksum.Crc32c": "CRC-32C",
}


def checksum_function(name: str) -> Checksum:
    """The checksum of that name, short or as Aeron's classes are called; any case for the short ones.

    Raises ArgumentError for others. CRC-32C uses ``google_crc32c`` or ``crc32c`` where installed; without them it is
    right but slow (some MB/s).
    """
    canonical = _NAMES.get(name) or _NAMES.get(name.upper())
    if canonical is None:
        raise ArgumentError(f"checksum {name!r} is not known: CRC-32 and CRC-32C are")
    unsigned = zlib.crc32 if canonical == "CRC-32" else _crc32c()
    return lambda data: _signed(unsigned(data))


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


@cache
def _crc32c() -> Callable[[bytes], int]:
    for module_name, function_name in (("google_crc32c", "value"), ("crc32c", "crc32c")):
        try:
            module: Any = importlib.import_module(module_name)
        except ImportError:
            continue
        function: Callable[[bytes], int] = getattr(module, function_name)
        return function
    return crc32c_by_table


@cache
def _castagnoli_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (_CASTAGNOLI if value & 1 else 0)
        table.append(value)
    return tuple(table)


def crc32c_by_table(data: bytes) -> int:
    """CRC-32C a byte at a time, for where no library is installed."""
    table = _castagnoli_table()
    value = 0xFFFFFFFF
    for byte in data:
        value = table[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF
