"""However a recording is segmented, fragmented, split and batched: the rows are those of a sequential decoder."""

from __future__ import annotations

import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

if not os.environ.get("CI"):
    pytest.importorskip("pyspark")

from aeronpy.spark import AeronArchiveDataSource
from tests.recording_tapes import Tape, decode_sequentially, write_archive

TERM = 1 << 16


@st.composite
def recordings(draw: st.DrawFn) -> Tape:
    """Some terms of whole and broken messages and of padding, begun anywhere in a term."""
    recording = Tape(
        recording_id=draw(st.integers(0, 1 << 40)),
        start_position=draw(st.integers(0, 5)) * TERM + draw(st.integers(0, 100)) * 32,
        segment_length=TERM * draw(st.sampled_from([1, 2, 4])),
        initial_term_id=draw(st.sampled_from([0, -3, (1 << 31) - 1])),
        mtu=32 * draw(st.integers(3, 64)),
    )
    random = draw(st.randoms(use_true_random=False))
    longest = draw(st.sampled_from([100, 2000, 8192]))
    broken = draw(st.sampled_from([0.0, 0.05]))
    if draw(st.booleans()):
        recording.fragment(b"tail of a message begun before", 0x40)
    end = recording.position + draw(st.integers(0, 5 * TERM))
    while recording.position < end:
        left = TERM - recording.position % TERM
        if random.random() < broken and left > 512:
            recording.fragment(b"fragment", random.choice([0, 0x80, 0x40]))
        elif random.random() < broken and left > 512:
            recording.pad(random.choice([32, 64, 512]))
        else:
            recording.message(random.randbytes(random.randint(0, longest)), random.getrandbits(62))
    return recording


def read(options: dict[str, str]) -> list[tuple[Any, ...]]:
    source = AeronArchiveDataSource(options)
    reader = source.reader(schema=source.schema())
    found = []
    for partition in reader.partitions():
        shipped = pickle.loads(pickle.dumps(partition))
        for batch in reader.read(shipped):
            names = ("position", "end_position", "reserved_value", "fragments", "payload", "length")
            found += list(zip(*(batch.column(name).to_pylist() for name in names), strict=True))
    return found


@settings(max_examples=60, deadline=None)
@given(
    recording=recordings(),
    split=st.integers(1, 6 * TERM),
    rows=st.sampled_from([1, 3, 1000]),
    batch_bytes=st.sampled_from([1, 5000, 1 << 20]),
    low=st.floats(0, 1),
    high=st.floats(0, 1),
)
def test_partitions_give_what_a_sequential_decoder_gives(
    *, recording: Tape, split: int, rows: int, batch_bytes: int, low: float, high: float
) -> None:
    size = recording.position - recording.start_position
    start, end = (recording.start_position + int(size * each) for each in sorted((low, high)))
    with tempfile.TemporaryDirectory() as name:
        directory = write_archive(Path(name), recording)
        decoded = decode_sequentially(
            directory, recording.recording_id, recording.start_position, recording.position, TERM
        )
        options = {"path": name, "splitBytes": str(split), "batchRows": str(rows), "batchBytes": str(batch_bytes)}

        everything = read(options)
        between = read(
            options
            | {
                "startingPositions": f'{{"{recording.recording_id}": {start}}}',
                "endingPositions": f'{{"{recording.recording_id}": {end}}}',
            }
        )

    expected = [(m.position, m.end_position, m.reserved_value, m.fragments, m.payload, len(m.payload)) for m in decoded]
    assert everything == expected
    assert between == [row for row in expected if start <= row[0] < end]
