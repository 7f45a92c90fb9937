"""Who may hold an archive directory, and what its mark file says."""

from __future__ import annotations

import os
import struct
import tarfile
from pathlib import Path

import pytest

from aeronpy._core import native
from aeronpy.archive.mark_file import MarkFileWriter
from aeronpy.errors import ActiveError, VersionError

DATA = Path(__file__).parent.parent / "data" / "java-1.51"


def test_fields_stand_where_the_format_has_them(tmp_path: Path) -> None:
    mark = MarkFileWriter.activate(tmp_path, 77, "/dev/shm/aeron-x")
    path = tmp_path / "archive-mark.dat"
    assert struct.unpack_from("<i", path.read_bytes(), 8) == (0,)  # not ready
    mark.signal_ready()

    data = path.read_bytes()
    assert len(data) == 1056768
    assert data[:12] == bytes.fromhex("8000c80064000200 00010300")  # as a running reference archive has them
    assert struct.unpack_from("<q", data, 32) == (os.getpid(),)
    assert data[52:60] == bytes.fromhex("00200000 00001000")
    assert struct.unpack_from("<q", data, 64) == (77,)
    assert data[136:172] == bytes(12) + struct.pack("<I", 16) + b"/dev/shm/aeron-x" + bytes(4)

    mark.close()
    mark.close()
    assert struct.unpack_from("<q", path.read_bytes(), 16) == (-1,)


def test_living_archive_is_not_disturbed(tmp_path: Path) -> None:
    mark = MarkFileWriter.activate(tmp_path, 1)
    mark.signal_ready()
    before = (tmp_path / "archive-mark.dat").read_bytes()

    with pytest.raises(ActiveError, match=f"process {os.getpid()}"):
        MarkFileWriter.activate(tmp_path, 2)
    assert (tmp_path / "archive-mark.dat").read_bytes() == before

    (activity,) = struct.unpack_from("<q", before, 16)
    with pytest.raises(ActiveError):
        MarkFileWriter.activate(tmp_path, 2, clock_ms=lambda: activity + 9_999)
    taken = MarkFileWriter.activate(tmp_path, 2, clock_ms=lambda: activity + 10_000)
    with pytest.raises(ActiveError, match="starting"):
        MarkFileWriter.activate(tmp_path, 3)
    taken.close()
    mark.close()


def test_closed_directory_is_taken_over_at_once(tmp_path: Path) -> None:
    first = MarkFileWriter.activate(tmp_path, 1, "/dev/shm/a-rather-long-name")
    first.signal_ready()
    first.close()
    second = MarkFileWriter.activate(tmp_path, 2, "/b")
    second.signal_ready()
    data = (tmp_path / "archive-mark.dat").read_bytes()
    assert struct.unpack_from("<q", data, 64) == (2,)
    assert data[148:200] == struct.pack("<I", 2) + b"/b" + bytes(46)
    second.close()


def test_errors_of_java_are_kept_as_text(tmp_path: Path) -> None:
    with tarfile.open(DATA / "archive.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    directory = tmp_path / "archive"
    mark = MarkFileWriter.activate(directory, 1001)

    (saved,) = directory.glob("archive-*-error.log")
    text = saved.read_text()
    assert text.count("observations from") == 2  # a replay into a frame, and a malformed URI
    assert list(native.read_error_log(bytes(mark.buffer[8192:]))) == []

    mark.errors.record("recording 5 stops")
    mark.errors.record("recording 5 stops")
    (record,) = native.read_error_log(bytes(mark.buffer[8192:]))
    assert (record.observations, record.text) == (2, "recording 5 stops")
    mark.close()


def test_other_major_version_is_refused(tmp_path: Path) -> None:
    mark = MarkFileWriter.activate(tmp_path, 1)
    mark.signal_ready()
    mark.close()
    path = tmp_path / "archive-mark.dat"
    data = bytearray(path.read_bytes())
    struct.pack_into("<i", data, 8, 2 << 16)
    path.write_bytes(data)

    with pytest.raises(VersionError, match="2.0.0"):
        MarkFileWriter.activate(tmp_path, 1)


def test_link_file_goes_when_the_mark_file_is_here(tmp_path: Path) -> None:
    (tmp_path / "archive-mark.lnk").write_text("/somewhere/else")
    MarkFileWriter.activate(tmp_path, 1).close()
    assert not (tmp_path / "archive-mark.lnk").exists()
