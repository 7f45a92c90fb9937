"""The catalog as we write it, against one that Java Aeron 1.51 wrote."""

from __future__ import annotations

import json
import re
import struct
import tarfile
from pathlib import Path
from typing import Any

import pytest

from aeronpy.archive.catalog import CatalogWriter
from aeronpy.archive.recovery import recover
from aeronpy.errors import CapacityError, CorruptError, NotFoundError, VersionError
from aeronpy.recording.segments import list_segments

DATA = Path(__file__).parent.parent / "data" / "java-1.51"
EXPECTED = json.loads((DATA / "expected.json").read_text())["archive"]["recordings"]

# Entries that were written once and stopped: the others were extended, purged or grown later.
WRITTEN_ONCE = [0, 1, 2, 5, 6, 9, 10, 11]


def unpacked(name: str, into: Path) -> Path:
    with tarfile.open(DATA / f"{name}.tar.gz") as archive:
        archive.extractall(into, filter="data")
    return next(path.parent for path in into.rglob("archive.catalog"))


def running(expected: dict[str, Any]) -> dict[str, Any]:
    """What is known of a recording when it begins."""
    names = (
        "startTimestamp startPosition initialTermId segmentFileLength termBufferLength mtuLength sessionId streamId "
        "strippedChannel originalChannel sourceIdentity"
    ).split()
    return {re.sub("([A-Z])", r"_\1", name).lower(): expected[name] for name in names}


def test_entries_are_those_of_java_byte_for_byte(tmp_path: Path) -> None:
    theirs = (unpacked("archive", tmp_path) / "archive.catalog").read_bytes()
    mine = tmp_path / "mine"
    mine.mkdir()
    catalog = CatalogWriter.open(mine, capacity=4096)
    for expected in EXPECTED:
        assert catalog.add(**running(expected)) == expected["recordingId"]
        catalog.stop(expected["recordingId"], expected["stopPosition"], expected["stopTimestamp"])
    catalog.close()
    ours = (mine / "archive.catalog").read_bytes()

    assert ours[:32] == theirs[:32]
    assert len(ours) == len(theirs) == 4096
    at = 32
    for expected in EXPECTED:
        size = struct.unpack_from("<i", ours, at)[0] + 32
        if expected["recordingId"] in WRITTEN_ONCE:
            there = expected["entryOffset"]
            assert ours[at : at + size] == theirs[there : there + size], expected["recordingId"]
        at += size
    assert not any(ours[at:])


def test_extended_entry_is_that_of_java(tmp_path: Path) -> None:
    theirs = (unpacked("archive", tmp_path) / "archive.catalog").read_bytes()
    expected = EXPECTED[3]
    there = expected["entryOffset"]
    mine = tmp_path / "mine"
    mine.mkdir()
    catalog = CatalogWriter.open(mine)
    for _ in range(3):
        catalog.add(**running(expected))
    catalog.add(**running(expected) | {"session_id": 1003})
    catalog.stop(3, 59648, 1)
    catalog.extend(3, expected["controlSessionId"], expected["correlationId"], expected["sessionId"])
    assert catalog.descriptor(3).stop_position == -1
    assert catalog.descriptor(3).stop_timestamp == -1
    catalog.stop(3, expected["stopPosition"], expected["stopTimestamp"])
    catalog.close()

    ours = (mine / "archive.catalog").read_bytes()
    size = struct.unpack_from("<i", theirs, there)[0] + 32
    at = 32 + 3 * size
    assert ours[at : at + size] == theirs[there : there + size]


def test_java_catalog_opens_and_takes_an_entry_more(tmp_path: Path) -> None:
    directory = unpacked("archive", tmp_path)
    catalog = CatalogWriter.open(directory)

    valid = [expected["recordingId"] for expected in EXPECTED if expected["state"] == "VALID"]
    assert [descriptor.recording_id for descriptor in catalog] == valid
    assert catalog.descriptor(11).stop_position == 220448
    assert catalog.descriptor(11).original_channel == EXPECTED[11]["originalChannel"]
    with pytest.raises(NotFoundError):
        catalog.descriptor(7)  # purged
    assert catalog.add(**running(EXPECTED[0])) == 12
    catalog.close()
    catalog.close()

    again = CatalogWriter.open(directory)
    assert again.descriptor(12).stripped_channel == EXPECTED[0]["strippedChannel"]
    assert again.next_recording_id == 13
    again.close()


