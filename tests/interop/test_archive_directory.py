"""An archive directory that we recorded, in the hands of Java: its tool finds no fault, its archive replays it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from aeronpy import Aeron, ExclusivePublication
from aeronpy.archive import Archive, SourceLocation
from aeronpy.archive.catalog import CatalogWriter
from aeronpy.archive.recovery import recover
from aeronpy.errors import CorruptError
from aeronpy.recording import open_archive
from aeronpy.recording.recovery import recover_stop_position
from aeronpy.recording.segments import RecordingFiles, list_segments
from tests.interop import peers
from tests.interop.lines import JavaHost
from tests.interop.stage import IPC, Stage, free_port, udp

TERM, SEGMENT, MTU = 64 << 10, 128 << 10, 1408
SIZES = (0, 1, 31, 32, 33, MTU - 32, MTU - 31, 5 * (MTU - 32), TERM // 8)
ARCHIVE_ID = 4711


@dataclass
class Sent:
    """What one recording must hold."""

    messages: int = 0
    frames: int = 0
    payload_bytes: int = 0
    crc: int = 0

    def add(self, message: bytes) -> None:
        self.messages += 1
        self.frames += max(1, -(-len(message) // (MTU - 32)))
        self.payload_bytes += len(message)
        self.crc = zlib.crc32(message, self.crc)


def message_of(number: int, length: int) -> bytes:
    return bytes((31 * number + 7 * at) & 0xFF for at in range(64)).ljust(length, bytes([number & 0xFF]))[:length]


class Recordings:
    """Makes recordings of every kind and keeps what was sent, by recording id."""

    def __init__(self, aeron: Aeron, archive: Archive) -> None:
        self.aeron = aeron
        self.archive = archive
        self.sent: dict[int, Sent] = {}

    def record(
        self,
        channel: str,
        stream_id: int,
        lengths: Iterator[int] | list[int],
        *,
        before: int = 0,
        location: SourceLocation = SourceLocation.REMOTE,
        publication_params: str = "",
        aborted_claims: bool = False,
    ) -> int:
        """One recording of messages of these lengths; so many more were sent before it began."""
        sent = Sent()
        earlier: list[tuple[int, bytes]] = []  # with where each ended: some of it may still be recorded
        listener = self.aeron.add_subscription(channel, stream_id) if before else None
        join = "|" if "?" in channel else "?"
        with self.aeron.add_exclusive_publication(
            f"{channel}{join}term-length=64k{publication_params}", stream_id
        ) as publication:
            while listener is not None and not listener.is_connected:
                time.sleep(0.001)  # nobody reads while a send waits for room
            for number in range(before):
                message = message_of(number, 700)
                publication.send(message, timeout_s=10)
                earlier.append((publication.position, message))
                if listener is not None:
                    listener.poll(lambda buffer, header: None, 10)
            if listener is not None:
                while listener.poll(lambda buffer, header: None, 100):
                    pass
            request = self.archive.start_recording(channel, stream_id, location)
            recording_id = request.await_recording(10)
            if listener is not None:
                listener.close()
            start = self.archive.get_start_position(recording_id)
            for message in [message for end, message in earlier if end > start]:
                sent.add(message)
            for number, length in enumerate(lengths):
                message = message_of(number, length)
                publication.send(message, timeout_s=10)
                sent.add(message)
                if aborted_claims and number % 3 == 0:
                    self._abort_claim(publication)
        assert request.await_ended(20)
        request.stop()
        self.sent[recording_id] = sent
        return recording_id

    @staticmethod
    def _abort_claim(publication: ExclusivePublication) -> None:
        deadline = time.monotonic() + 10
        while not (claim := publication.try_claim(200)):
            assert time.monotonic() < deadline, claim.result
        claim.abort()


def of_every_length(bytes_total: int) -> Iterator[int]:
    done, number = 0, 0
    while done < bytes_total:
        yield SIZES[number % len(SIZES)]
        done += SIZES[number % len(SIZES)] + 32
        number += 1


@pytest.fixture(scope="module", params=["c", "ours"])
def recorded(
    request: pytest.FixtureRequest, java_host: Callable[[], JavaHost], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Recordings]:
    """A directory with every kind of recording, cleanly closed."""
    stage = Stage(java_host)
    directory = tmp_path_factory.mktemp("archive")
    try:
        driver = stage.driver(request.param, settings={"AERON_SPIES_SIMULATE_CONNECTION": "true"})
        with (
            Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron,
            Archive.open(
                directory, aeron, archive_id=ARCHIVE_ID, segment_length=SEGMENT, low_storage_space_threshold=0
            ) as archive,
        ):
            make = Recordings(aeron, archive)
            make.record("aeron:ipc", 1001, of_every_length(7 * TERM))
            port = free_port()
            make.record(f"aeron:udp?endpoint=127.0.0.1:{port}|alias=prices", 1002, of_every_length(7 * TERM))
            spied = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
            make.record(spied, 1003, of_every_length(3 * TERM), location=SourceLocation.LOCAL)
            make.record("aeron:ipc", 1004, of_every_length(5 * TERM), before=150)  # joins inside the second term
            make.record("aeron:ipc", 1005, [992] * 128)  # stops on a segment's end
            make.record("aeron:ipc", 1006, [])
            make.record("aeron:ipc", 1007, [100] * 1000, aborted_claims=True)
            wrapping = "|init-term-id=2147483647|term-id=2147483647|term-offset=0"
            make.record("aeron:ipc", 1008, of_every_length(4 * TERM), publication_params=wrapping)
    finally:
        stage.close()
    return directory, make


@pytest.fixture
def copy(recorded: tuple[Path, Recordings], tmp_path: Path) -> Path:
    """A directory of its own for a test that may change it."""
    return Path(shutil.copytree(recorded[0], tmp_path / "archive"))


def archive_tool(directory: Path, *command: str) -> str:
    peers.compile_java()
    done = subprocess.run(
        [*peers.java_command("io.aeron.archive.ArchiveTool"), str(directory), *command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Exception" not in done.stdout + done.stderr
    return done.stdout


def described(text: str) -> dict[int, dict[str, str]]:
    """The descriptors in the tool's output, by recording id."""
    found = {}
    for line in text.splitlines():
        if "[RecordingDescriptor]" in line:
            fields = dict(re.findall(r"(\w+)=('[^']*'|[^|']*)", line.split("):", 1)[1]))
            found[int(fields["recordingId"])] = {name: value.strip("'") for name, value in fields.items()}
    return found


