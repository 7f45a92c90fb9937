"""Recording with our own driver and client: requests, several images, ends, and what the counters say."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aeronpy import Aeron
from aeronpy.archive import Archive
from aeronpy.driver import MediaDriver
from aeronpy.errors import ActiveError, AeronTimeoutError, ArchiveError, ArgumentError, StateError, StorageError
from aeronpy.recording import open_archive, read_catalog, read_mark_file

IPC = "aeron:ipc?term-length=64k"


@pytest.fixture
def aeron() -> Iterator[Aeron]:
    with MediaDriver.launch_embedded() as driver, Aeron.connect(aeron_dir=driver.aeron_dir) as client:
        yield client


def opened(path: Path, aeron: Aeron, **options: object) -> Archive:
    settings = {"segment_length": 131072, "low_storage_space_threshold": 0, **options}
    return Archive.open(path, aeron, **settings)  # type: ignore[arg-type]


def eventually(condition: Callable[[], bool], timeout_s: float = 10.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.001)


def test_recording_runs_from_the_first_image_to_the_end_of_its_stream(aeron: Aeron, tmp_path: Path) -> None:
    with opened(tmp_path, aeron, archive_id=42) as archive:
        recording = archive.start_recording("aeron:ipc", 1001)
        with pytest.raises(AeronTimeoutError):
            recording.await_recording(timeout_s=0.01)
        with aeron.add_exclusive_publication(IPC, 1001) as publication:
            recording_id = recording.await_recording()
            for _ in range(2000):
                publication.send(b"x" * 300, timeout_s=10)
            end = publication.position
            eventually(lambda: archive.get_recording_position(recording_id) == end)
            assert archive.get_stop_position(recording_id) == -1
            session_id = publication.session_id
        assert recording.await_ended(10)
        assert archive.get_stop_position(recording_id) == end
        assert archive.get_recording_position(recording_id) == -1
        (descriptor,) = archive.recordings(stream_id=1001)
        assert descriptor.session_id == session_id
        assert descriptor.stop_timestamp >= descriptor.start_timestamp
        assert archive.recordings(stream_id=1002) == []
        assert not recording.is_stopped  # later images would be recorded too
    files = sorted(path.name for path in tmp_path.glob("*.rec"))
    assert len(files) == end // 131072 + 1


def test_position_counter_names_the_recording(aeron: Aeron, tmp_path: Path) -> None:
    with (
        opened(tmp_path, aeron, archive_id=42) as archive,
        aeron.add_exclusive_publication(IPC, 1001) as publication,
        archive.start_recording(f"aeron:ipc?alias=prices|session-id={publication.session_id}", 1001) as recording,
    ):
        recording_id = recording.await_recording()
        publication.send(b"hello", timeout_s=10)
        counters = aeron.counters_reader
        (counter,) = [each for each in counters if each.type_id == 100]
        expected = struct.pack("<qii", recording_id, publication.session_id, 9) + b"aeron:ipc" + struct.pack("<q", 42)
        assert counter.key[: len(expected)] == expected
        channel = f"aeron:ipc?session-id={publication.session_id}|alias=prices"
        assert counter.label == f"rec-pos: {recording_id} {publication.session_id} 1001 {channel} - archiveId=42"
        eventually(lambda: counters.value(counter.counter_id) == 64)


def test_each_image_is_a_recording_and_stop_ends_them_all(aeron: Aeron, tmp_path: Path) -> None:
    with opened(tmp_path, aeron) as archive:
        recording = archive.start_recording("aeron:ipc", 1001)
        with (
            aeron.add_exclusive_publication(IPC, 1001) as first,
            aeron.add_exclusive_publication(IPC, 1001) as second,
        ):
            first.send(b"a" * 100, timeout_s=10)
            second.send(b"b" * 5000, timeout_s=10)
            eventually(lambda: len(recording.recording_ids) == 2)
            ends = {first.session_id: first.position, second.session_id: second.position}
            eventually(
                lambda: {archive.get_recording_position(each) for each in recording.recording_ids} == set(ends.values())
            )
            recording.stop()
            recording.stop()
            assert {each.session_id: each.stop_position for each in archive.recordings()} == ends


def test_auto_stop_ends_the_request_with_its_first_recording(aeron: Aeron, tmp_path: Path) -> None:
    with opened(tmp_path, aeron) as archive:
        recording = archive.start_recording("aeron:ipc", 1001, auto_stop=True)
        with aeron.add_exclusive_publication(IPC, 1001) as publication:
            publication.send(b"once", timeout_s=10)
            recording.await_recording()
        assert recording.await_ended()
        eventually(lambda: recording.is_stopped)
        with aeron.add_exclusive_publication(IPC, 1001) as publication:
            assert not publication.is_connected
        assert len(archive.recordings()) == 1


def test_one_stream_is_recorded_once_and_again_after_its_stop(aeron: Aeron, tmp_path: Path) -> None:
    with opened(tmp_path, aeron) as archive:
        recording = archive.start_recording("aeron:ipc", 1001)
        with pytest.raises(ArchiveError, match="1001"):
            archive.start_recording("aeron:ipc?alias=other", 1001)
        recording.stop()
        archive.start_recording("aeron:ipc", 1001).stop()


def test_ids_go_on_after_a_restart(aeron: Aeron, tmp_path: Path) -> None:
    for expected in range(3):
        with (
            opened(tmp_path, aeron) as archive,
            archive.start_recording("aeron:ipc", 1001) as recording,
            aeron.add_exclusive_publication(IPC, 1001) as publication,
        ):
            publication.send(b"x", timeout_s=10)
            assert recording.await_recording() == expected


def test_directory_serves_one_archive_at_a_time(aeron: Aeron, tmp_path: Path) -> None:
    with opened(tmp_path, aeron) as archive:
        with pytest.raises(ActiveError):
            opened(tmp_path, aeron)
        assert archive.recordings() == []
    archive.close()
    with pytest.raises(StateError):
        archive.start_recording("aeron:ipc", 1001)
    opened(tmp_path, aeron).close()


def test_nearly_full_disk_takes_no_recording(aeron: Aeron, tmp_path: Path) -> None:
    with (
        opened(tmp_path, aeron, low_storage_space_threshold=1 << 60) as archive,
        pytest.raises(StorageError, match="bytes free"),
    ):
        archive.start_recording("aeron:ipc", 1001)


@pytest.mark.parametrize("options", [{"segment_length": 100_000}, {"file_io_max_length": 1000}, {"file_sync_level": 3}])
def test_options_out_of_bounds_are_refused(aeron: Aeron, tmp_path: Path, options: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match=str(next(iter(options.values())))):
        opened(tmp_path, aeron, **options)
    assert not (tmp_path / "archive-mark.dat").exists()


def test_failed_recording_is_reported_and_the_archive_goes_on(aeron: Aeron, tmp_path: Path) -> None:
    heard: list[Exception] = []
    (tmp_path / "0-131072.rec").write_bytes(b"somebody else's")
    with (
        opened(tmp_path, aeron, error_handler=heard.append) as archive,
        aeron.add_exclusive_publication(IPC, 1001) as publication,
    ):
        recording = archive.start_recording("aeron:ipc", 1001)
        recording.await_recording()
        deadline = time.monotonic() + 10
        while not heard and time.monotonic() < deadline:
            publication.offer(b"x" * 1000)
        with pytest.raises(StateError, match="0-131072.rec"):
            recording.await_ended()
        assert archive.get_stop_position(0) == 131072
        recording.stop()
        again = archive.start_recording("aeron:ipc", 1001)
        assert again.await_recording() == 1
    mark = (tmp_path / "archive-mark.dat").read_bytes()
    assert b"0-131072.rec exists already" in mark[8192:]


def test_death_of_the_driver_ends_the_recordings(tmp_path: Path) -> None:
    with MediaDriver.launch_embedded() as driver:
        aeron = Aeron.connect(aeron_dir=driver.aeron_dir)
        archive = opened(tmp_path, aeron)
        publication = aeron.add_exclusive_publication(IPC, 1001)
        recording = archive.start_recording("aeron:ipc", 1001)
        recording_id = recording.await_recording()
        publication.send(b"x" * 100, timeout_s=10)
        end = publication.position
        eventually(lambda: archive.get_recording_position(recording_id) == end)
        aeron.close()
        assert recording.await_ended(10)
        assert archive.get_stop_position(recording_id) == end
        archive.close()


EXITS_WITHOUT_CLOSING = """
import sys
from aeronpy import Aeron
from aeronpy.archive import Archive
aeron = Aeron.connect(aeron_dir=sys.argv[1])
archive = Archive.open(sys.argv[2], aeron, segment_length=131072, low_storage_space_threshold=0)
recording = archive.start_recording("aeron:ipc", 1001)
publication = aeron.add_exclusive_publication("aeron:ipc?term-length=64k", 1001)
recording.await_recording()
publication.send(b"x" * 100, timeout_s=10)
while archive.get_recording_position(0) < publication.position:
    pass
