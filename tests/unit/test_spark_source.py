"""The Spark source without a JVM: partitions() and read() called as Spark calls them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

if not os.environ.get("CI"):
    pytest.importorskip("pyspark")

import pyarrow as pa

from aeronpy.errors import ArgumentError
from aeronpy.recording.segments import RecordingFiles
from aeronpy.spark import AeronArchiveDataSource
from aeronpy.spark.plan import cut_range
from aeronpy.spark.source import AeronArchiveReader
from tests.golden import EXPECTED, crc32, unpack
from tests.recording_tapes import decode_sequentially, write_archive
from tests.spark_reads import messages_of, reader_of, rows_of

TERM = 1 << 16


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("archive", tmp_path_factory.mktemp("golden"))


# --- schemas ---


def test_schema_of_messages_has_the_documented_columns_in_order() -> None:
    schema = AeronArchiveDataSource({"path": "/a"}).schema()

    assert schema.simpleString() == (
        "struct<recording_id:bigint,position:bigint,end_position:bigint,session_id:int,stream_id:int,term_id:int,"
        "term_offset:int,flags:smallint,reserved_value:bigint,fragments:int,length:int,payload:binary>"
    )
    assert all(field.nullable for field in schema)


def test_columns_and_payload_narrow_the_schema_in_the_order_asked_for() -> None:
    narrow = AeronArchiveDataSource({"path": "/a", "columns": "length, position"}).schema()
    bare = AeronArchiveDataSource({"path": "/a", "payload": "none"}).schema()

    assert narrow.fieldNames() == ["length", "position"]
    assert "payload" not in bare.fieldNames()


def test_arrow_batches_have_the_exact_schema_that_spark_compares(golden: Path) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    for options in ({}, {"unit": "frame"}, {"columns": "file,channel,corrupt"}, {"table": "recordings"}):
        source = AeronArchiveDataSource({"path": str(golden), **options})
        reader = source.reader(schema=source.schema())
        batch = next(reader.read(reader.partitions()[0]))

        assert batch.schema.equals(to_arrow_schema(source.schema(), timezone="UTC"))


def test_a_schema_with_columns_that_may_not_be_null_is_honoured(golden: Path) -> None:
    reader = reader_of(golden, "Position BIGINT NOT NULL, length INT", recordingIds="0")

    batch = next(reader.read(reader.partitions()[0]))

    assert batch.schema == pa.schema([pa.field("Position", pa.int64(), False), pa.field("length", pa.int32())])


@pytest.mark.parametrize(
    ("ddl", "options", "sentence"),
    [
        ("positon BIGINT", {}, "no column 'positon' with unit=message: did you mean 'position'?"),
        ("position INT", {}, "column position is bigint, the schema says int: read it as it is and cast"),
        ("payload STRING", {}, "column payload is binary, the schema says string"),
        ("payload BINARY", {"payload": "none"}, "payload=none takes it away"),
        ("type SMALLINT", {}, "no column 'type' with unit=message"),
        ("length INT", {"columns": "position"}, "columns asks for position and .schema() for length"),
        ("stop_position BIGINT NOT NULL", {"table": "recordings"}, "stop_position may be null"),
    ],
)
def test_a_schema_that_cannot_be_honoured_is_refused_with_the_reason(
    ddl: str, options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        reader_of("/a", ddl, **options)

    assert sentence in str(caught.value)


def test_an_unknown_column_is_refused_when_the_schema_is_inferred() -> None:
    with pytest.raises(ArgumentError, match="did you mean 'reserved_value'"):
        AeronArchiveDataSource({"path": "/a", "columns": "reserved"}).schema()


# --- rows ---


@pytest.mark.parametrize("archive", ["archive", "archive-crc32c"])
@pytest.mark.parametrize("split", ["1", "192k", "128m"])
def test_messages_of_javas_archives_are_the_same_bytes(archive: str, split: str, tmp_path: Path) -> None:
    rows = rows_of(reader_of(unpack(archive, tmp_path), splitBytes=split))

    for expected in EXPECTED[archive]["recordings"]:
        if expected["state"] != "VALID" or "messages" not in expected:
            continue
        mine = [row for row in rows if row["recording_id"] == expected["recordingId"]]
        assert len(mine) == expected["messages"], expected["about"]
        if mine:
            assert crc32(row["payload"] for row in mine) == expected["payloadCrc32"]
            assert {row["session_id"] for row in mine} == {expected["sessionId"]}
            assert {row["stream_id"] for row in mine} == {expected["streamId"]}
    known = {expected["recordingId"] for expected in EXPECTED[archive]["recordings"]}
    assert {row["recording_id"] for row in rows} <= known


def test_frames_of_javas_archive_are_all_there_with_their_padding(golden: Path) -> None:
    rows = rows_of(reader_of(golden, unit="frame", splitBytes="1"))

    for expected in EXPECTED["archive"]["recordings"]:
        if not expected.get("frames"):
            continue
        mine = [row for row in rows if row["recording_id"] == expected["recordingId"]]
        padding = [[row["position"], row["end_position"] - row["position"]] for row in mine if row["type"] == 0]
        assert len(mine) == expected["frames"]
        if isinstance(expected["paddingFrames"], list):
            assert padding == expected["paddingFrames"]
        assert max(row["position"] for row in mine if row["type"] == 1) == expected["lastMessageAt"]


def test_a_recording_that_a_dead_archive_left_open_is_read_to_its_recovered_end(tmp_path: Path) -> None:
    expected = EXPECTED["archive-unclean"]

    rows = rows_of(reader_of(unpack("archive-unclean", tmp_path), recordingIds="11"))

    assert len(rows) == expected["messages"]
    assert crc32(row["payload"] for row in rows) == expected["payloadCrc32"]
    assert rows[-1]["end_position"] == expected["recoveredStopPosition"]


def test_the_table_of_recordings_is_the_catalog(golden: Path) -> None:
    rows = rows_of(reader_of(golden, table="recordings"))

    for row, expected in zip(rows, EXPECTED["archive"]["recordings"], strict=True):
        assert row["recording_id"] == expected["recordingId"]
        assert row["state"] == expected["state"]
        assert row["path"] == str(golden)
        assert row["readable_position"] == (expected["stopPosition"] if expected["state"] == "VALID" else None)
        for column, key in [
            ("start_position", "startPosition"), ("stop_position", "stopPosition"),
            ("initial_term_id", "initialTermId"), ("segment_file_length", "segmentFileLength"),
            ("term_buffer_length", "termBufferLength"), ("mtu_length", "mtuLength"), ("session_id", "sessionId"),
            ("stream_id", "streamId"), ("stripped_channel", "strippedChannel"),
            ("original_channel", "originalChannel"), ("source_identity", "sourceIdentity"),
        ]:  # fmt: skip
            assert row[column] == expected[key], column
        assert round(row["start_timestamp"].timestamp() * 1000) == expected["startTimestamp"]


def test_the_table_of_recordings_has_no_stop_while_there_is_none(tmp_path: Path) -> None:
    directory = write_archive(tmp_path, messages_of(3, stop_position=-1))

    (row,) = rows_of(reader_of(directory, table="recordings"))

    assert (row["stop_position"], row["stop_timestamp"]) == (None, None)
    assert row["readable_position"] == 0  # nobody can tell how much of the only segment is complete


def test_a_running_recording_is_read_as_far_as_its_segments_are_complete(tmp_path: Path) -> None:
    recording = messages_of(500, stop_position=-1)
    directory = write_archive(tmp_path, recording)
    decoded = decode_sequentially(directory, 0, 0, recording.position, TERM)

    rows = rows_of(reader_of(directory))

    assert recording.position > 2 * TERM
    assert [row["position"] for row in rows] == [m.position for m in decoded if m.position < 2 * TERM]


def test_streams_and_recordings_choose_what_is_read(golden: Path) -> None:
    by_stream = rows_of(reader_of(golden, streamIds="5005", columns="recording_id,stream_id"))
    by_both = rows_of(reader_of(golden, streamIds="5005", recordingIds="6-9", columns="recording_id"))

    assert {row["recording_id"] for row in by_stream} == {5, 6}
    assert {row["recording_id"] for row in by_both} == {6}


def test_texts_of_the_catalog_and_files_are_given_on_request(golden: Path) -> None:
    rows = rows_of(reader_of(golden, recordingIds="1", columns="source_identity,channel,file,position"))

    assert {row["channel"] for row in rows} == {"aeron:udp?endpoint=localhost:24101|alias=big"}
    assert {row["source_identity"] for row in rows} == {"127.0.0.1:59978"}
    assert all(row["file"] == str(golden / f"1-{row['position'] // 131072 * 131072}.rec") for row in rows)


def test_constant_columns_alone_have_a_row_for_every_message(golden: Path) -> None:
    rows = rows_of(reader_of(golden, "stream_id INT", recordingIds="2"))

    assert rows == [{"stream_id": 5002}] * 300


def test_several_archives_are_read_as_one(tmp_path: Path) -> None:
    paths = [write_archive(tmp_path / name, messages_of(count)) for name, count in (("a", 5), ("b", 7))]
    source = AeronArchiveDataSource({"paths": f'["{paths[0]}", "{paths[1]}"]'})
    reader = source.reader(schema=source.schema())

    assert len(rows_of(reader)) == 12
    assert len(reader.partitions()) == 1


def test_positions_choose_the_messages_that_begin_in_them(tmp_path: Path) -> None:
    recording = messages_of(600, 900, mtu=512, segment_length=2 * TERM)
    directory = write_archive(tmp_path, recording)
    decoded = decode_sequentially(directory, 0, 0, recording.position, TERM)
    low, high = decoded[100].position + 32, decoded[333].position + 32

    rows = rows_of(reader_of(directory, startingPositions=f'{{"0": {low}}}', endingPositions=f'{{"0": {high}}}'))

    assert [row["position"] for row in rows] == [each.position for each in decoded[101:334]]
    assert rows[-1]["payload"] == decoded[333].payload


def test_the_end_of_the_last_row_is_where_the_next_read_goes_on(tmp_path: Path) -> None:
    recording = messages_of(50)
    directory = write_archive(tmp_path, recording)
    middle = rows_of(reader_of(directory))[24]["end_position"]

    first = rows_of(reader_of(directory, endingPositions=f'{{"0": {middle}}}'))
    second = rows_of(reader_of(directory, startingPositions=f'{{"0": {middle}}}'))

    assert [row["reserved_value"] for row in first + second] == list(range(50))


def test_latest_as_start_reads_nothing_and_the_empty_list_of_partitions_is_no_trap(tmp_path: Path) -> None:
    reader = reader_of(write_archive(tmp_path, messages_of()), startingPositions="latest")

    assert reader.partitions() == []
    assert rows_of(reader) == []
    assert list(reader.read(None)) == []


def test_batches_are_cut_by_rows_and_by_bytes(tmp_path: Path) -> None:
    directory = write_archive(tmp_path, messages_of(100, 1000))

    def sizes(**options: str) -> list[int]:
        reader = reader_of(directory, **options)
        return [batch.num_rows for batch in reader.read(reader.partitions()[0])]

    assert sizes(batchRows="30") == [30, 30, 30, 10]
    assert all(1 <= rows <= 4 for rows in sizes(batchBytes="4096"))
    assert sum(sizes(batchBytes="1")) == 100


# --- partitions ---


def test_small_segments_are_packed_and_large_ones_are_cut_at_terms(tmp_path: Path) -> None:
    many = messages_of(1500, recording_id=0, segment_length=TERM)
    large = messages_of(1500, recording_id=1, segment_length=8 * TERM)
    reader = reader_of(write_archive(tmp_path, many, large), splitBytes=str(3 * TERM))

    spans = [
        [(part.range.files.recording_id, part.range.from_position, part.range.to_position) for part in each.value]
        for each in reader.partitions()
    ]

    assert spans[0] == [(0, 0, 3 * TERM)]
    assert all(sum(high - low for _, low, high in each) <= 3 * TERM for each in spans)
    assert all(low % TERM == 0 for each in spans for _, low, _ in each)
    for recording_id, recording in enumerate((many, large)):
        covered = [(low, high) for each in spans for owner, low, high in each if owner == recording_id]
        assert covered[0][0] == 0
        assert covered[-1][1] == recording.position
        assert all(before[1] == after[0] for before, after in pairwise(covered))


def test_cuts_of_a_purged_recording_are_relative_to_its_own_start() -> None:
    files = RecordingFiles("/a", 1, 3 * TERM + 96, 0, TERM, 4 * TERM, 1, 1)

    assert list(cut_range(files, 3 * TERM + 96, 12 * TERM, 4 * TERM)) == [
        (3 * TERM + 96, 7 * TERM), (7 * TERM, 11 * TERM), (11 * TERM, 12 * TERM),
    ]  # fmt: skip
    assert list(cut_range(files, 3 * TERM + 96, 8 * TERM, 3 * TERM)) == [
        (3 * TERM + 96, 6 * TERM), (6 * TERM, 7 * TERM), (7 * TERM, 8 * TERM),
    ]  # fmt: skip


def test_partitions_are_small_and_survive_pickling(golden: Path) -> None:
    for partition in reader_of(golden, splitBytes="1").partitions():
        data = pickle.dumps(partition)

        assert len(data) < 1500
        assert pickle.loads(data).value == partition.value


def test_it_works_as_pure_python_without_the_compiled_module(golden: Path) -> None:
    program = f"""