def test_tool_describes_what_our_catalog_says(recorded: tuple[Path, Recordings]) -> None:
    directory, make = recorded
    text = archive_tool(directory, "describe")
    theirs = described(text)

    catalog = CatalogWriter.open(directory)
    ours = {descriptor.recording_id: descriptor for descriptor in catalog}
    catalog.close()
    assert theirs.keys() == ours.keys() == make.sent.keys()
    for recording_id, descriptor in ours.items():
        fields = theirs[recording_id]
        for name in ("start_position", "stop_position", "start_timestamp", "stop_timestamp", "initial_term_id"):
            head, *rest = name.split("_")
            assert int(fields[head + "".join(word.title() for word in rest)]) == getattr(descriptor, name), name
        assert fields["strippedChannel"] == descriptor.stripped_channel
        assert fields["originalChannel"] == descriptor.original_channel
        assert fields["sourceIdentity"] == descriptor.source_identity
    assert f"archiveId={ARCHIVE_ID}" in text


def test_tool_counts_the_entries(recorded: tuple[Path, Recordings]) -> None:
    assert archive_tool(recorded[0], "count-entries").split()[-1] == str(len(recorded[1].sent))


def test_tool_verifies_every_segment_and_changes_nothing(copy: Path, recorded: tuple[Path, Recordings]) -> None:
    before = (copy / "archive.catalog").read_bytes()
    text = archive_tool(copy, "verify", "-a")

    for recording_id in recorded[1].sent:
        assert f"(recordingId={recording_id}) OK" in text
    assert "ERR" not in text
    assert (copy / "archive.catalog").read_bytes() == before


def test_tool_dumps_every_frame(recorded: tuple[Path, Recordings]) -> None:
    dumped: dict[int, int] = {}
    for line in archive_tool(recorded[0], "dump", "1000000").splitlines():
        if found := re.fullmatch(r"Recording (\d+)", line.strip()):
            dumped[int(found[1])] = 0
        elif line.startswith("Frame at position"):
            dumped[max(dumped)] += 1
        elif line.startswith("PADDING FRAME"):
            dumped[max(dumped)] -= 1

    assert dumped == {recording_id: sent.frames for recording_id, sent in recorded[1].sent.items()}


def test_java_archive_lists_and_replays_our_recordings(copy: Path, recorded: tuple[Path, Recordings]) -> None:
    peers.compile_java()
    aeron_dir = Path("/dev/shm") / f"aeronpy-interop-replay-{copy.parent.name}"
    command = [*peers.java_command("ArchiveReplay"), str(aeron_dir), str(copy), str(free_port())]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    finally:
        shutil.rmtree(aeron_dir, ignore_errors=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split(" ") for line in done.stdout.splitlines()]
    listed = {
        int(f["id"]): f for word, *rest in lines if word == "LISTED" for f in [dict(e.split("=", 1) for e in rest)]
    }
    replayed = {
        int(f["id"]): f for word, *rest in lines if word == "REPLAYED" for f in [dict(e.split("=", 1) for e in rest)]
    }

    assert listed.keys() == replayed.keys() == recorded[1].sent.keys()
    for recording_id, sent in recorded[1].sent.items():
        fields = replayed[recording_id]
        assert fields["position"] == listed[recording_id]["stop"]
        found = (int(fields["messages"]), int(fields["bytes"]), int(fields["crc"], 16))
        assert found == (sent.messages, sent.payload_bytes, sent.crc), listed[recording_id]