"""


def test_interpreter_that_exits_leaves_a_clean_archive(tmp_path: Path) -> None:
    with MediaDriver.launch_embedded() as driver:
        program = [sys.executable, "-c", EXITS_WITHOUT_CLOSING, driver.aeron_dir, str(tmp_path)]
        done = subprocess.run(program, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (descriptor,) = read_catalog(tmp_path).entries
    assert descriptor.stop_position == 160
    mark = read_mark_file(tmp_path / "archive-mark.dat")
    assert mark is not None
    assert mark.activity_timestamp == -1


def test_fork_of_an_archive_leaves_it_alone(aeron: Aeron, tmp_path: Path) -> None:
    with opened(tmp_path, aeron) as archive, archive.start_recording("aeron:ipc", 1001) as recording:
        publication = aeron.add_exclusive_publication(IPC, 1001)
        recording_id = recording.await_recording()
        child = os.fork()
        if child == 0:
            archive.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        publication.send(b"x" * 100, timeout_s=10)
        eventually(lambda: archive.get_recording_position(recording_id) == 160)
        assert archive.get_stop_position(recording_id) == -1


PUBLISHES_WITHOUT_END = """
import sys
from aeronpy import Aeron
aeron = Aeron.connect(aeron_dir=sys.argv[1])
publication = aeron.add_exclusive_publication("aeron:ipc?term-length=1m", 1001)
while True:
    publication.send(b"x" * 1000, timeout_s=30)
