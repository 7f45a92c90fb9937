"""Verification: nothing to say of what is whole, one finding for each thing that is not."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from aeronpy.errors import ArgumentError
from aeronpy.recording import open_archive
from aeronpy.recording.checksum import checksum_function, crc32c_by_table
from tests.recording_tapes import TERM, Tape, catalog_bytes, write_archive


def good_tape() -> Tape:
    tape = Tape(start_position=4096)
    for index in range(150):
        tape.message(bytes([index]) * (30 * index + 1))
    return tape


def signed(value: int) -> int:
    return struct.unpack("<i", struct.pack("<I", value))[0]  # type: ignore[no-any-return]


def with_checksums(tape: Tape) -> Tape:
    """Store CRC-32 of the aligned payload in the session field of data frames, as an archive does."""
    at = tape.offset_of(tape.start_position)
    while at < len(tape.data):
        length, kind = struct.unpack_from("<i2xH", tape.data, at)
        span = (length + 31) & ~31
        if kind == 1:
            struct.pack_into("<I", tape.data, at + 12, zlib.crc32(tape.data[at + 32 : at + span]))
        at += span
    entry = tape.entry()
    padded = entry.ljust((32 + len(entry) + 63) // 64 * 64 - 32, b"\0")
    tape.checksum = signed(zlib.crc32(padded))
    return tape


def test_a_whole_recording_has_no_findings(tmp_path: Path) -> None:
    tape = good_tape()
    assert tape.position > tape.segment_length

    assert open_archive(write_archive(tmp_path, tape)).check() == []


@pytest.mark.parametrize("name", ["CRC-32", "io.aeron.archive.checksum.Crc32"])
def test_checksums_that_fit_have_no_findings(tmp_path: Path, name: str) -> None:
    assert open_archive(write_archive(tmp_path, with_checksums(good_tape()))).check(name) == []


def test_a_flipped_payload_bit_is_found_by_its_checksum_only(tmp_path: Path) -> None:
    tape = with_checksums(good_tape())
    victim = tape.messages[100]
    tape.data[tape.offset_of(victim.position) + 40] ^= 1
    archive = open_archive(write_archive(tmp_path, tape))

    assert archive.check() == []
    findings = archive.check("CRC-32")
    assert [(f.recording_id, f.position) for f in findings] == [(0, victim.position)]
    assert "has checksum" in findings[0].what


def test_a_changed_entry_is_found_by_its_checksum(tmp_path: Path) -> None:
    tape = with_checksums(good_tape())
    tape.checksum ^= 1
    archive = open_archive(write_archive(tmp_path, tape))

    assert ["catalog entry has checksum" in f.what for f in archive.check("CRC-32")] == [True]


def test_every_broken_term_is_found_in_one_go(tmp_path: Path) -> None:
    tape = good_tape()
    victims = [next(m for m in tape.messages if m.position // TERM == term) for term in (0, 2)]
    for victim in victims:
        struct.pack_into("<i", tape.data, tape.offset_of(victim.position) + 20, 12345)

    findings = open_archive(write_archive(tmp_path, tape)).check()

    assert [
        f"position {v.position} " in f.what and "term id 12345" in f.what
        for v, f in zip(victims, findings, strict=True)
    ]


def test_a_stop_position_that_frames_contradict_is_found(tmp_path: Path) -> None:
    tape = good_tape()
    tape.stop_position = tape.messages[-1].position

    findings = open_archive(write_archive(tmp_path, tape)).check()

    assert [f.position for f in findings] == [tape.position]
    assert f"end at {tape.position}, the catalog says {tape.stop_position}" in findings[0].what


def test_missing_files_are_found(tmp_path: Path) -> None:
    tape = good_tape()
    archive = open_archive(write_archive(tmp_path, tape))
    first, *others = tape.segment_paths(tmp_path)

    first.unlink()
    assert all(f"{first} is missing" in f.what for f in archive.check())
    assert archive.check()
    for path in others:
        path.unlink()
    assert "no segment file" in archive.check()[0].what


def test_an_end_past_the_last_segment_is_found(tmp_path: Path) -> None:
    tape = good_tape()
    tape.stop_position = tape.base + 4 * tape.segment_length

    assert "past that of its last segment" in open_archive(write_archive(tmp_path, tape)).check()[0].what


def test_impossible_numbers_are_found(tmp_path: Path) -> None:
    (tmp_path / "archive.catalog").write_bytes(catalog_bytes([Tape(term_length=1000, segment_length=1000)]))

    assert "term length 1000" in open_archive(tmp_path).check()[0].what


@pytest.mark.parametrize(("name", "expected"), [("CRC-32", 0xCBF43926), ("crc-32c", 0xE3069283)])
def test_checksums_have_their_published_check_values(name: str, expected: int) -> None:
    assert checksum_function(name)(b"123456789") == signed(expected)


def test_crc32c_without_a_library_has_the_check_value_too() -> None:
    assert crc32c_by_table(b"123456789") == 0xE3069283


def test_an_unknown_checksum_is_refused() -> None:
    with pytest.raises(ArgumentError, match="CRC-32 and CRC-32C are"):
        checksum_function("MD5")
