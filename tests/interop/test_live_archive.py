"""A recording of a running Java archive, read while it grows, up to the position that the archive publishes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from aeronpy.recording import EdgeKind, open_archive
from aeronpy.recording.scan import EngineName
from tests.interop import peers
from tests.interop.lines import Process
from tests.interop.stage import Stage, free_port

BATCH, BATCHES = 500, 6


def payload_of(index: int) -> bytes:
    """What the Java program sends."""
    return index.to_bytes(4, "little") * (1 + index * 37 % 700)


@pytest.fixture
def archive(stage: Stage, tmp_path: Path) -> Iterator[tuple[Process, Path]]:
    peers.compile_java()
    aeron_dir = Path("/dev/shm") / f"aeronpy-interop-live-{tmp_path.name}"
    directory = tmp_path / "archive"
    command = [*peers.java_command("ArchiveRecord"), str(aeron_dir), str(directory), str(free_port())]
    yield stage.process("archive", command), directory
    shutil.rmtree(aeron_dir, ignore_errors=True)


@pytest.mark.parametrize("engine", ["c", "numpy"])
def test_what_a_running_java_archive_has_recorded_is_read(archive: tuple[Process, Path], engine: EngineName) -> None:
    process, directory = archive
    recording_id = int(process.expect("RECORDING")["value"])
    received, position = 0, 0
    for batch in range(1, BATCHES + 1):
        process.tell(str(BATCH))
        sent = process.expect("SENT")
        total, end = int(sent["total"]), int(sent["position"])
        assert total == batch * BATCH
        recording = open_archive(directory, engine=engine).recording(recording_id)
        edge = recording.edge()
        assert (edge.kind, edge.position) == (EdgeKind.COUNTER, end)
        for message in recording.messages(position, on_incomplete="fail"):
            assert message.payload == payload_of(received)
            position = message.end_position
            received += 1
        assert (received, position) == (total, end)
