"""The Spark source on damaged archives and impossible wishes: what is said, and which option lifts it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

if not os.environ.get("CI"):
    pytest.importorskip("pyspark")

from aeronpy.errors import ArgumentError, CorruptError, NotFoundError, VersionError
from tests.recording_tapes import DELETED, INVALID, Tape, decode_sequentially, write_archive
from tests.spark_reads import messages_of, reader_of, rows_of

TERM = 1 << 16


def corrupt_at(directory: Path, name: str, offset: int, data: bytes) -> None:
    with (directory / name).open("r+b") as file:
        file.seek(offset)
        file.write(data)


@pytest.fixture
def damaged(tmp_path: Path) -> tuple[Path, int, list[int]]:
    """A recording of four terms in one segment with a frame in the second one that has another stream id."""
    recording = messages_of(600, segment_length=4 * TERM)
    directory = write_archive(tmp_path, recording)
    positions = [each.position for each in decode_sequentially(directory, 0, 0, recording.position, TERM)]
    wrong = next(at for at in positions if at > TERM + 20_000)
    corrupt_at(directory, "0-0.rec", wrong + 16, (999).to_bytes(4, "little"))
    return directory, wrong, positions


def test_corruption_fails_with_file_position_header_and_the_option_that_lifts_it(
    damaged: tuple[Path, int, list[int]],
) -> None:
    directory, wrong, _ = damaged
    header = (directory / "0-0.rec").read_bytes()[wrong : wrong + 32]

    with pytest.raises(CorruptError) as caught:
        rows_of(reader_of(directory))

    for needed in ("0-0.rec", "recording 0", f"position {wrong} ", f"term offset {wrong % TERM}", header.hex()):
        assert needed in str(caught.value)
    assert "onCorrupt=skipTerm" in str(caught.value)


@pytest.mark.parametrize("split", ["1", "1g"])
def test_skip_term_loses_the_rest_of_that_term_only(damaged: tuple[Path, int, list[int]], split: str) -> None:
    directory, wrong, positions = damaged

    rows = rows_of(reader_of(directory, onCorrupt="skipTerm", splitBytes=split))

    assert [row["position"] for row in rows] == [at for at in positions if at < wrong or at >= 2 * TERM]


@pytest.mark.parametrize("split", ["1", "1g"])
def test_stop_ends_the_recording_there_however_it_is_split(damaged: tuple[Path, int, list[int]], split: str) -> None:
    directory, wrong, positions = damaged

    rows = rows_of(reader_of(directory, onCorrupt="stop", splitBytes=split))

    assert [row["position"] for row in rows] == [at for at in positions if at < wrong]


@pytest.fixture
def incomplete(tmp_path: Path) -> Path:
    """A whole message, one whose end never came, another whole one."""
    recording = Tape()
    recording.message(b"first", 1)
    recording.fragment(b"begun", 0x80, 2)
    recording.message(b"last", 3)
    return write_archive(tmp_path, recording)


def test_incomplete_messages_are_dropped_by_default(incomplete: Path) -> None:
    assert [row["payload"] for row in rows_of(reader_of(incomplete))] == [b"first", b"last"]


def test_incomplete_messages_can_be_emitted_with_the_reason(incomplete: Path) -> None:
    rows = rows_of(reader_of(incomplete, onIncompleteMessage="emit"))

    assert [row["reserved_value"] for row in rows] == [1, 2, 3]
    assert [row["corrupt"] is None for row in rows] == [True, False, True]
    assert "last fragment missing" in rows[1]["corrupt"]


def test_incomplete_messages_can_fail_the_read(incomplete: Path) -> None:
    with pytest.raises(CorruptError, match=r"0-0\.rec.*recording 0.*position 64 .*onIncompleteMessage=drop"):
        rows_of(reader_of(incomplete, onIncompleteMessage="fail"))


def test_a_segment_that_went_after_planning_is_named_with_the_host(tmp_path: Path) -> None:
    directory = write_archive(tmp_path, messages_of())
    reader = reader_of(directory)
    partition = reader.partitions()[0]
    (directory / "0-65536.rec").unlink()

    with pytest.raises(NotFoundError, match=r"0-65536\.rec is missing on \S+, recording 0"):
        list(reader.read(partition))


def test_a_segment_cut_short_is_an_error_not_fewer_rows(tmp_path: Path) -> None:
    directory = write_archive(tmp_path, messages_of())
    os.truncate(directory / "0-0.rec", 40_000)

    with pytest.raises(CorruptError, match=r"0-0\.rec.*recording 0, position"):
        rows_of(reader_of(directory))


def test_a_directory_without_a_catalog_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="give the directory"):
        reader_of(tmp_path / "nowhere").partitions()


def test_a_foreign_version_is_refused(tmp_path: Path) -> None:
    directory = write_archive(tmp_path, messages_of(1))
    corrupt_at(directory, "archive.catalog", 0, (4 << 16).to_bytes(4, "little"))

    with pytest.raises(VersionError, match=r"4\.0\.0"):
        reader_of(directory).partitions()


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"recordingIds": "77"}, NotFoundError, "no recording 77; it has 0, 1, 2"),
        ({"recordingIds": "1"}, NotFoundError, "recording 1 is DELETED"),
        ({"recordingIds": "2"}, NotFoundError, "recording 2 is INVALID"),
        ({"startingPositions": '{"5": 32}'}, ArgumentError, "names recording 5, which is not read"),
        ({"startingPositions": '{"0": 32}'}, ArgumentError, "recording 0 starts at 64, startingPositions asks for 32"),
        ({"endingPositions": '{"0": 99999999}'}, ArgumentError, "endingPositions asks for 99999999"),
        (
            {"startingPositions": '{"0": 1024}', "endingPositions": '{"0": 512}'},
            ArgumentError,
            "startingPositions 1024 is past endingPositions 512",
        ),
    ],
)
def test_what_the_catalog_cannot_give_is_refused_in_planning(
    tmp_path: Path, options: dict[str, str], error: type[Exception], sentence: str
) -> None:
    directory = write_archive(
        tmp_path,
        messages_of(start_position=64),
        Tape(recording_id=1, state=DELETED),
        Tape(recording_id=2, state=INVALID),
    )

    with pytest.raises(error) as caught:
        reader_of(directory, **options).partitions()

    assert sentence in str(caught.value)


def test_an_impossible_catalog_entry_is_refused_with_its_numbers(tmp_path: Path) -> None:
    recording = messages_of(1)
    directory = write_archive(tmp_path, recording)
    corrupt_at(directory, "archive.catalog", 32 + 96, (12345).to_bytes(4, "little"))

    with pytest.raises(CorruptError, match="recording 0 cannot be read: term length 12345"):
        reader_of(directory).partitions()
