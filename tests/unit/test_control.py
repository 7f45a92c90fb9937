"""The CnC file, its counters, the error log and the loss report as Python sees them."""

from __future__ import annotations

import gc
import mmap
import os
import struct
from pathlib import Path

import pytest

from aeronpy._core.native import CncFile, read_error_log, read_loss_report
from aeronpy.errors import ArgumentError, CorruptError, NotFoundError, StateError, VersionError
from tests.unit.cnc_files import ERRORS, ERRORS_AT, METADATA_AT, CncBytes, loss_entry


def test_the_header_says_who_and_when(tmp_path: Path) -> None:
    written = CncBytes()
    written.ring_field(128, 4096 * 10 + 64)
    written.ring_field(384, 4096 * 10 + 24)
    with CncFile(written.write(tmp_path)) as cnc:
        assert cnc.directory == str(tmp_path)
        assert cnc.version == (0, 2, 0)
        assert (cnc.pid, cnc.start_timestamp_ms) == (4711, 1_700_000_000_000)
        assert cnc.client_liveness_timeout_ns == 10_000_000_000
        assert cnc.file_page_size == 4096  # the file says 0, as drivers before 1.48
        assert cnc.heartbeat_timestamp_ms == written.heartbeat_ms
        assert (cnc.to_driver_producer_position, cnc.to_driver_consumer_position) == (41024, 40984)
        assert (cnc.to_driver_size, cnc.to_driver_capacity) == (40, 4096)
        assert cnc.counters.max_counter_id == 63


def test_counters_are_the_allocated_ones_up_to_the_first_unused(tmp_path: Path) -> None:
    written = CncBytes()
    written.counter(0, 0, "Bytes sent", 77, registration_id=0, owner_id=-1, key=struct.pack("<i", 0))
    written.counter(1, 1, "reclaimed", 1, state=-1)
    written.counter(2, 11, "client-heartbeat: id=9", 5, registration_id=9, owner_id=9, reference_id=-3)
    written.counter(4, 0, "beyond the end")
    with CncFile(written.write(tmp_path)) as cnc:
        first, second = cnc.counters
        assert (first.counter_id, first.label, first.value, first.owner_id) == (0, "Bytes sent", 77, -1)
        assert (second.counter_id, second.type_id, second.registration_id) == (2, 11, 9)
        assert (second.reference_id, second.state, len(second.key)) == (-3, 1, 112)
        assert cnc.counters.info(1) is None
        assert cnc.counters.info(3) is None
        found = cnc.counters.info(2)
        assert found is not None
        assert found.label == "client-heartbeat: id=9"
        assert cnc.counters.value(0) == 77


def test_a_label_that_the_c_driver_cut_loses_its_nul(tmp_path: Path) -> None:
    written = CncBytes()
    written.counter(0, 1, b"x" * 379 + b"\0")
    with CncFile(written.write(tmp_path)) as cnc:
        assert [each.label for each in cnc.counters] == ["x" * 379]


def test_counters_are_found_by_registration_and_by_key(tmp_path: Path) -> None:
    written = CncBytes()
    for counter_id in range(64):
        written.counter(counter_id, 10, "x", registration_id=100 + counter_id, key=struct.pack("<q", 200 + counter_id))
    with CncFile(written.write(tmp_path)) as cnc:
        assert cnc.counters.find_by_registration(10, 163) == 63
        assert cnc.counters.find_by_registration(11, 163) is None
        assert cnc.counters.find_by_key(10, 200) == 0
        assert cnc.counters.find_by_key(10, 264) is None


@pytest.mark.parametrize("counter_id", [-1, 64, 1 << 30])
def test_ids_outside_of_the_file_are_refused(tmp_path: Path, counter_id: int) -> None:
    with CncFile(CncBytes().write(tmp_path)) as cnc:
        with pytest.raises(ArgumentError, match="0 to 63"):
            cnc.counters.value(counter_id)
        with pytest.raises(ArgumentError, match="0 to 63"):
            cnc.counters.info(counter_id)


def test_values_are_live(tmp_path: Path) -> None:
    written = CncBytes()
    written.counter(0, 0, "x", 1)
    written.write(tmp_path)
    with CncFile(tmp_path) as cnc, (tmp_path / "cnc.dat").open("r+b") as file:
        with mmap.mmap(file.fileno(), 0) as mapped:
            at = ERRORS_AT - 128 * 64
            mapped[at : at + 8] = struct.pack("<q", 42)
        assert cnc.counters.value(0) == 42


