"""The CnC file laid open: rings, broadcast, counters and errors, and a word for all that is wrong."""

from __future__ import annotations

import os
import struct
import tempfile
from pathlib import Path

import pytest

from aeronpy.errors import CorruptError, NotFoundError, StorageError
from aeronpy.observe import files, open_cnc
from aeronpy.observe.cnc import read_cnc_report
from aeronpy.observe.files import map_file
from tests.unit.cnc_files import BROADCAST, END, ERRORS_AT, METADATA_AT, RING, RING_AT, VALUES_AT, CncBytes

CLIENTS_AT = RING_AT + RING


def test_a_whole_file_is_told_in_full(tmp_path: Path) -> None:
    written = CncBytes()
    written.counter(0, 0, "Bytes sent")
    written.counter(1, 1, "gone", state=-1)
    written.counter(2, 1, "pub-lmt")
    written.error("one", 1, 5, 5)
    written.error("another", 1, 5, 5)
    written.ring_field(128, 4096 + 40)
    written.ring_field(256, 64)
    written.ring_field(384, 4096)
    written.ring_field(512, 77)
    struct.pack_into("<ii", written.data, RING_AT, 24, 0x04)
    struct.pack_into("<ii", written.data, RING_AT + 24, -16, 0x06)
    struct.pack_into("<qqq", written.data, CLIENTS_AT + BROADCAST - 128, 24, 24, 0)
    struct.pack_into("<ii", written.data, CLIENTS_AT, 20, 0x0F07)
    report = read_cnc_report(written.write(tmp_path))

    assert report.problems == []
    assert report.header is not None
    assert (report.header.version_text, report.header.pid) == ("0.2.0", 4711)
    assert [(each.name, each.offset) for each in report.sections] == [
        ("to-driver", RING_AT),
        ("to-clients", CLIENTS_AT),
        ("counters-metadata", METADATA_AT),
        ("counters-values", VALUES_AT),
        ("error-log", ERRORS_AT),
    ]
    ring = report.to_driver
    assert ring is not None
    assert (ring.capacity, ring.next_correlation_id, ring.pending_bytes) == (4096, 77, 40)
    assert [(each.position, each.name) for each in ring.pending] == [
        (4096, "ADD_SUBSCRIPTION"),
        (4120, "being written, or left by a dead client"),
    ]
    assert report.to_clients is not None
    assert report.to_clients.latest_message is not None
    assert report.to_clients.latest_message.name == "ON_SUBSCRIPTION_READY"
    assert report.counters is not None
    assert (report.counters.capacity, report.counters.allocated, report.counters.reclaimed) == (64, 2, 1)
    assert report.error_log is not None
    assert (report.error_log.distinct_errors, report.error_log.used_bytes) == (2, 64)


@pytest.mark.parametrize(
    ("at", "value", "problem"),
    [
        (0, 0, "version is 0"),
        (0, 0x010000, "version is 1.0.0"),
        (4, 5000, "to-driver has 5000 bytes"),
        (8, -1, "to-clients has -1 bytes"),
        (12, 1 << 30, "counters-metadata ends at"),
        (12, 512, "4 times are due"),
        (RING_AT + 4096 + 384, 1 << 40, "its head at"),
        (METADATA_AT, 5, "counter 0 has the state 5"),
        (ERRORS_AT, 8, "record of 8 bytes at 0"),
        (ERRORS_AT, 1 << 30, "record of 1073741824 bytes"),
    ],
)
def test_what_breaks_the_format_is_named(tmp_path: Path, at: int, value: int, problem: str) -> None:
    written = CncBytes()
    struct.pack_into("<q" if value > 1 << 31 else "<i", written.data, at, value)
    report = read_cnc_report(written.write(tmp_path))
    assert problem in "; ".join(report.problems)


@pytest.mark.parametrize("length", [0, 3, 127, 128, 129, 5000, END - 1])
def test_a_torn_file_is_told_as_far_as_it_goes(tmp_path: Path, length: int) -> None:
    (tmp_path / "cnc.dat").write_bytes(bytes(CncBytes().data[:length]))
    report = read_cnc_report(tmp_path)
    assert report.file_length == length
    assert report.problems != []
    assert (report.header is None) == (length < 128)


def test_what_is_no_file_cannot_hang_a_reader(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no"):
        read_cnc_report(tmp_path)
    os.mkfifo(tmp_path / "cnc.dat")
    for read in (read_cnc_report, open_cnc):
        with pytest.raises(CorruptError, match="is not a regular file"):
            read(tmp_path)


def test_a_directory_that_is_a_file_has_no_cnc_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotFoundError, match="there is no"):
        open_cnc(tmp_path / "file")


def test_holes_that_memory_has_no_room_for_are_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/shm").is_dir():
        pytest.skip("there is no /dev/shm on this machine")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        path = Path(directory) / "cnc.dat"
        path.write_bytes(CncBytes().data[:4096])
        os.truncate(path, 1 << 20)
        system = list(os.statvfs(directory))
        system[4] = 1  # blocks available
        monkeypatch.setattr(files.os, "fstatvfs", lambda _: os.statvfs_result(system))
        for use in (open_cnc, lambda folder: map_file(os.path.join(folder, "cnc.dat"))):
            with pytest.raises(StorageError, match="bytes of holes and its file system 4096 bytes free"):
                use(directory)
        assert read_cnc_report(directory).header is not None