import sys
sys.modules["aeronpy._core.native"] = None
import pyspark_aeron_archive, zlib
from aeronpy.recording.scan import HAS_NATIVE
assert not HAS_NATIVE
source = pyspark_aeron_archive.DefaultSource({{"path": {str(golden)!r}, "recordingIds": "1", "splitBytes": "1"}})
reader = source.reader(schema=source.schema())
crc = rows = 0
for partition in reader.partitions():
    for batch in reader.read(partition):
        for payload in batch.column("payload").to_pylist():
            crc, rows = zlib.crc32(payload, crc), rows + 1
print(rows, f"{{crc:08x}}")
"""
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=50, check=False
    )

    assert done.stdout.split() == ["60", "5eb38420"], done.stderr


def test_finding_the_source_imports_neither_numpy_nor_the_compiled_module() -> None:
    program = """
import sys, importlib.abc
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        assert not name.startswith(("aeronpy._core", "aeronpy.recording")), name
sys.meta_path.insert(0, Refuse())
import pyspark_aeron_archive
print(pyspark_aeron_archive.DefaultSource.name())
"""
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=50, check=False
    )

    assert done.stdout.strip() == "aeron-archive", done.stderr


def batches_alive(reader: AeronArchiveReader) -> Iterator[pa.RecordBatch]:
    for partition in reader.partitions():
        yield from reader.read(partition)


def test_batches_own_their_memory(tmp_path: Path) -> None:
    recording = messages_of(100)
    directory = write_archive(tmp_path, recording)
    decoded = decode_sequentially(directory, 0, 0, recording.position, TERM)

    batches = list(batches_alive(reader_of(directory, batchRows="7")))

    assert [p for batch in batches for p in batch.column("payload").to_pylist()] == [m.payload for m in decoded]
