"""What Java's archive left behind: unpacked, with the exact values it must give."""

from __future__ import annotations

import json
import tarfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "java-1.51"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())


def unpack(name: str, directory: Path) -> Path:
    """The archive of that name; returns its directory."""
    with tarfile.open(DATA / f"{name}.tar.gz") as packed:
        packed.extractall(directory, filter="data")
    return next(directory.rglob("archive.catalog")).parent


def crc32(payloads: Iterable[bytes]) -> str:
    value = 0
    for payload in payloads:
        value = zlib.crc32(payload, value)
    return f"{value:08x}"
