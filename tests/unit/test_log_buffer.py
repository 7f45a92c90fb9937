"""Log files through Python: life of the mapping, what is refused, fields, claims."""

from __future__ import annotations

import gc
import os
import struct
from array import array
from pathlib import Path
from typing import Any

import pytest

from aeronpy._core.native import LogAppender, LogBuffer, parse_duration_ns
from aeronpy.errors import ArgumentError, CorruptError, NotFoundError, StateError, TooLongError

TERM_LENGTH = 65536
FAR = 1 << 60


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "1.logbuffer"


def new_log(path: Path, **params: Any) -> LogBuffer:
    return LogBuffer.create(path, term_length=TERM_LENGTH, session_id=-5, stream_id=1001, **params)


def is_mapped(path: Path) -> bool:
    return str(path) in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize(
    ("text", "expected"), [("0", 0), ("15", 15), ("15ns", 15), ("2us", 2_000), ("1ms", 10**6), ("3s", 3 * 10**9)]
)
def test_durations_become_nanoseconds(text: str, expected: int) -> None:
    assert parse_duration_ns(text) == expected


@pytest.mark.parametrize("text", ["", "1m", "-1s", "1.5s", "ten", "9223372037s"])
def test_what_is_no_duration_is_refused_by_name(text: str) -> None:
    with pytest.raises(ArgumentError, match=f'"{text}" is not a duration'):
        parse_duration_ns(text)


def test_a_view_keeps_the_file_mapped_after_close(path: Path) -> None:
    log = new_log(path)
    LogAppender(log, array("q", [FAR])).offer(b"old bytes")
    view = log.term(0)[32:41]
    log.close()
    log.close()

    assert log.closed
    assert is_mapped(path)
    assert bytes(view) == b"old bytes"
    del view
    gc.collect()
    assert not is_mapped(path)


def test_without_views_close_unmaps(path: Path) -> None:
    with new_log(path) as log:
        assert is_mapped(path)
    assert not is_mapped(path)
    for use in (lambda: log.term(0), log.metadata, log.fields, lambda: log.producer_position, log.__enter__):
        with pytest.raises(StateError, match="closed"):
            use()


def test_an_appender_of_a_closed_log_refuses(path: Path) -> None:
    log = new_log(path)
    appender = LogAppender(log, array("q", [FAR]))
    log.close()

    with pytest.raises(StateError, match="closed"):
        appender.offer(b"x")
    with pytest.raises(StateError, match="closed"):
        appender.claim(1)


def test_a_fork_refuses_to_work_on_its_parents_log(path: Path) -> None:
    log = new_log(path)
    pid = os.fork()
    if pid == 0:
        try:
            log.fields()
        except StateError as error:
            os._exit(0 if "fork" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    log.close()


def test_what_was_created_is_what_is_opened(path: Path) -> None:
    params = {"initial_term_id": 7, "term_id": 9, "term_offset": 64, "mtu_length": 4096, "correlation_id": 33}
    with new_log(path, **params), LogBuffer.open(path) as log:
        fields = log.fields()
        assert fields["tails"] == (7 << 32, 8 << 32, (9 << 32) + 64)
        assert fields["default_header"] == struct.pack("<iBBHiiiiq", 0, 0, 0xC0, 1, 0, -5, 1001, 7, 0)
        assert (fields["correlation_id"], fields["mtu_length"], fields["type"]) == (33, 4096, 0)
        assert (log.session_id, log.stream_id, log.initial_term_id) == (-5, 1001, 7)
        assert (log.term_length, log.mtu_length, log.active_term_count) == (TERM_LENGTH, 4096, 2)
        assert log.producer_position == 2 * TERM_LENGTH + 64
        assert bytes(log.metadata()[264:268]) == struct.pack("<i", 7)


def test_files_that_are_no_logs_are_refused(path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"1\.logbuffer"):
        LogBuffer.open(path)
    path.write_bytes(bytes(200704))
    with pytest.raises(CorruptError, match="term length 0"):
        LogBuffer.open(path)
    path.write_bytes(b"short")
    with pytest.raises(CorruptError, match="5 bytes cannot hold a log"):
        LogBuffer.open(path)


def test_logs_that_cannot_be_are_refused_and_leave_no_file(path: Path) -> None:
    with pytest.raises(ArgumentError, match="term length 1000"):
        LogBuffer.create(path, term_length=1000)
    with pytest.raises(ArgumentError, match="MTU 33"):
        LogBuffer.create(path, term_length=TERM_LENGTH, mtu_length=33)
    assert not path.exists()


def test_views_are_read_only_and_claims_are_not(path: Path) -> None:
    with new_log(path) as log:
        assert log.term(0).readonly
        assert log.metadata().readonly
        result, claim = LogAppender(log, array("q", [FAR])).claim(5)
        assert result == 64
        assert claim is not None
        claim.buffer[:] = b"claim"
        assert struct.unpack_from("<i", log.term(0)) == (-37,)
        claim.commit()
        assert struct.unpack_from("<i", log.term(0)) == (37,)
        assert bytes(log.term(0)[32:37]) == b"claim"
        for use in (claim.commit, claim.abort, lambda: claim.buffer):
            with pytest.raises(StateError, match="committed or aborted"):
                use()


def test_too_long_raises_and_codes_are_results(path: Path) -> None:
    limit = array("q", [0])
    with new_log(path) as log:
        appender = LogAppender(log, limit)
        assert appender.offer(b"x") == -1
        log.is_connected = True
        assert appender.offer(b"x") == -2
        assert appender.claim(1) == (-2, None)
        limit[0] = FAR
        with pytest.raises(TooLongError, match="8193 bytes"):
            appender.offer(bytes(8193))
        with pytest.raises(TooLongError, match="1377 bytes"):
            appender.claim(1377)
        with pytest.raises(StateError, match="exclusive"):
            appender.append_padding(1)
        with pytest.raises(ArgumentError, match="17 parts"):
            appender.offer(*[b""] * 17)
        assert appender.position == 0


def test_a_part_that_is_no_buffer_appends_nothing(path: Path) -> None:
    with new_log(path) as log:
        appender = LogAppender(log, array("q", [FAR]))
        with pytest.raises(TypeError):
            appender.offer(b"good", 5)  # type: ignore[arg-type]
        assert appender.position == 0


def test_positions_outside_a_log_are_refused(path: Path) -> None:
    with new_log(path) as log:
        for position in (-32, 5):
            with pytest.raises(ArgumentError):
                log.unblock(position)
            with pytest.raises(ArgumentError):
                log.scan(position, 1408)
            with pytest.raises(ArgumentError):
                log.clean(position, 64)
        with pytest.raises(ArgumentError):
            log.term(3)
