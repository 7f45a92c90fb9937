"""Tools on files that are torn, overwritten or foreign: an answer or one clear error, never a crash or a hang."""

from __future__ import annotations

import json
import os
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aeronpy.errors import AeronError
from aeronpy.observe.cnc import read_cnc_report
from aeronpy.observe.doctor import findings
from aeronpy.observe.finding import Finding
from tests.unit.cli_runs import run
from tests.unit.cnc_files import (
    BROADCAST,
    ERRORS_AT,
    METADATA_AT,
    RING,
    RING_AT,
    VALUES_AT,
    CncBytes,
    loss_entry,
    stream_key,
    write_loss,
)
from tests.unit.log_files import METADATA_AT as LOG_METADATA_AT
from tests.unit.log_files import busy_log

CHANNEL = "aeron:udp?endpoint=127.0.0.1:40456"
TOOLS = [
    ["stat"],
    ["errors"],
    ["loss"],
    ["streams"],
    ["backlog"],
    ["counters"],
    ["cnc"],
    ["driver", "pid"],
    ["driver", "version"],
    ["driver", "describe"],
    ["explain", CHANNEL, "1001", "--interval", "0"],
    ["doctor", "--no-names"],
]
EXIT_CODES = {0, 1, 2, 3, 4, 5}

# Words that break things: limits of types, lengths just off, and anything at all.
WORDS = st.sampled_from([0, 1, -1, 7, 8, 24, 63, 64, 380, 381, 4096, 1 << 30, (1 << 31) - 1, -(1 << 31)])
ANY_WORD = st.integers(-(1 << 31), (1 << 31) - 1)
CNC_PLACES = st.one_of(
    st.integers(0, 52),
    st.integers(RING_AT, RING_AT + 64),
    st.sampled_from([RING_AT + 4096 + each for each in (128, 256, 384, 512, 640)]),
    st.integers(RING_AT + RING, RING_AT + RING + 32),
    st.integers(RING_AT + RING + BROADCAST - 128, RING_AT + RING + BROADCAST - 100),
    st.integers(METADATA_AT, METADATA_AT + 8 * 512),
    st.sampled_from([METADATA_AT + 512 * each + field for each in range(8) for field in (0, 4, 16, 20, 24, 32, 128)]),
    st.integers(VALUES_AT, VALUES_AT + 8 * 128),
    st.integers(ERRORS_AT, ERRORS_AT + 64),
)
CHANGES = st.lists(st.tuples(CNC_PLACES, WORDS | ANY_WORD), max_size=6)


def whole_cnc() -> bytearray:
    written = CncBytes(pid=os.getpid())
    written.counter(0, 0, "Bytes sent", 9, key=struct.pack("<i", 0))
    for counter_id, (type_id, registration_id) in enumerate([(12, 7), (1, 7), (2, 7), (3, 20), (5, 20), (4, 8)], 1):
        label = f"name: {registration_id} -5 1001 {CHANNEL}"
        written.counter(counter_id, type_id, label, 64, key=stream_key(registration_id, -5, 1001, CHANNEL))
    written.counter(7, 11, "client-heartbeat: id=3 name=x", 1, key=struct.pack("<q", 3))
    written.error("bad", 1, 5, 5)
    return written.data


@contextmanager
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def check_tools(aeron_dir: Path, tools: list[list[str]]) -> None:
    for tool in tools:
        result = run(*tool, "-d", aeron_dir)
        assert result.exception is None or isinstance(result.exception, SystemExit | AeronError), (
            tool,
            result.exc_info,
        )
        assert result.exit_code in EXIT_CODES
        told = run(*tool, "-d", aeron_dir, "--json")
        if told.exit_code == 0:
            json.loads(told.output)


def unexpected(found: list[Finding]) -> list[Finding]:
    return [each for each in found if each.check.startswith("doctor.")]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(changes=CHANGES, tools=st.lists(st.sampled_from(TOOLS), min_size=1, max_size=3))