"""


def test_stalled_interpreter_stalls_neither_recording_nor_liveness(tmp_path: Path) -> None:
    """The driver and the publisher are processes of their own; this one holds the GIL for 2.5 seconds."""
    aeron_dir = tmp_path / "driver"
    driver = subprocess.Popen([sys.executable, "-m", "aeronpy.cli.driver", f"-Daeron.dir={aeron_dir}"])
    publisher = None
    try:
        with (
            Aeron.connect(aeron_dir=str(aeron_dir)) as aeron,
            opened(tmp_path / "archive", aeron, segment_length=1 << 20) as archive,
            archive.start_recording("aeron:ipc", 1001) as recording,
        ):
            publisher = subprocess.Popen([sys.executable, "-c", PUBLISHES_WITHOUT_END, str(aeron_dir)])
            recording_id = recording.await_recording(20)
            eventually(lambda: archive.get_recording_position(recording_id) > 0)
            before = archive.get_recording_position(recording_id)
            ctypes.PyDLL(None).usleep(2_500_000)
            after = archive.get_recording_position(recording_id)
            mark = read_mark_file(tmp_path / "archive" / "archive-mark.dat")
            now_ms = time.time_ns() // 1_000_000

        assert after - before > 4 << 20
        assert mark is not None
        assert now_ms - mark.activity_timestamp < 1_500
    finally:
        for process in (publisher, driver):
            if process is not None:
                process.terminate()
                process.wait(10)


def test_synchronised_files_hold_the_same(aeron: Aeron, tmp_path: Path) -> None:
    with (
        opened(tmp_path, aeron, file_sync_level=1, catalog_file_sync_level=2) as archive,
        archive.start_recording("aeron:ipc", 1001) as recording,
    ):
        with aeron.add_exclusive_publication(IPC, 1001) as publication:
            for number in range(300):
                publication.send(bytes([number & 255]) * 1000, timeout_s=10)
        assert recording.await_ended(20)
    (found,) = open_archive(tmp_path)
    assert [message.payload for message in found.messages()] == [bytes([n & 255]) * 1000 for n in range(300)]


def test_handler_that_fails_does_not_end_the_archive(aeron: Aeron, tmp_path: Path) -> None:
    def fail(error: Exception) -> None:
        raise RuntimeError("no use")

    (tmp_path / "0-0.rec").write_bytes(b"somebody else's")
    with opened(tmp_path, aeron, error_handler=fail) as archive, aeron.add_exclusive_publication(IPC, 1001):
        recording = archive.start_recording("aeron:ipc", 1001)
        with pytest.raises(StateError, match=r"0-0\.rec"):
            recording.await_recording()
        recording.stop()
        assert archive.get_stop_position(0) == 0
        with archive.start_recording("aeron:ipc", 1001) as again:
            assert again.await_recording() == 1
