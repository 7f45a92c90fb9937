"""A recording read while it grows: what is read is always a true beginning of what was sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aeronpy import Aeron
from aeronpy.archive import Archive
from aeronpy.driver import MediaDriver
from aeronpy.recording import EdgeKind, open_archive
from aeronpy.recording.scan import EngineName

MESSAGES = 20_000
DEADLINE_S = 40


@pytest.fixture
def aeron() -> Iterator[Aeron]:
    with MediaDriver.launch_embedded() as driver, Aeron.connect(aeron_dir=driver.aeron_dir) as client:
        yield client


def payload_of(index: int) -> bytes:
    """Some longer than a datagram, so that fragments lie at every edge."""
    return index.to_bytes(4, "little") * (1 + index * 37 % 700)


@pytest.mark.parametrize("engine", ["c", "numpy"])
def test_a_growing_recording_is_read_piece_by_piece_without_loss(
    aeron: Aeron, tmp_path: Path, engine: EngineName
) -> None:
    with Archive.open(tmp_path, aeron, segment_length=131072, low_storage_space_threshold=0) as archive:
        request = archive.start_recording("aeron:ipc", 1001)
        with aeron.add_exclusive_publication("aeron:ipc?term-length=64k", 1001) as publication:
            recording_id = request.await_recording()

            def publish() -> None:
                for index in range(MESSAGES):
                    publication.send(payload_of(index), timeout_s=DEADLINE_S)

            publisher = threading.Thread(target=publish)
            publisher.start()
            deadline = time.monotonic() + DEADLINE_S
            received, position, reads = 0, 0, 0
            while received < MESSAGES:
                assert time.monotonic() < deadline, f"{received} of {MESSAGES} messages after {reads} reads"
                recording = open_archive(tmp_path, engine=engine).recording(recording_id)
                assert recording.edge().kind is EdgeKind.COUNTER
                for message in recording.messages(position, on_incomplete="fail"):
                    assert message.payload == payload_of(received)
                    assert message.position >= position
                    position = message.end_position
                    received += 1
                reads += 1
            publisher.join()
            end = publication.position
        assert request.await_ended(10)

    stopped = open_archive(tmp_path, engine=engine).recording(recording_id)
    assert stopped.edge().kind is EdgeKind.STOPPED
    assert stopped.stop_position == end
    assert [m.payload for m in stopped.messages()] == [payload_of(index) for index in range(MESSAGES)]
    assert stopped.check() == []
    assert reads > 1
