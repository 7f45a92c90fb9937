"""Directories that the Java archive 1.51 wrote: every message and frame of them, by each of our ways to read."""

from __future__ import annotations

import json
import os
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aeronpy.recording import EdgeKind, Recording, RecordingState, open_archive
from aeronpy.recording.scan import HAS_NATIVE, EngineName

DATA = Path(__file__).parents[1] / "data" / "java-1.51"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())
DIRECTORIES = ("archive", "archive-crc32c")
RECORDINGS = [
    pytest.param(name, entry, id=f"{name}-{entry['recordingId']}")
    for name in DIRECTORIES
    for entry in EXPECTED[name]["recordings"]
]
READABLE = [param for param in RECORDINGS if param.values[1]["state"] == "VALID"]  # type: ignore[index]
# Seed, messages, shortest, step, span and first index of the payload formula, from the data's README.
FORMULAS = {
    ("archive", 0): (11, 500, 0, 13, 200, 0),
    ("archive", 1): (22, 60, 1000, 997, 7193, 0),
    ("archive", 2): (33, 300, 100, 331, 1777, 0),
    ("archive", 4): (55, 900, 300, 11, 600, 408),
    ("archive", 5): (66, 50, 32, 5, 100, 0),
    ("archive", 6): (67, 50, 32, 5, 100, 0),
    ("archive", 9): (99, 128, 992, 1, 1, 0),
    ("archive", 11): (121, 200, 900, 17, 300, 0),
    ("archive-crc32c", 0): (22, 60, 1000, 997, 7193, 0),
    ("archive-crc32c", 4): (131, 300, 200, 17, 900, 0),
}


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("golden")
    for name in (*DIRECTORIES, "archive-unclean"):
        with tarfile.open(DATA / f"{name}.tar.gz") as tar:
            tar.extractall(root, filter="data")
    return root


@pytest.fixture(params=["c", "numpy"])
def engine(request: pytest.FixtureRequest) -> EngineName:
    assert HAS_NATIVE
    return request.param  # type: ignore[no-any-return]


def crc_of(payloads: Iterable[bytes]) -> str:
    crc = 0
    for payload in payloads:
        crc = zlib.crc32(payload, crc)
    return f"{crc:08x}"


def formula(numbers: tuple[int, int, int, int, int, int]) -> Iterator[tuple[int, bytes]]:
    seed, count, shortest, step, span, first = numbers
    for i in range(first, count):
        size = shortest + i * step % span
        yield seed << 32 | i, bytes((seed + 31 * i + 7 * j) % 256 for j in range(size))


def recording(golden: Path, name: str, entry: dict[str, Any], engine: EngineName = "auto") -> Recording:
    return open_archive(golden / name, engine=engine).recording(entry["recordingId"])


def snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


@pytest.mark.parametrize("name", DIRECTORIES)
def test_catalog_header_is_as_java_wrote_it(golden: Path, name: str) -> None:
    catalog, expected = open_archive(golden / name).catalog, EXPECTED[name]["catalog"]

    assert (catalog.version, catalog.alignment) == (expected["version"], expected["alignment"])
    assert catalog.next_recording_id == expected["nextRecordingId"]
    assert len(catalog.entries) == len(EXPECTED[name]["recordings"])


@pytest.mark.parametrize(("name", "entry"), RECORDINGS)
def test_every_field_of_a_descriptor_is_as_java_wrote_it(golden: Path, name: str, entry: dict[str, Any]) -> None:
    descriptor = open_archive(golden / name).catalog.entry(entry["recordingId"])

    fields = [key for key in entry if hasattr(descriptor, snake(key)) and key != "state"]
    assert {key: getattr(descriptor, snake(key)) for key in fields} == {key: entry[key] for key in fields}
    assert len(fields) == 19
    assert descriptor.state is RecordingState[entry["state"]]


