"""How fast one core turns a recording of 128-byte messages into columns: the C scanner beside the NumPy walk."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from aeronpy.recording import open_archive
from aeronpy.recording.scan import EngineName
from bench.storage.recordings import write_archive

MESSAGE_BYTES = 128
TOTAL_BYTES = 128 << 20
ROUNDS = 5
FLOOR = 8.0


def scan_gb_per_s(directory: Path, engine: EngineName, messages: int) -> float:
    """Bytes of segments a second, all columns and payloads made, every file read from the page cache."""
    recording = open_archive(directory, engine=engine).recording(0)
    began = time.perf_counter()
    rows = sum(len(batch) for batch in recording.batches())
    took = time.perf_counter() - began
    assert rows == messages
    return recording.stop_position / took / 1e9


def figures() -> Iterator[dict[str, object]]:
    """The figure of this benchmark: medians, and the median of the ratios of pairs."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        directory = Path(name)
        messages = write_archive(directory, MESSAGE_BYTES, TOTAL_BYTES)
        scan_gb_per_s(directory, "c", messages)
        pairs = [
            (scan_gb_per_s(directory, "c", messages), scan_gb_per_s(directory, "numpy", messages))
            for _ in range(ROUNDS)
        ]
    yield {
        "figure": "archive scan",
        "size": MESSAGE_BYTES,
        "ours": round(statistics.median(ours for ours, _ in pairs), 3),
        "peer": round(statistics.median(peer for _, peer in pairs), 3),
        "ratio": round(statistics.median(ours / peer for ours, peer in pairs), 2),
        "peer_name": "numpy walk",
        "unit": "GB/s",
    }


if __name__ == "__main__":
    for figure in figures():
        print(json.dumps(figure))