def test_full_catalog_grows_by_half_until_the_entry_fits(tmp_path: Path) -> None:
    catalog = CatalogWriter.open(tmp_path, capacity=256)
    sizes = []
    for _ in range(6):
        catalog.add(**running(EXPECTED[0]))  # 192 bytes each
        sizes.append(catalog.capacity)
    catalog.close()

    assert sizes == [256, 576, 864, 864, 1296, 1296]
    assert (tmp_path / "archive.catalog").stat().st_size == 1296


def test_catalog_at_its_limit_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aeronpy.archive.catalog.CAPACITY_MAX", 300)
    catalog = CatalogWriter.open(tmp_path, capacity=256)
    catalog.add(**running(EXPECTED[0]))
    with pytest.raises(CapacityError, match="416 of 300 bytes"):
        catalog.add(**running(EXPECTED[0]))
    catalog.close()


@pytest.mark.parametrize(
    ("offset", "value", "error", "says"),
    [
        (0, 2 << 16, VersionError, r"2\.0\.0"),
        (8, 5, CorruptError, "next recording id, 5"),
        (16, 48, CorruptError, "alignment 48"),
        (32 + 48, 1, CorruptError, "recording id 1"),
    ],
)
def test_broken_catalog_is_refused(tmp_path: Path, offset: int, value: int, error: type[Exception], says: str) -> None:
    directory = unpacked("archive", tmp_path)
    path = directory / "archive.catalog"
    data = bytearray(path.read_bytes())
    struct.pack_into("<i", data, offset, value)
    path.write_bytes(data)

    with pytest.raises(error, match=says):
        CatalogWriter.open(directory)
    assert path.read_bytes() == bytes(data)


def test_recovery_finds_the_stop_position_that_java_finds(tmp_path: Path) -> None:
    directory = unpacked("archive-unclean", tmp_path)
    catalog = CatalogWriter.open(directory)
    before = catalog.descriptor(0)

    assert recover(directory, catalog) == [11]
    assert catalog.descriptor(11).stop_position == 165120
    assert catalog.descriptor(11).stop_timestamp > catalog.descriptor(11).start_timestamp
    assert catalog.descriptor(0) == before
    assert recover(directory, catalog) == []
    catalog.close()


def test_recovery_refuses_a_half_written_last_frame_and_changes_nothing(tmp_path: Path) -> None:
    directory = unpacked("archive-unclean", tmp_path)
    base = list_segments(directory)[11][-1]
    path = directory / f"11-{base}.rec"
    segment = bytearray(path.read_bytes())
    end = 165120 - base
    term_id = 3 + 165120 // 65536
    struct.pack_into("<iBBHiiii", segment, end, 9000, 0, 0xC0, 1, 165120 % 65536, 1011, 5011, term_id)
    segment[end + 32 : end + 4096] = b"x" * 4064  # and nothing in its last page
    path.write_bytes(segment)
    catalog = CatalogWriter.open(directory)

    with pytest.raises(CorruptError, match="position 165120"):
        recover(directory, catalog)
    assert catalog.descriptor(11).stop_position == -1

    struct.pack_into("<H", segment, end + 6, 0)  # as padding its header is all there is
    path.write_bytes(segment)
    assert recover(directory, catalog) == [11]
    assert catalog.descriptor(11).stop_position == 165120 + 9024
    catalog.close()


def test_recording_without_files_ends_where_it_began(tmp_path: Path) -> None:
    catalog = CatalogWriter.open(tmp_path)
    catalog.add(**running(EXPECTED[4]))
    assert recover(tmp_path, catalog) == [0]
    assert catalog.descriptor(0).stop_position == EXPECTED[4]["startPosition"]
    catalog.close()