def test_errors_come_in_order_and_can_be_limited_to_recent_ones(tmp_path: Path) -> None:
    written = CncBytes()
    written.error("unknown publication", 3, 1000, 5000)
    written.error("größer", 1, 2000, 2000)
    with CncFile(written.write(tmp_path)) as cnc:
        first, second = cnc.errors()
        assert (first.observations, first.first_observation_ms, first.last_observation_ms) == (3, 1000, 5000)
        assert (first.text, second.text) == ("unknown publication", "größer")
        assert [each.text for each in cnc.errors(since_ms=2001)] == ["unknown publication"]
        section = cnc.error_log()
    assert len(section) == ERRORS
    assert [each.text for each in read_error_log(section)] == ["unknown publication", "größer"]
    # at an odd address too
    assert next(read_error_log(memoryview(b"?" + section)[1:])).text == "unknown publication"


def test_loss_entries_are_read_whatever_their_lengths() -> None:
    channels = ["aeron:udp?endpoint=127.0.0.1:25001", "a", "ab", "abc", "x" * 300]
    report = b"".join(loss_entry((i + 1, i * 10, 1, 2, -i, 7), c, "127.0.0.1:56698") for i, c in enumerate(channels))
    found = list(read_loss_report(report))
    assert [each.channel for each in found] == channels
    assert {each.source for each in found} == {"127.0.0.1:56698"}
    assert (found[2].observations, found[2].bytes_lost, found[2].session_id, found[2].stream_id) == (3, 20, -2, 7)
    assert list(read_loss_report(b"")) == []


def test_closed_things_refuse_to_work(tmp_path: Path) -> None:
    written = CncBytes()
    written.counter(0, 0, "x")
    written.counter(1, 0, "y")
    written.error("a", 1, 1, 1)
    cnc = CncFile(written.write(tmp_path))
    counters, errors = cnc.counters, cnc.errors()
    walk = iter(counters)
    next(walk)
    cnc.close()
    cnc.close()
    assert cnc.closed
    for use in (
        lambda: counters.value(0),
        lambda: counters.info(0),
        lambda: counters.find_by_key(0, 0),
        lambda: counters.find_by_registration(0, 0),
        lambda: next(walk),
        lambda: next(errors),
        lambda: cnc.pid,
        lambda: cnc.counters,
        cnc.error_log,
        cnc.__enter__,
    ):
        with pytest.raises(StateError, match="closed"):
            use()


def test_counters_keep_the_file_that_nobody_else_holds(tmp_path: Path) -> None:
    written = CncBytes()
    written.counter(0, 0, "kept", 5)
    counters = CncFile(written.write(tmp_path)).counters
    gc.collect()
    assert counters.value(0) == 5


def test_a_fork_refuses_to_use_its_parents_mapping(tmp_path: Path) -> None:
    with CncFile(CncBytes().write(tmp_path)) as cnc:
        pid = os.fork()
        if pid == 0:
            try:
                cnc.counters.value(0)
            except StateError as error:
                os._exit(0 if "fork" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_what_cannot_be_mapped_says_why(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"cnc\.dat"):
        CncFile(tmp_path)
    CncBytes(version=0).write(tmp_path)
    with pytest.raises(StateError, match="not finished starting"):
        CncFile(tmp_path)
    CncBytes(version=0x010203).write(tmp_path)
    with pytest.raises(VersionError, match=r"1\.2\.3.*0\.2\.0"):
        CncFile(str(tmp_path))
    with pytest.raises(TypeError):
        CncFile(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("offset", "length"),
    [(o, n) for o in (4, 8, 12, 16, 20) for n in (-1, 3, 1 << 30, (1 << 31) - 1) if (o, n) != (20, 3)],
)
def test_a_broken_header_is_corruption_not_a_crash(tmp_path: Path, offset: int, length: int) -> None:
    written = CncBytes()
    struct.pack_into("<i", written.data, offset, length)
    with pytest.raises(CorruptError):
        CncFile(written.write(tmp_path))


def test_broken_records_are_told_after_what_is_whole(tmp_path: Path) -> None:
    written = CncBytes()
    written.counter(0, 0, "whole")
    written.counter(1, 0, "broken")
    struct.pack_into("<i", written.data, METADATA_AT + 512 + 128, 381)
    written.error("whole", 1, 1, 1)
    struct.pack_into("<i", written.data, ERRORS_AT + 32, 1 << 20)
    with CncFile(written.write(tmp_path)) as cnc:
        walk = iter(cnc.counters)
        assert next(walk).label == "whole"
        assert "a label of 381 bytes" in next(walk).label
        assert next(walk, None) is None
        errors = cnc.errors()
        assert next(errors).text == "whole"
        with pytest.raises(CorruptError, match="offset 32"):
            next(errors)
    entry = bytearray(loss_entry((1, 1, 1, 1, 1, 1), "channel", "source"))
    struct.pack_into("<i", entry, 40, 1 << 20)
    with pytest.raises(CorruptError, match="offset 0"):
        list(read_loss_report(entry))
