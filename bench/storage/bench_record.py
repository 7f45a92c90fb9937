"""Recording an IPC stream to tmpfs, beside a loop that writes as many bytes from memory and does nothing else."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from aeronpy import Aeron
from aeronpy.archive import Archive
from bench.compare.sides import running_driver

SIZES = (288, 1344)
ROUNDS = 7
ROUND_BYTES = 256 << 20
SEGMENT_LENGTH = 128 << 20
BLOCK_LENGTH = 1 << 20
STREAM_ID = 1001


def record_round(publication: Any, archive: Archive, recording_id: int, messages: np.ndarray[Any, Any]) -> float:
    """Bytes of the stream per second, from the first offer until all is in the files."""
    begin = publication.position
    started = time.perf_counter()
    sent = 0
    while publication.position - begin < ROUND_BYTES:
        sent = (sent + publication.offer_batch(messages[sent:])) % len(messages)
    end = publication.position
    while archive.get_recording_position(recording_id) < end:
        time.sleep(0)
    return float((end - begin) / (time.perf_counter() - started))


def pwrite_round(directory: Path, source: np.ndarray[Any, Any]) -> float:
    """Bytes per second of plain writes into files of a segment's length."""
    started = time.perf_counter()
    fds = []
    for base in range(0, ROUND_BYTES, SEGMENT_LENGTH):
        fd = os.open(directory / f"{base}.bin", os.O_CREAT | os.O_RDWR, 0o600)
        os.ftruncate(fd, SEGMENT_LENGTH)
        for offset in range(0, SEGMENT_LENGTH, BLOCK_LENGTH):
            at = (base + offset) % len(source)
            os.pwrite(fd, source[at : at + BLOCK_LENGTH], offset)
        fds.append(fd)
    elapsed = time.perf_counter() - started
    for fd in fds:
        os.close(fd)
    for path in directory.iterdir():
        path.unlink()
    return ROUND_BYTES / elapsed


def drop_full_segments(directory: Path) -> None:
    """Give the memory of all segments but the newest back."""
    segments = sorted(directory.glob("*.rec"), key=lambda path: int(path.stem.split("-")[1]))
    for path in segments[:-1]:
        path.unlink()


def measure(size: int) -> dict[str, object]:
    """The line of one message size."""
    base = Path(tempfile.mkdtemp(prefix="aeronpy-bench-record-", dir="/dev/shm"))
    plain = base / "plain"
    plain.mkdir()
    messages = np.random.default_rng(7).integers(0, 256, (8192, size), np.uint8)
    source = np.random.default_rng(8).integers(0, 256, 64 << 20, np.uint8)
    ours: list[float] = []
    peer: list[float] = []
    try:
        with (
            running_driver("ours") as aeron_dir,
            Aeron.connect(aeron_dir=str(aeron_dir)) as aeron,
            Archive.open(base / "archive", aeron, segment_length=SEGMENT_LENGTH) as archive,
            archive.start_recording("aeron:ipc", STREAM_ID) as recording,
            aeron.add_exclusive_publication("aeron:ipc?term-length=64m", STREAM_ID) as publication,
        ):
            recording_id = recording.await_recording(10)
            record_round(publication, archive, recording_id, messages)  # turns the log over
            for index in range(ROUNDS):
                for side in (0, 1) if index % 2 == 0 else (1, 0):
                    if side == 0:
                        ours.append(record_round(publication, archive, recording_id, messages))
                        drop_full_segments(base / "archive")
                    else:
                        peer.append(pwrite_round(plain, source))
    finally:
        shutil.rmtree(base, ignore_errors=True)
    ratios = [mine / theirs for mine, theirs in zip(ours, peer, strict=True)]
    return {
        "figure": "record",
        "size": size,
        "ours": round(statistics.median(ours) / 1e9, 3),
        "peer": round(statistics.median(peer) / 1e9, 3),
        "ratio": round(statistics.median(ratios), 3),
        "peer_name": "pwrite loop",
        "unit": "GB/s",
        "spread": [round(min(ratios), 3), round(max(ratios), 3)],
    }


def figures() -> Iterator[dict[str, object]]:
    """One line for each size."""
    for size in SIZES:
        yield measure(size)
