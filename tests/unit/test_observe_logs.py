"""Log files as inspectors see them: metadata, frames, gaps, and what is no log."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from aeronpy.errors import ArgumentError, CorruptError, NotFoundError, StateError
from aeronpy.observe.logs import LogFile, find_log, log_paths
from tests.unit.log_files import METADATA_AT, TERM, LogBytes, busy_log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return busy_log().write(tmp_path / "publications" / "99.logbuffer")


def test_metadata_is_read_from_the_files_end(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(0)
    data = busy_log().data
    path.write_bytes(data[:METADATA_AT] + bytes(65536 - 4096) + data[METADATA_AT:])  # as with a page size of 64 KiB
    with LogFile(path) as log:
        fields = log.metadata.fields
        assert (fields["correlation_id"], fields["mtu_length"], fields["term_length"]) == (99, 1408, TERM)
        assert fields["end_of_stream_position"] == (1 << 63) - 1
        assert (log.metadata.default_header.session_id, log.metadata.default_header.stream_id) == (-5, 1001)
        assert [tail.position for tail in log.metadata.tails] == [4096, -2 * TERM, 0]
        assert [tail.term_offset for tail in log.metadata.tails] == [4096, 0, 70000]


def test_frames_end_with_what_is_not_one(path: Path) -> None:
    with LogFile(path) as log:
        found = list(log.frames(0, payload_max=5))
        assert [(each.offset, each.header.frame_length) for each in found] == [
            (0, 44),
            (64, 64),
            (128, 132),
            (288, 0),
        ]
        assert [each.payload for each in found] == [
            b"hello",
            bytes(5),
            b"<=>?@",
            b"\x28" + bytes(4),
        ]  # the last: what follows
        assert [each.header.type for each in found] == [1, 0, 1, 0]


def test_a_scan_over_zeroes_finds_what_lies_behind_a_gap(path: Path) -> None:
    with LogFile(path) as log:
        found = list(log.frames(0, over_zeroes=True))
        assert [each.offset for each in found] == [0, 64, 128, 288, 320, 384]
        assert found[-1].header.frame_length == -100
        assert len(found[-1].payload) == TERM - 384 - 32
        assert len(list(log.frames(1, over_zeroes=True))) == TERM // 32


def test_a_frame_that_runs_past_its_term_is_cut_there(tmp_path: Path) -> None:
    written = LogBytes()
    written.put(0, 1 << 30, b"x" * 8)
    with LogFile(written.write(tmp_path / "a.logbuffer")) as log:
        (only,) = log.frames(0)
        assert len(only.payload) == TERM - 32


def test_gaps_lie_between_frames_and_before_the_end(tmp_path: Path) -> None:
    image = LogBytes(kind=2)
    image.put(0, 44)
    image.put(96, 40)
    image.put(512, 1408)
    with LogFile(image.write(tmp_path / "1.logbuffer")) as log:
        assert log.gaps(0, 64) == []
        assert log.gaps(0, 160) == [(64, 32)]
        assert log.gaps(160, 512) == [(160, 352)]
        assert log.gaps(0, 2048) == [(64, 32), (160, 352), (1920, 128)]
        assert log.gaps(0, 2048, gaps_max=1) == [(64, 32)]
        # Seen over the end of a term, and from so far back that the log cannot hold it.
        assert log.gaps(TERM - 64, TERM + 64) == [(TERM - 64, 128)]
        assert log.gaps(0, 3 * TERM)[0] == (2 * TERM, TERM)


@pytest.mark.parametrize(
    ("at", "value", "what"),
    [
        (276, 0, "term length of 0"),
        (276, 65537, "term length of 65537"),
        (276, -(1 << 31), "term length"),
        (276, 1 << 30, "must have 3221229568"),
        (280, 0, "page size of 0"),
        (280, 4097, "page size of 4097"),
    ],
)
def test_lengths_that_cannot_be_are_named(path: Path, at: int, value: int, what: str) -> None:
    data = bytearray(path.read_bytes())
    struct.pack_into("<i", data, METADATA_AT + at, value)
    path.write_bytes(data)
    with pytest.raises(CorruptError, match=what):
        LogFile(path)


def test_other_things_are_no_logs(tmp_path: Path, path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no"):
        LogFile(tmp_path / "nothing")
    with pytest.raises(CorruptError, match="is not a regular file"):
        LogFile(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorruptError, match="is not a regular file"):
        LogFile(tmp_path / "pipe")
    (tmp_path / "short").write_bytes(bytes(200703))
    with pytest.raises(CorruptError, match="200703 bytes"):
        LogFile(tmp_path / "short")
    with pytest.raises(ArgumentError, match="not a path"):
        LogFile("a\0b")


def test_a_file_that_is_cut_short_meanwhile_is_an_error(path: Path) -> None:
    with LogFile(path) as log:
        os.truncate(path, 100)
        with pytest.raises(CorruptError, match="cut short"):
            list(log.frames(2))
    log.close()
    with pytest.raises(StateError, match="closed"):
        list(log.frames(0))


def test_a_range_outside_a_term_is_refused(path: Path) -> None:
    with LogFile(path) as log:
        for partition, offset, length in [(3, 0, 1), (-1, 0, 1), (0, TERM, 1), (0, -1, 1), (0, 0, -1)]:
            with pytest.raises(ArgumentError, match="terms have 65536"):
                log.read_term(partition, offset, length)


def test_logs_are_found_in_a_directory(tmp_path: Path, path: Path) -> None:
    image = LogBytes(kind=2).write(tmp_path / "images" / "100.logbuffer")
    second = LogBytes().write(tmp_path / "publications" / "101.logbuffer")
    (tmp_path / "publications" / "x.logbuffer").touch()
    assert log_paths(tmp_path) == [str(path), str(second), str(image)]
    assert log_paths(tmp_path / "nothing") == []
    assert find_log(tmp_path, 100) == str(image)
    assert find_log(tmp_path, 102) is None
