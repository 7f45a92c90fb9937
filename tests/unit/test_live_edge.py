"""How far a recording that nobody has stopped may be read: counter, recovery, or whole segments."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from aeronpy.errors import CorruptError, VersionError
from aeronpy.recording import EdgeKind, find_mark_file, open_archive, read_catalog, read_mark_file
from aeronpy.recording.live_edge import find_edge
from aeronpy.recording.scan import EngineName
from tests.recording_tapes import (
    BEGIN,
    DATA,
    NOW_MS,
    TERM,
    WHOLE,
    Tape,
    catalog_bytes,
    recording_counter_key,
    write_archive,
    write_mark_file,
)
from tests.unit.cnc_files import CncBytes

ARCHIVE_ID = 9
PAGE = 4096


def live_tape(messages: int = 100) -> Tape:
    tape = Tape(recording_id=3, stop_position=-1)
    for index in range(messages):
        tape.message(bytes([index]) * 2000, index)
    return tape


def write_counter(
    aeron_dir: Path, position: int, *, recording_id: int = 3, archive_id: int = ARCHIVE_ID, state: int = 1
) -> Path:
    aeron_dir.mkdir(exist_ok=True)
    cnc = CncBytes()
    cnc.counter(0, 0, "Bytes sent", 5)
    cnc.counter(1, 100, "rec-pos: other", 64, key=recording_counter_key(99, 42, 1001, "127.0.0.1:9", archive_id))
    cnc.counter(2, 100, "rec-pos: of another archive", 96, key=recording_counter_key(3, 42, 1001, "aeron:ipc", 8))
    key = recording_counter_key(recording_id, 42, 1001, "127.0.0.1:9", archive_id)
    cnc.counter(3, 100, "rec-pos: 3", position, key=key, state=state)
    return cnc.write(aeron_dir)


def write_live(directory: Path, tape: Tape, *, activity_ms: int = NOW_MS - 500) -> Path:
    write_archive(directory, tape)
    write_mark_file(directory / "archive-mark.dat", activity_ms=activity_ms, aeron_dir=str(directory / "driver"))
    return directory


def edge_of(directory: Path, tape: Tape, now_ms: int = NOW_MS) -> tuple[int, EdgeKind]:
    edge = find_edge(directory, read_catalog(directory).entry(tape.recording_id), now_ms=now_ms)
    return edge.position, edge.kind


def test_a_stopped_recording_ends_where_the_catalog_says(tmp_path: Path) -> None:
    tape = Tape()
    tape.message(b"x")

    assert edge_of(write_archive(tmp_path, tape), tape) == (64, EdgeKind.STOPPED)


def test_a_living_archive_s_counter_is_the_edge_and_data_beyond_is_not_read(tmp_path: Path) -> None:
    tape = live_tape()
    edge = tape.messages[40].position
    write_live(tmp_path, tape, activity_ms=time.time_ns() // 1_000_000)
    write_counter(tmp_path / "driver", edge)

    recording = open_archive(tmp_path).recording(3)

    assert (recording.edge().position, recording.edge().kind) == (edge, EdgeKind.COUNTER)
    assert [m.reserved_value for m in recording.messages()] == list(range(40))


@pytest.mark.parametrize("engine", ["c", "numpy"])
def test_a_message_that_is_open_at_a_live_edge_is_held_back_without_complaint(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, engine: EngineName
) -> None:
    tape = live_tape()
    write_live(tmp_path, tape, activity_ms=time.time_ns() // 1_000_000)
    write_counter(tmp_path / "driver", tape.messages[40].position + 1408)
    recording = open_archive(tmp_path, engine=engine).recording(3)

    assert len(list(recording.messages(on_incomplete="fail"))) == 40
    assert caplog.text == ""


def test_the_driver_may_be_named_by_the_caller(tmp_path: Path) -> None:
    tape = live_tape()
    write_live(tmp_path, tape, activity_ms=time.time_ns() // 1_000_000)
    elsewhere = write_counter(tmp_path / "elsewhere", 32)

    assert open_archive(tmp_path, aeron_dir=elsewhere).recording(3).edge().position == 32


def test_a_counter_that_has_gone_means_that_the_catalog_is_read_again(tmp_path: Path) -> None:
    tape = live_tape()
    write_live(tmp_path, tape)
    write_counter(tmp_path / "driver", 64, state=-1)
    stale = read_catalog(tmp_path).entry(3)
    tape.stop_position = tape.position
    (tmp_path / "archive.catalog").write_bytes(catalog_bytes([tape]))

    edge = find_edge(tmp_path, stale, now_ms=NOW_MS)

    assert (edge.position, edge.kind) == (tape.position, EdgeKind.STOPPED)


def test_without_a_counter_only_segments_that_others_follow_are_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tape = live_tape()
    write_live(tmp_path, tape)
    assert tape.position > tape.segment_length

    assert edge_of(tmp_path, tape) == (tape.segment_length, EdgeKind.SEGMENTS)
    assert f"data from position {tape.segment_length} on is left out" in caplog.text


def test_a_copy_without_a_mark_file_is_read_by_whole_segments(tmp_path: Path) -> None:
    tape = Tape(start_position=4096, stop_position=-1)
    tape.message(b"x")
    write_archive(tmp_path, tape)

    assert edge_of(tmp_path, tape) == (4096, EdgeKind.SEGMENTS)


@pytest.mark.parametrize("position", [-32, 33])
def test_a_counter_of_nonsense_is_refused(tmp_path: Path, position: int) -> None:
    tape = live_tape()
    write_live(tmp_path, tape)
    write_counter(tmp_path / "driver", position)

    with pytest.raises(CorruptError, match=f"has {position}, which is no frame's end"):
        edge_of(tmp_path, tape)


# --- an archive that died ---


def recovered(directory: Path, tape: Tape) -> int:
    write_live(directory, tape, activity_ms=NOW_MS - 10_000)
    position, kind = edge_of(directory, tape)
    assert kind is EdgeKind.RECOVERED
    return position


def test_a_dead_archive_s_recording_ends_behind_its_last_frame(tmp_path: Path) -> None:
    tape = live_tape()

    assert recovered(tmp_path, tape) == tape.position


def test_recovery_starts_at_the_start_position_within_the_first_segment(tmp_path: Path) -> None:
    tape = Tape(start_position=TERM + 4096, stop_position=-1)
    tape.message(b"x" * 100)

    assert recovered(tmp_path, tape) == TERM + 4096 + 160


def test_recovery_of_an_empty_last_segment_ends_at_its_base(tmp_path: Path) -> None:
    tape = Tape(stop_position=-1)
    tape.pad(TERM)
    tape.pad(TERM)
    directory = tmp_path / "a"
    directory.mkdir()
    (directory / f"0-{2 * TERM}.rec").write_bytes(bytes(2 * TERM))

    assert recovered(directory, tape) == 2 * TERM


def test_recovery_without_files_ends_at_the_start(tmp_path: Path) -> None:
    tape = Tape(start_position=4096, stop_position=-1)
    write_live(tmp_path, tape, activity_ms=-1)
    (tmp_path / "0-0.rec").unlink()

    assert edge_of(tmp_path, tape) == (4096, EdgeKind.RECOVERED)


def straddling(payload: bytes, kind: int = DATA) -> tuple[Tape, int]:
    """A last frame that crosses from one page of the file into the next two."""
    tape = Tape(stop_position=-1)
    tape.message(b"first")
    tape.pad(PAGE - 64 - tape.position)
    at = tape.frame(WHOLE, kind, len(payload) + 32, payload)
    assert at == PAGE - 64
    return tape, at


@pytest.mark.parametrize(
    ("payload", "is_complete"),
    [
        (b"x" * 32 + b"y" * 2 * PAGE, True),
        (b"x" * 32 + bytes(2 * PAGE), False),
        (b"x" * 32 + b"y" * PAGE + bytes(PAGE), False),
        (b"x" * 32 + bytes(PAGE - 1) + b"y" + bytes(PAGE - 1) + b"y", True),
        (b"\0" * 32, True),
    ],
)
def test_a_last_frame_over_pages_counts_only_if_none_of_its_later_pages_is_empty(
    tmp_path: Path, payload: bytes, is_complete: bool, caplog: pytest.LogCaptureFixture
) -> None:
    tape, at = straddling(payload)

    assert recovered(tmp_path, tape) == (tape.position if is_complete else at)
    assert ("may be half written" in caplog.text) is not is_complete


def test_a_last_padding_frame_over_pages_is_complete_by_its_header(tmp_path: Path) -> None:
    tape, _ = straddling(bytes(3 * PAGE), kind=0)

    assert recovered(tmp_path, tape) == tape.position


def test_a_header_that_contradicts_its_position_stops_recovery_with_an_error(tmp_path: Path) -> None:
    tape = live_tape(5)
    at = tape.messages[3].position
    tape.data[at + 8 : at + 12] = b"\1\2\3\4"

    with pytest.raises(CorruptError, match=f"position {at}, .*its end cannot be found"):
        recovered(tmp_path, tape)


def test_a_dead_archive_s_incomplete_last_message_is_incomplete_not_pending(tmp_path: Path) -> None:
    tape = Tape(stop_position=-1)
    tape.message(b"whole")
    tape.frame(BEGIN, DATA, 64, b"a" * 32)
    write_live(tmp_path, tape, activity_ms=-1)

    with pytest.raises(CorruptError, match="lacks a fragment"):
        list(open_archive(tmp_path).recording(0).messages(on_incomplete="fail"))


# --- mark files ---


def test_a_mark_file_tells_who_runs_the_archive(tmp_path: Path) -> None:
    write_mark_file(tmp_path / "archive-mark.dat", activity_ms=NOW_MS, aeron_dir="/dev/shm/x", archive_id=12)

    mark = read_mark_file(tmp_path / "archive-mark.dat")

    assert mark is not None
    assert (mark.pid, mark.archive_id, mark.aeron_directory) == (77, 12, "/dev/shm/x")
    assert (mark.control_stream_id, mark.local_control_stream_id, mark.events_stream_id) == (10, 11, 30)
    assert (mark.control_channel, mark.events_channel) == ("aeron:udp?endpoint=localhost:8010", "")


@pytest.mark.parametrize(
    ("activity_ms", "is_alive"),
    [(NOW_MS, True), (NOW_MS - 9_999, True), (NOW_MS - 10_000, False), (-1, False), ((1 << 63) - 1, True)],
)
def test_an_archive_lives_while_it_says_so_every_ten_seconds(tmp_path: Path, activity_ms: int, is_alive: bool) -> None:
    write_mark_file(tmp_path / "archive-mark.dat", activity_ms=activity_ms)

    mark = read_mark_file(tmp_path / "archive-mark.dat")

    assert mark is not None
    assert mark.is_alive(NOW_MS) is is_alive


def test_a_link_file_leads_to_the_mark_file(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_mark_file(elsewhere / "archive-mark.dat", activity_ms=1)
    assert find_mark_file(tmp_path) is None

    (tmp_path / "archive-mark.lnk").write_text(f"{elsewhere}\n")

    assert find_mark_file(tmp_path) == elsewhere / "archive-mark.dat"


def test_a_mark_file_in_the_making_is_none_and_a_foreign_one_an_error(tmp_path: Path) -> None:
    path = tmp_path / "archive-mark.dat"
    write_mark_file(path, activity_ms=1, version=0)
    assert read_mark_file(path) is None

    write_mark_file(path, activity_ms=1, version=2 << 16)
    with pytest.raises(VersionError, match="file format 2.0.0"):
        read_mark_file(path)
    path.write_bytes(bytes(8192))
    with pytest.raises(VersionError, match="no mark file of this format"):
        read_mark_file(path)
    path.write_bytes(b"short")
    with pytest.raises(CorruptError, match="too few"):
        read_mark_file(path)
