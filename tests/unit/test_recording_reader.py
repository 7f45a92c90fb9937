"""Reading recordings: every message and frame, or an error that says where and what to do."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from aeronpy.archive.catalog import CatalogWriter
from aeronpy.errors import AeronError, ArgumentError, CorruptError, NotFoundError, VersionError
from aeronpy.recording import Message, Recording, ScanReport, open_archive
from aeronpy.recording.scan import EngineName
from tests.recording_tapes import BEGIN, DATA, END, TERM, WHOLE, Tape, catalog_bytes, write_archive

SIZES = [0, 1, 31, 32, 33, 100, 1376, 1377, 5000, 0, 7000]


@pytest.fixture(params=["c", "numpy"])
def engine(request: pytest.FixtureRequest) -> EngineName:
    return request.param  # type: ignore[no-any-return]


def payload_of(index: int, size: int) -> bytes:
    return bytes((index * 31 + j * 7) % 256 for j in range(size))


def some_tape(rounds: int = 24, **facts: int) -> Tape:
    """Messages of all kinds of sizes over several segments; term ids wrap on the way."""
    tape = Tape(initial_term_id=0x7FFFFFFF, **facts)
    for index in range(rounds * len(SIZES)):
        tape.message(payload_of(index, SIZES[index % len(SIZES)]), reserved_value=index - 5)
    return tape


def recording_of(directory: Path, tape: Tape, engine: EngineName) -> Recording:
    return open_archive(write_archive(directory, tape), engine=engine).recording(tape.recording_id)


def facts(message: Message) -> tuple[object, ...]:
    return (
        message.position,
        message.end_position,
        message.payload,
        message.reserved_value,
        message.fragments,
        message.flags,
    )


def expected(tape: Tape) -> list[tuple[object, ...]]:
    return [(m.position, m.end_position, m.payload, m.reserved_value, m.fragments, m.flags) for m in tape.messages]


@pytest.mark.parametrize("start_position", [0, 65536 + 4096, 3 * 65536])
def test_messages_come_whole_and_in_order(tmp_path: Path, engine: EngineName, start_position: int) -> None:
    tape = some_tape(start_position=start_position)
    recording = recording_of(tmp_path, tape, engine)

    messages = list(recording.messages())

    assert [facts(m) for m in messages] == expected(tape)
    assert tape.position > start_position + 2 * tape.segment_length
    first = messages[0]
    assert (first.session_id, first.stream_id) == (42, 1001)
    assert first.term_offset == start_position % TERM
    assert first.term_id == struct.unpack("<i", struct.pack("<I", 0x7FFFFFFF + start_position // TERM))[0]


def test_frames_are_all_there_with_padding(tmp_path: Path, engine: EngineName) -> None:
    tape = some_tape()
    recording = recording_of(tmp_path, tape, engine)

    frames = list(recording.frames())

    assert len(frames) == tape.frame_count
    assert [f.end_position for f in frames[:-1]] == [f.position for f in frames[1:]]
    padding = [f for f in frames if f.is_padding]
    assert padding
    assert all(f.payload == b"" and f.position + f.length + 32 == f.end_position for f in padding)
    assert b"".join(f.payload for f in frames) == b"".join(m.payload for m in tape.messages)


def test_a_message_belongs_to_the_range_that_its_first_frame_lies_in(tmp_path: Path, engine: EngineName) -> None:
    tape = some_tape()
    recording = recording_of(tmp_path, tape, engine)
    big = next(m for m in tape.messages if m.fragments > 1 and m.position > TERM)

    inside = big.position + 32
    before = [m.position for m in recording.messages(None, inside)]
    after = [m.position for m in recording.messages(inside, None)]

    assert before[-1] == big.position
    assert before + after == [m.position for m in tape.messages]
    assert list(recording.messages(big.position, big.position)) == []


def test_a_range_outside_the_recording_is_refused_with_its_bounds(tmp_path: Path) -> None:
    tape = some_tape(1, start_position=4096)
    recording = recording_of(tmp_path, tape, "auto")

    with pytest.raises(ArgumentError, match="begins at 4096"):
        next(recording.messages(0))
    with pytest.raises(ArgumentError, match=f"up to {tape.position}"):
        next(recording.messages(None, tape.position + 32))


@pytest.mark.parametrize(("rows_max", "bytes_max"), [(1, 1), (3, 100), (7, 6000), (16384, 1 << 23)])
def test_batches_of_any_size_hold_the_same_rows(
    tmp_path: Path, engine: EngineName, rows_max: int, bytes_max: int
) -> None:
    tape = some_tape()
    recording = recording_of(tmp_path, tape, engine)

    batches = list(recording.batches(rows_max=rows_max, bytes_max=bytes_max))

    assert [p for b in batches for p in b.payloads()] == [m.payload for m in tape.messages]
    assert all(len(b) <= rows_max for b in batches)
    assert np.concatenate([b.position for b in batches]).tolist() == [m.position for m in tape.messages]


def test_columns_that_are_not_asked_for_are_not_made(tmp_path: Path, engine: EngineName) -> None:
    recording = recording_of(tmp_path, some_tape(), engine)

    batch = next(recording.batches(columns=["length", "recording_id"]))

    assert set(batch.arrays) == {"length"}


def test_an_unknown_column_names_the_nearest(tmp_path: Path) -> None:
    recording = recording_of(tmp_path, some_tape(1), "auto")

    with pytest.raises(ArgumentError, match="did you mean 'position'"):
        next(recording.batches(columns=["positon"]))


def test_messages_that_are_alike_become_a_structured_array(tmp_path: Path, engine: EngineName) -> None:
    tick = np.dtype([("price", "<f8"), ("size", "<i4")])
    tape = Tape()
    for index in range(20_000):
        tape.message(struct.pack("<di", index / 2, index))
    recording = recording_of(tmp_path, tape, engine)

    ticks = recording.numpy(tick)

    assert ticks["size"].tolist() == list(range(20_000))
    assert ticks["price"][-1] == 19_999 / 2


def test_a_message_of_another_size_is_named_by_its_position(tmp_path: Path) -> None:
    tape = Tape()
    tape.message(bytes(8))
    odd = tape.message(bytes(12))

    with pytest.raises(ArgumentError, match=f"position {odd.position} has 12 bytes"):
        recording_of(tmp_path, tape, "auto").numpy(np.int64)


def test_arrow_and_parquet_hold_what_messages_give(tmp_path: Path, engine: EngineName) -> None:
    tape = some_tape(recording_id=7)
    recording = recording_of(tmp_path, tape, engine)

    table = recording.to_arrow()
    rows = recording.to_parquet(tmp_path / "rows.parquet")

    assert table["payload"].to_pylist() == [m.payload for m in tape.messages]
    assert table["end_position"].to_pylist() == [m.end_position for m in tape.messages]
    assert set(table["recording_id"].to_pylist()) == {7}
    assert rows == len(tape.messages)
    assert pq.read_table(tmp_path / "rows.parquet").equals(table)


def test_arrow_gives_the_file_of_each_row_on_request(tmp_path: Path, engine: EngineName) -> None:
    tape = some_tape(start_position=4096)
    recording = recording_of(tmp_path, tape, engine)

    files = recording.to_arrow(["file", "channel"])

    assert files["file"].to_pylist() == [
        str(tmp_path / f"0-{m.position // (2 * TERM) * 2 * TERM}.rec") for m in tape.messages
    ]
    assert set(files["channel"].to_pylist()) == {tape.channel}


def test_an_empty_recording_has_no_rows_with_or_without_a_file(tmp_path: Path, engine: EngineName) -> None:
    recording = recording_of(tmp_path, Tape(), engine)
    assert list(recording.messages()) == []

    (tmp_path / "0-0.rec").unlink()
    assert recording.to_arrow().num_rows == 0


def test_session_ids_come_from_the_catalog_since_checksums_replace_those_of_frames(
    tmp_path: Path, engine: EngineName
) -> None:
    tape = Tape(session_id=42, frame_session_id=-777)
    tape.message(b"hello")
    recording = recording_of(tmp_path, tape, engine)

    assert next(recording.messages()).session_id == 42
    frame = next(recording.frames())
    assert (frame.session_id, frame.frame_session_id) == (42, -777)


# --- what is wrong on disk ---


def overwrite(directory: Path, tape: Tape, position: int, data: bytes) -> Path:
    base = tape.base + (position - tape.base) // tape.segment_length * tape.segment_length
    path = directory / f"{tape.recording_id}-{base}.rec"
    with path.open("r+b") as file:
        file.seek(position - base)
        file.write(data)
    return path


def change(offset: int, value: bytes) -> Callable[[bytes], bytes]:
    return lambda header: header[:offset] + value + header[offset + len(value) :]


FAULTS = {
    "zero length": (change(0, struct.pack("<i", 0)), "frame length 0 within the readable range"),
    "negative length": (change(0, struct.pack("<i", -32)), "frame length -32"),
    "short length": (change(0, struct.pack("<i", 31)), "frame length 31 is less than a header"),
    "long length": (change(0, struct.pack("<i", 0x7FFFFFFF)), "runs past the term's end"),
    "foreign version": (change(4, b"\x01"), "frame version 1"),
    "foreign type": (change(6, b"\x05\x00"), "frame type 5"),
    "wrong term offset": (change(8, struct.pack("<i", 32)), "term offset 32"),
    "wrong term": (change(20, struct.pack("<i", 1)), "term id 1"),
    "wrong stream": (change(16, struct.pack("<i", 9)), "stream id 9, the recording has 1001"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_header_is_an_error_after_all_rows_before_it(tmp_path: Path, engine: EngineName, fault: str) -> None:
    tape = some_tape()
    recording = recording_of(tmp_path, tape, engine)
    index = 70
    victim = tape.messages[index]
    corrupt, text = FAULTS[fault]
    at = tape.offset_of(victim.position)
    path = overwrite(tmp_path, tape, victim.position, corrupt(bytes(tape.data[at : at + 32])))

    messages = []
    with pytest.raises(CorruptError, match=text) as error:
        for message in recording.messages():
            messages.append(message)

    assert [facts(m) for m in messages] == expected(tape)[:index]
    for part in (str(path), f"position {victim.position}", "header ", "onCorrupt=skipTerm"):
        assert part in str(error.value)


def test_skipping_the_term_loses_what_is_left_of_it_and_counts_it(tmp_path: Path, engine: EngineName) -> None:
    tape = some_tape()
    recording = recording_of(tmp_path, tape, engine)
    victim = tape.messages[70]
    overwrite(tmp_path, tape, victim.position, bytes(32))
    term_end = (victim.position // TERM + 1) * TERM
    report = ScanReport()

    rows = [p for b in recording.batches(on_corrupt="skipTerm", report=report) for p in b.position.tolist()]

    assert rows == [m.position for m in tape.messages if not victim.position <= m.position < term_end]
    assert report.skipped_bytes == term_end - victim.position
    assert len(report.faults) == 1


def test_stopping_ends_before_the_fault(tmp_path: Path, engine: EngineName) -> None:
    tape = some_tape()
    recording = recording_of(tmp_path, tape, engine)
    overwrite(tmp_path, tape, tape.messages[70].position, bytes(32))

    rows = [m.position for m in recording.messages(on_corrupt="stop")]

    assert rows == [m.position for m in tape.messages[:70]]


@pytest.mark.parametrize("cut_at", [0, 16, 32, 40, 100])
def test_a_file_cut_short_is_an_error_and_never_zeros(tmp_path: Path, engine: EngineName, cut_at: int) -> None:
    tape = some_tape()
    recording = recording_of(tmp_path, tape, engine)
    victim = next(
        m for m in tape.messages if m.position > tape.segment_length and m.position % TERM and len(m.payload) > 100
    )
    base = tape.segment_length * (victim.position // tape.segment_length)
    path = tmp_path / f"0-{base}.rec"
    with path.open("r+b") as file:
        file.truncate(victim.position - base + cut_at)

    messages = []
    with pytest.raises(CorruptError, match="cut short") as error:
        for message in recording.messages():
            messages.append(message)

    assert [m.position for m in messages] == [m.position for m in tape.messages if m.position < victim.position]
    assert str(path) in str(error.value)


def test_a_file_without_the_hole_behind_its_last_padding_is_whole(tmp_path: Path, engine: EngineName) -> None:
    tape = Tape()
    tape.message(b"first")
    padding = tape.pad(TERM - tape.position)
    tape.message(b"second")
    recording = recording_of(tmp_path, tape, engine)
    whole = [facts(m) for m in recording.messages()]
    tape.stop_position = TERM
    write_archive(tmp_path, tape)
    with (tmp_path / "0-0.rec").open("r+b") as file:
        file.truncate(padding + 32)

    cut = open_archive(tmp_path, engine=engine).recording(0)

    assert [facts(m) for m in cut.messages()] == whole[:1]
    assert [f.is_padding for f in cut.frames()] == [False, True]


def test_a_missing_file_is_named(tmp_path: Path, engine: EngineName) -> None:
    tape = some_tape()
    recording = recording_of(tmp_path, tape, engine)
    (tmp_path / f"0-{tape.segment_length}.rec").unlink()

    messages = []
    with pytest.raises(NotFoundError, match=f"0-{tape.segment_length}.rec is missing"):
        for message in recording.messages():
            messages.append(message)
    assert len(messages) == sum(m.position < tape.segment_length for m in tape.messages)
    skipped = [m.position for m in recording.messages(on_corrupt="skipTerm")]
    gap = range(tape.segment_length, 2 * tape.segment_length)
    assert skipped == [m.position for m in tape.messages if m.position not in gap]


def broken_tape() -> Tape:
    """The tail of a message, a whole one, one cut by padding, one cut by another, one that the end cuts."""
    tape = Tape()
    tape.frame(END, DATA, 64, b"t" * 32)
    tape.message(b"one")
    tape.frame(BEGIN, DATA, 64, b"a" * 32)
    tape.pad(64)
    tape.frame(BEGIN, DATA, 64, b"b" * 32)
    tape.message(b"two")
    tape.frame(BEGIN, DATA, 64, b"c" * 32)
    return tape


def test_incomplete_messages_are_left_out_given_or_refused(tmp_path: Path, engine: EngineName) -> None:
    recording = recording_of(tmp_path, broken_tape(), engine)

    assert [m.payload for m in recording.messages()] == [b"one", b"two"]
    emitted = recording.to_arrow(["payload", "corrupt"], on_incomplete="emit")
    assert emitted["payload"].to_pylist() == [b"t" * 32, b"one", b"a" * 32, b"b" * 32, b"two", b"c" * 32]
    assert [text is not None for text in emitted["corrupt"].to_pylist()] == [True, False, True, True, False, True]
    assert emitted["corrupt"][0].as_py() == "first fragment missing"
    with pytest.raises(CorruptError, match="position 0 lacks a fragment: onIncompleteMessage=drop"):
        list(recording.messages(on_incomplete="fail"))


def test_leaving_incomplete_messages_out_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    recording = recording_of(tmp_path, broken_tape(), "auto")

    list(recording.messages())

    assert "4 messages lack a fragment, the first at position 0: left out" in caplog.text


# --- the catalog ---


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ({"term_length": TERM + 32}, "term length 65568 is not a power of two"),
        ({"segment_length": TERM // 2}, "segment length 32768"),
        ({"stop_position": 33}, "stop position 33 is not a multiple of 32"),
    ],
)
def test_impossible_numbers_of_an_entry_stop_only_its_recording(
    tmp_path: Path, fault: dict[str, int], text: str
) -> None:
    bad = Tape(recording_id=0)
    for name, value in fault.items():
        setattr(bad, name, value)
    good = Tape(recording_id=1)
    good.message(b"fine")
    archive = open_archive(write_archive(tmp_path, bad, good))

    with pytest.raises(CorruptError, match=text):
        next(archive.recording(0).messages())
    assert [m.payload for m in archive.recording(1).messages()] == [b"fine"]


def test_deleted_and_invalid_recordings_are_not_listed_and_say_so(tmp_path: Path) -> None:
    archive = open_archive(
        write_archive(tmp_path, Tape(recording_id=0, state=2), Tape(recording_id=1, state=0), Tape(recording_id=2))
    )

    assert [r.recording_id for r in archive] == [2]
    assert [e.recording_id for e in archive.catalog.entries] == [0, 1, 2]
    with pytest.raises(NotFoundError, match="recording 0 .* is DELETED"):
        archive.recording(0)
    with pytest.raises(NotFoundError, match="no recording 9; it has 0, 1, 2"):
        archive.recording(9)


def test_an_entry_that_is_being_appended_is_not_seen_yet(tmp_path: Path) -> None:
    directory = write_archive(tmp_path, Tape(recording_id=0), Tape(recording_id=1), next_recording_id=1)

    assert [e.recording_id for e in open_archive(directory).catalog.entries] == [0]


def test_recordings_are_found_by_stream_and_channel(tmp_path: Path) -> None:
    directory = write_archive(
        tmp_path, Tape(recording_id=0, stream_id=5), Tape(recording_id=1, stream_id=6, channel="aeron:udp?x=1")
    )
    archive = open_archive(directory)

    assert [r.recording_id for r in archive.recordings(stream_id=6)] == [1]
    assert [r.recording_id for r in archive.recordings(channel_contains="ipc")] == [0]


def entry_of(data: bytes, offset: int, value: bytes) -> bytes:
    return data[: 32 + offset] + value + data[32 + offset + len(value) :]


@pytest.mark.parametrize(
    ("corrupt", "error", "text"),
    [
        (lambda data: data[:20], CorruptError, "20 bytes, a catalog has at least 32"),
        (lambda data: struct.pack("<i", 4 << 16) + data[4:], VersionError, "file format 4.0.0"),
        (lambda data: data[:100], CorruptError, "the file ends at 100"),
        (lambda data: data[:16] + struct.pack("<i", 3) + data[20:], CorruptError, "alignment 3"),
        (lambda data: entry_of(data, 0, struct.pack("<i", 50)), CorruptError, "50 bytes"),
    ],
)
def test_a_broken_catalog_is_an_error_that_says_where(
    tmp_path: Path, corrupt: Callable[[bytes], bytes], error: type[AeronError], text: str
) -> None:
    (tmp_path / "archive.catalog").write_bytes(corrupt(catalog_bytes([Tape()])))

    with pytest.raises(error, match=text) as raised:
        open_archive(tmp_path)

    assert "archive.catalog" in str(raised.value)


@pytest.mark.parametrize(
    ("offset", "value", "text"),
    [
        (4, struct.pack("<i", 7), "state 7, known are 0 to 2"),
        (32 + 80, struct.pack("<I", 1 << 30), "a string of 1073741824 bytes"),
        (32 + 80, struct.pack("<I", 30), "a string of "),
    ],
)
def test_a_broken_entry_spoils_its_own_recording_only(tmp_path: Path, offset: int, value: bytes, text: str) -> None:
    good = Tape(recording_id=1)
    good.message(b"fine")
    directory = write_archive(tmp_path, Tape(recording_id=0), good)
    (directory / "archive.catalog").write_bytes(entry_of(catalog_bytes([Tape(recording_id=0), good]), offset, value))
    archive = open_archive(directory)

    assert [m.payload for m in archive.recording(1).messages()] == [b"fine"]
    assert [r.recording_id for r in archive] == [0, 1]
    with pytest.raises(CorruptError, match=text) as raised:
        archive.recording(0).range()
    assert "recording 0 at 32" in str(raised.value)
    assert "restore the catalog from a copy" in str(raised.value)
    assert [(each.recording_id, text in each.what) for each in archive.check()] == [(0, True)]
    with pytest.raises(CorruptError, match=text):
        CatalogWriter.open(directory)


def test_ids_out_of_order_are_corrupt(tmp_path: Path) -> None:
    (tmp_path / "archive.catalog").write_bytes(catalog_bytes([Tape(recording_id=3), Tape(recording_id=2)]))

    with pytest.raises(CorruptError, match="recording id 2 after 3"):
        open_archive(tmp_path)


def test_a_directory_without_a_catalog_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="give the directory that an Aeron archive writes"):
        open_archive(tmp_path)


def test_iterating_frames_of_a_whole_flag_needs_no_neighbours(tmp_path: Path, engine: EngineName) -> None:
    tape = Tape()
    tape.frame(WHOLE | 0x20, DATA, 36, b"eos!")  # other flag bits are not ours to judge
    recording = recording_of(tmp_path, tape, engine)

    assert [m.payload for m in recording.messages()] == [b"eos!"]
