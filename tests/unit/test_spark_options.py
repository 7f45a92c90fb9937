"""Options of the Spark source: what they take, and what is said when they are wrong."""

from __future__ import annotations

import json
import os

import pytest

if not os.environ.get("CI"):
    pytest.importorskip("pyspark")

from aeronpy.errors import ArgumentError
from aeronpy.spark import AeronArchiveDataSource
from aeronpy.spark.options import ReadOptions


def parse(**options: str) -> ReadOptions:
    return ReadOptions.parse({"path": "/archive", **options})


def test_defaults_are_those_of_the_documentation() -> None:
    options = parse()

    assert (options.table, options.unit, options.payload) == ("messages", "message", "keep")
    assert (options.batch_rows, options.batch_bytes, options.split_bytes) == (10_000, 8 << 20, 128 << 20)
    assert (options.on_corrupt, options.on_incomplete) == ("fail", "drop")
    assert options.starting.of(3) == "earliest"
    assert options.ending.of(3) == "latest"


def test_names_and_words_are_taken_without_case() -> None:
    options = ReadOptions.parse({"PATH": "/archive", "ONCORRUPT": "skipterm", "recordingids": "1"})

    assert options.on_corrupt == "skipTerm"
    assert options.recording_ids is not None


def test_unknown_option_names_the_nearest_one() -> None:
    with pytest.raises(ArgumentError, match="no option 'recordingid': did you mean 'recordingIds'"):
        parse(recordingId="1")


def test_numbers_and_ranges_choose_both_ends() -> None:
    chosen = parse(recordingIds=" 1,2, 5-9 ").recording_ids

    assert chosen is not None
    assert [number for number in range(12) if number in chosen] == [1, 2, 5, 6, 7, 8, 9]
    assert chosen.singles() == [1, 2]


def test_stream_ids_may_be_negative() -> None:
    chosen = parse(streamIds="-5--3,7").stream_ids

    assert chosen is not None
    assert [number for number in range(-7, 9) if number in chosen] == [-5, -4, -3, 7]


@pytest.mark.parametrize(
    ("text", "size"), [("65536", 65536), ("64k", 65536), ("64 KiB", 65536), ("8m", 8 << 20), ("1G", 1 << 30)]
)
def test_sizes_take_units(text: str, size: int) -> None:
    assert parse(splitBytes=text).split_bytes == size


def test_positions_by_recording_leave_the_others_at_the_default() -> None:
    starting = parse(startingPositions='{"7": 4096, "8": "latest"}').starting

    assert [starting.of(recording_id) for recording_id in (6, 7, 8)] == ["earliest", 4096, "latest"]


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("recordingIds", "1,x", "recordingIds is a list such as '1,2,5-9', 'x' in '1,x' is no number"),
        ("recordingIds", "9-5", "the range '9-5' ends before it begins"),
        ("recordingIds", "", "recordingIds is a list"),
        ("unit", "byte", "unit is message or frame, not 'byte'"),
        ("payload", "no", "payload is keep or none, not 'no'"),
        ("table", "segments", "table is messages or recordings, not 'segments'"),
        ("onCorrupt", "ignore", "onCorrupt is fail or skipTerm or stop, not 'ignore'"),
        ("onIncompleteMessage", "keep", "onIncompleteMessage is drop or fail or emit, not 'keep'"),
        ("splitBytes", "0", "splitBytes is from 1 to"),
        ("splitBytes", "1t", "splitBytes is a size in bytes such as"),
        ("batchRows", "0", "batchRows is a number from 1 to 16777216, not '0'"),
        ("batchRows", "1.5", "batchRows is a number"),
        ("batchBytes", "3g", "batchBytes is from 1 to 1073741824 bytes, not 3221225472"),
        ("startingPositions", "first", 'startingPositions is "earliest", "latest" or JSON'),
        ("startingPositions", '{"7": -1}', "startingPositions is"),
        ("endingPositions", '{"7": true}', "endingPositions is"),
        ("endingPositions", "[1]", "endingPositions is"),
        ("columns", "position,,length", "columns is a list of names"),
        ("path", "s3://bucket/archive", "copy or mount it"),
        ("path", "", "no path: give the archive's directory"),
        ("paths", "a,b", "paths is a JSON list"),
        ("paths", '["/archive"]', "/archive is given twice"),
    ],
)
def test_a_wrong_value_is_refused_in_a_sentence(option: str, value: str, sentence: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parse(**{option: value})

    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"table": "recordings", "batchRows": "5"}, "option batchRows has no meaning with table=recordings"),
        ({"payload": "none", "columns": "position,payload"}, "leave one of them out"),
        ({"unit": "frame", "onIncompleteMessage": "emit"}, "has no meaning with unit=frame"),
        ({"paths": '["/other"]', "endingPositions": '{"1": 32}'}, "read one path at a time"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parse(**options)

    assert sentence in str(caught.value)


def test_paths_come_from_both_options_and_file_uris_are_local() -> None:
    options = ReadOptions.parse({"path": "file:///a%20b", "paths": json.dumps(["/c", "file:/d"])})

    assert options.paths == ("/a b", "/c", "/d")


def test_no_path_at_all_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no path"):
        AeronArchiveDataSource({})