@pytest.mark.parametrize(("name", "entry"), READABLE)
def test_messages_are_those_that_were_sent(golden: Path, name: str, entry: dict[str, Any], engine: EngineName) -> None:
    messages = list(recording(golden, name, entry, engine).messages(on_incomplete="fail"))

    assert len(messages) == entry["messages"]
    assert sum(len(m.payload) for m in messages) == entry["payloadBytes"]
    assert crc_of(m.payload for m in messages) == entry["payloadCrc32"]
    if messages:
        assert messages[-1].position <= entry["lastMessageAt"] < messages[-1].end_position
    if (name, entry["recordingId"]) in FORMULAS:
        sent = list(formula(FORMULAS[name, entry["recordingId"]]))
        assert [(m.reserved_value, m.payload) for m in messages] == sent


@pytest.mark.parametrize(("name", "entry"), READABLE)
def test_frames_and_padding_are_where_they_were_written(
    golden: Path, name: str, entry: dict[str, Any], engine: EngineName
) -> None:
    frames = list(recording(golden, name, entry, engine).frames())

    assert len(frames) == entry["frames"]
    assert sum(not f.is_padding for f in frames) == entry["dataFrames"]
    assert [f.position for f in frames if not f.is_padding][-1:] == [entry["lastMessageAt"]][: entry["messages"]]
    padding = [[f.position, f.end_position - f.position] for f in frames if f.is_padding]
    assert padding == entry["paddingFrames"]
    if entry["sessionsInFrames"] is not None:
        assert sorted({f.frame_session_id for f in frames}) == entry["sessionsInFrames"]
    assert {f.session_id for f in frames} <= {entry["sessionId"]}


@pytest.mark.parametrize(("name", "entry"), READABLE)
def test_verification_finds_nothing(golden: Path, name: str, entry: dict[str, Any]) -> None:
    checksum = "CRC-32C" if name == "archive-crc32c" else None

    assert recording(golden, name, entry).check(checksum) == []


def test_the_wrong_checksum_is_found_in_every_data_frame(golden: Path) -> None:
    entry = EXPECTED["archive-crc32c"]["recordings"][1]

    findings = recording(golden, "archive-crc32c", entry).check("CRC-32")

    assert len(findings) == entry["dataFrames"] + 1


def test_an_archive_that_crashed_is_recovered_as_java_recovers_it(golden: Path, engine: EngineName) -> None:
    expected = EXPECTED["archive-unclean"]
    archive = open_archive(golden / "archive-unclean", engine=engine)
    crashed = archive.recording(expected["recordingId"])

    edge = crashed.edge()
    messages = list(crashed.messages(on_incomplete="fail"))

    assert (edge.position, edge.kind) == (expected["recoveredStopPosition"], EdgeKind.RECOVERED)
    assert edge.position == 165120
    assert len(messages) == expected["messages"]
    assert crc_of(m.payload for m in messages) == expected["payloadCrc32"]


@pytest.mark.parametrize("name", DIRECTORIES)
@pytest.mark.parametrize("split_bytes", ["64k", "128m"])
def test_spark_tasks_read_every_message(golden: Path, name: str, split_bytes: str) -> None:
    source = (
        pytest.importorskip("aeronpy.spark.source")
        if "CI" not in os.environ
        else __import__("aeronpy.spark.source", fromlist=["source"])
    )
    data_source = source.AeronArchiveDataSource({"path": str(golden / name), "splitBytes": split_bytes})
    reader = data_source.reader(data_source.schema())
    rows: dict[int, list[tuple[int, bytes]]] = {}
    for partition in reader.partitions():
        for batch in reader.read(partition):
            columns = batch.to_pydict()
            for recording_id, position, payload in zip(
                columns["recording_id"], columns["position"], columns["payload"], strict=True
            ):
                rows.setdefault(recording_id, []).append((position, payload))

    for entry in EXPECTED[name]["recordings"]:
        got = sorted(rows.get(entry["recordingId"], []))
        assert len(got) == entry.get("messages", 0)
        if got:
            assert crc_of(payload for _, payload in got) == entry["payloadCrc32"]
