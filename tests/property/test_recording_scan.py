"""Any recording, whole or broken, read in any way: C scanner, NumPy walk and a plain decoder agree."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from aeronpy.recording.frames import Status
from aeronpy.recording.scan import SCANNED, EngineName, Stretch, choose_engine
from aeronpy.recording.segments import RecordingFiles
from aeronpy.recording.walk import Policy, Range, ScanReport, Walker
from tests.recording_tapes import BEGIN, DATA, END, PADDING, TERM, WHOLE, Tape, decode_messages, write_archive

WANTED = frozenset(SCANNED) | {"payload"}
FLAGS = st.sampled_from([BEGIN, END, 0, WHOLE, WHOLE, WHOLE])
Piece = tuple[int, int, int]  # flags, type, payload bytes
PIECES = st.lists(
    st.tuples(FLAGS, st.sampled_from([DATA, DATA, DATA, PADDING]), st.integers(0, 3000)), min_size=1, max_size=120
)


def tape_of(pieces: list[Piece], start_position: int, initial_term_id: int) -> Tape:
    """Frames one after another, each term filled by padding, as no publication would but a format allows."""
    tape = Tape(start_position=start_position, initial_term_id=initial_term_id, segment_length=TERM)
    for index, (flags, kind, size) in enumerate(pieces):
        left = TERM - tape.position % TERM
        if (size + 63) // 32 * 32 > left:
            tape.pad(left)
        payload = bytes((index + j) % 256 for j in range(size)) if kind == DATA else b""
        tape.frame(flags, kind, size + 32, payload, reserved_value=index)
    return tape


def walk(part: Range, policy: Policy, *, frames: bool = False) -> tuple[list[tuple[object, ...]], ScanReport]:
    """All rows as tuples over all columns, and what the walk reported."""
    report = ScanReport()
    rows: list[tuple[object, ...]] = []
    for arrays in Walker(part, WANTED, policy, frames=frames, report=report):
        offsets = arrays["payload_offsets"].tolist()
        data = arrays["payload"].tobytes()
        payloads = [data[a:b] for a, b in pairwise(offsets)]
        columns = [arrays[name].tolist() for name in SCANNED]
        rows += list(zip(*columns, payloads, strict=True))
    return rows, report


@settings(max_examples=60, deadline=None)
@given(
    pieces=PIECES,
    start=st.sampled_from([0, 4096, TERM - 64, 2 * TERM]),
    initial_term_id=st.sampled_from([0, 2**31 - 1, -3]),
    sizes=st.tuples(st.sampled_from([1, 5, 16384]), st.sampled_from([1, 2000, 1 << 23])),
    cut=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    frames_emit=st.tuples(st.booleans(), st.booleans()),
)
def test_both_scanners_give_what_a_plain_decoder_gives(  # noqa: PLR0917
    pieces: list[Piece],
    start: int,
    initial_term_id: int,
    sizes: tuple[int, int],
    cut: tuple[int, int],
    frames_emit: tuple[bool, bool],
) -> None:
    frames, emit = frames_emit
    tape = tape_of(pieces, start, initial_term_id)
    length = tape.position - start
    bounds = sorted(start + length * point // 20 // 32 * 32 for point in cut)
    with tempfile.TemporaryDirectory() as directory:
        write_archive(Path(directory), tape)
        files = RecordingFiles(directory, 0, start, initial_term_id, TERM, TERM, 42, 1001)
        part = Range(files, bounds[0], bounds[1], tape.position)
        results = [
            walk(part, Policy("fail", "emit" if emit else "drop", *sizes, engine), frames=frames) for engine in ENGINES
        ]

    assert results[0] == results[1]
    if not frames and not emit:
        plain = decode_messages(bytes(tape.data[start - tape.base :]), start, TERM)
        owned = [m for m in plain if bounds[0] <= m.position < bounds[1]]
        got = [(row[0], row[1], row[-1], row[7], row[8]) for row in results[0][0]]
        assert got == [(m.position, m.end_position, m.payload, m.reserved_value, m.fragments) for m in owned]


ENGINES: tuple[EngineName, EngineName] = ("c", "numpy")


@settings(max_examples=60, deadline=None)
@given(
    pieces=PIECES,
    flips=st.lists(st.tuples(st.integers(0, 200_000), st.integers(0, 255)), min_size=1, max_size=6),
    cut_file=st.none() | st.integers(0, TERM),
    frames=st.booleans(),
    policy=st.sampled_from(["skipTerm", "stop"]),
)
def test_both_scanners_find_the_same_faults_in_broken_bytes(
    pieces: list[Piece], flips: list[tuple[int, int]], cut_file: int | None, frames: bool, policy: str
) -> None:
    tape = tape_of(pieces, 0, 7)
    for at, value in flips:
        tape.data[at % len(tape.data) // 32 * 32 + at % 24] = value  # mostly within headers
    with tempfile.TemporaryDirectory() as directory:
        write_archive(Path(directory), tape)
        if cut_file is not None:
            with (Path(directory) / "0-0.rec").open("r+b") as file:
                file.truncate(cut_file)
        files = RecordingFiles(directory, 0, 0, 7, TERM, TERM, 42, 1001)
        part = Range(files, 0, tape.position, tape.position)
        results = [
            walk(part, Policy(policy, "emit", engine=engine), frames=frames)  # type: ignore[arg-type]
            for engine in ENGINES
        ]

    assert results[0] == results[1]


@settings(max_examples=40, deadline=None)
@given(pieces=PIECES, steps=st.lists(st.integers(1, 20_000), min_size=1, max_size=10), live=st.booleans())
def test_memory_may_come_in_any_pieces(pieces: list[Piece], steps: list[int], live: bool) -> None:
    tape = tape_of(pieces, 0, 7)
    data = memoryview(bytes(tape.data))
    files = RecordingFiles("", 0, 0, 7, TERM, TERM, 42, 1001)
    results = []
    for name in ENGINES:
        engine = choose_engine(name)
        stretch = Stretch(
            position=0,
            limit=len(data),
            from_position=0,
            to_position=len(data),
            frames=False,
            emit_incomplete=False,
            live=live,
        )
        scan = engine.scan(files, stretch)
        columns = engine.columns(10_000, 1 << 24, WANTED)
        status, size, turn = Status.MORE, 0, 0
        while status is Status.MORE:
            before = scan.position
            size += steps[turn % len(steps)]
            turn += 1
            status = scan.run(data[before : before + size], columns)
            size = 0 if scan.position > before else size
        arrays = columns.finish()
        results.append((status, scan.position, scan.incomplete_count, {k: v.tolist() for k, v in arrays.items()}))

    assert results[0] == results[1]
    assert results[0][0] is Status.DONE