def test_a_cnc_file_with_words_overwritten_gives_answers_or_errors(
    changes: list[tuple[int, int]], tools: list[list[str]]
) -> None:
    data = whole_cnc()
    for at, word in changes:
        struct.pack_into("<i", data, at, word)
    with directory() as aeron_dir:
        (aeron_dir / "cnc.dat").write_bytes(data)
        busy_log().write(aeron_dir / "publications" / "7.logbuffer")
        busy_log().write(aeron_dir / "images" / "20.logbuffer")
        check_tools(aeron_dir, tools)
        assert unexpected(findings(aeron_dir)) == []
        read_cnc_report(aeron_dir)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(length=st.integers(0, len(whole_cnc())), fill=st.sampled_from([b"", bytes(8192), b"\xff" * 8192]))
def test_a_cnc_file_that_is_torn_or_padded_gives_answers_or_errors(length: int, fill: bytes) -> None:
    with directory() as aeron_dir:
        (aeron_dir / "cnc.dat").write_bytes(whole_cnc()[:length] + fill)
        check_tools(aeron_dir, TOOLS[length % len(TOOLS) :][:2])
        assert unexpected(findings(aeron_dir)) == []


@settings(max_examples=40, deadline=None)
@given(at=st.integers(0, 127), word=WORDS | ANY_WORD, cut=st.integers(0, 4096))
def test_a_loss_report_that_is_broken_gives_answers_or_errors(at: int, word: int, cut: int) -> None:
    with directory() as aeron_dir:
        (aeron_dir / "cnc.dat").write_bytes(whole_cnc())
        entry = bytearray(loss_entry((1, 2, 3, 4, -5, 1001), CHANNEL, "127.0.0.1:5") * 2)
        struct.pack_into("<i", entry, at, word)
        write_loss(aeron_dir, bytes(entry))
        os.truncate(aeron_dir / "loss-report.dat", cut)
        check_tools(aeron_dir, [["loss"]])
        assert unexpected(findings(aeron_dir)) == []


LOG_PLACES = st.one_of(
    st.integers(0, 640), st.integers(LOG_METADATA_AT, LOG_METADATA_AT + 508), st.just(LOG_METADATA_AT + 276)
)


@settings(max_examples=60, deadline=None)
@given(
    changes=st.lists(st.tuples(LOG_PLACES, WORDS | ANY_WORD), max_size=5),
    cut=st.none() | st.integers(0, LOG_METADATA_AT + 4096),
    flags=st.sampled_from([["64"], ["0", "-z"], ["64", "-f", "ascii"], ["64", "--json"]]),
)
def test_a_log_that_is_broken_gives_answers_or_errors(
    changes: list[tuple[int, int]], cut: int | None, flags: list[str]
) -> None:
    log = busy_log()
    for at, word in changes:
        struct.pack_into("<i", log.data, at, word)
    with directory() as folder:
        path = log.write(folder / "7.logbuffer")
        if cut is not None:
            os.truncate(path, cut)
        result = run("log", path, *flags)
        assert result.exception is None or isinstance(result.exception, AeronError), result.exc_info
        if "--json" in flags and result.exit_code == 0:
            assert len(json.loads(result.output)["terms"]) == 3


def make_fifo(path: Path) -> None:
    os.mkfifo(path / "cnc.dat")


def make_loop(path: Path) -> None:
    (path / "cnc.dat").symlink_to("cnc.dat")


def make_device(path: Path) -> None:
    (path / "cnc.dat").symlink_to("/dev/zero")


def make_folder(path: Path) -> None:
    (path / "cnc.dat").mkdir()


def make_holes(path: Path) -> None:
    with (path / "cnc.dat").open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("make", [make_fifo, make_loop, make_device, make_folder, make_holes])
def test_things_that_are_no_file_give_one_error(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path)
    check_tools(tmp_path, TOOLS)
    assert unexpected(findings(tmp_path)) == []