def test_recordings_are_of_the_kinds_that_they_should_be(recorded: tuple[Path, Recordings]) -> None:
    """The fixture's own promise: terms and segments rotate, one starts late, one stops on a boundary."""
    directory, _ = recorded
    catalog = CatalogWriter.open(directory)
    by_stream = {descriptor.stream_id: descriptor for descriptor in catalog}
    catalog.close()

    assert by_stream[1001].stop_position > 6 * TERM
    assert by_stream[1004].start_position % TERM != 0
    assert by_stream[1005].stop_position == SEGMENT
    assert (directory / f"{by_stream[1005].recording_id}-{SEGMENT}.rec").read_bytes() == bytes(SEGMENT)
    assert by_stream[1006].start_position == by_stream[1006].stop_position == 0
    assert by_stream[1002].source_identity.startswith("127.0.0.1:")
    assert by_stream[1002].stripped_channel.endswith("|alias=prices")
    assert by_stream[1003].source_identity == "aeron:ipc"
    assert by_stream[1008].initial_term_id == 2147483647


# Three recordings at once: payloads of 0 to 2 bytes, of up to one frame, and of several frames.
RECORD_UNTIL_KILLED = """
import sys, itertools
from aeronpy import Aeron
from aeronpy.archive import Archive
from tests.interop.test_archive_directory import killed_payload
with Aeron.connect(aeron_dir=sys.argv[1]) as aeron:
    archive = Archive.open(sys.argv[2], aeron, segment_length=131072, low_storage_space_threshold=0)
    publications = []
    for stream, channel in ((1001, sys.argv[3]), (1002, sys.argv[4]), (1003, sys.argv[3])):
        recording = archive.start_recording(channel, stream)
        publications.append(aeron.add_exclusive_publication(channel, stream))
        recording.await_recording(10)
    for number in itertools.count():
        for stream, publication in enumerate(publications, 1001):
            publication.send(killed_payload(stream, number), timeout_s=10)
        if number == 2000:
            print("READY", flush=True)
"""
KILLED_STREAMS = (1001, 1002, 1003)


def killed_payload(stream: int, number: int) -> bytes:
    length = {1001: number % 3, 1002: number * 37 % 1376, 1003: 1000 + number * 97 % 6000}[stream]
    return bytes([(number + stream) & 255]) * length


def test_recordings_that_were_killed_together_recover_where_java_says(stage: Stage, tmp_path: Path) -> None:
    driver = stage.driver("c")
    theirs = tmp_path / "theirs"
    command: list[str | Path] = [sys.executable, "-c", RECORD_UNTIL_KILLED, driver.aeron_dir, theirs]
    process = stage.process("recorder", [*command, IPC, udp(free_port())], {"PYTHONPATH": str(peers.ROOT)})
    process.expect("READY")
    process.kill()
    ours = Path(shutil.copytree(theirs, tmp_path / "ours"))

    catalog = CatalogWriter.open(ours)
    assert [each.stop_position for each in catalog] == [-1, -1, -1]
    segments = list_segments(ours)
    found = [recover_stop_position(RecordingFiles.of(ours, each), segments[each.recording_id]) for each in catalog]
    if any(each.dropped_position >= 0 for each in found):
        # The kernel may cut a write at a page's end when its process is killed: then the operator is to decide.
        with pytest.raises(CorruptError, match="may be half written"):
            recover(ours, catalog)
        return
    assert recover(ours, catalog) == [0, 1, 2]
    stops = [each.stop_position for each in catalog]
    catalog.close()
    for recording_id in range(3):
        archive_tool(theirs, "verify", str(recording_id))
    says = described(archive_tool(theirs, "describe"))
    assert [int(says[recording_id]["stopPosition"]) for recording_id in range(3)] == stops
    for recording, stream in zip(open_archive(ours), KILLED_STREAMS, strict=True):
        assert recording.stream_id == stream
        payloads = [each.payload for each in recording.messages()]
        assert len(payloads) > 1500  # what was sent last may not have been recorded yet
        assert payloads == [killed_payload(stream, number) for number in range(len(payloads))]
