"""The tools that lay files and drivers open: log, cnc, backlog, driver."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli_runs import in_terminal, run
from tests.unit.cnc_files import CncBytes, stream_key
from tests.unit.log_files import TERM, LogBytes, busy_log

UDP = "aeron:udp?endpoint=127.0.0.1:40456"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return busy_log().write(tmp_path / "publications" / "99.logbuffer")


def write_counters(directory: Path, **fields: int) -> Path:
    """A driver with a stream that has all stations, and an IPC stream."""
    written = CncBytes(**fields)
    written.counter(26, 0, "Conductor max cycle time doing its work in ns: SHARED_NETWORK", key=struct.pack("<i", 26))
    software = "Aeron software: version=1.53.0-SNAPSHOT commit=63c11a6914"
    written.counter(34, 0, software, 79104, key=struct.pack("<i", 34))
    written.counter(43, 0, "Control protocol version", 65536, key=struct.pack("<i", 43))
    for unused in (each for each in range(44) if each not in (26, 34, 43)):
        written.counter(unused, 0, "gone", state=-1)
    stations = [(12, 5000, 7), (1, 9000, 7), (2, 4000, 7), (9, 4500, 7), (3, 3900, 20), (5, 3800, 20), (4, 3000, 8)]
    for counter_id, (type_id, value, registration_id) in enumerate([*stations, (4, 3900, 9)], 44):
        key = stream_key(registration_id, -5, 1001, UDP)
        label = f"station: {registration_id} -5 1001 {UDP}"
        written.counter(counter_id, type_id, label, value, key=key, registration_id=registration_id)
    for counter_id, (type_id, value, registration_id) in enumerate([(12, 800, 30), (1, 700, 30), (4, 200, 31)], 52):
        key = stream_key(registration_id, 6, 1002, "aeron:ipc")
        written.counter(counter_id, type_id, f"station: {registration_id} 6 1002 aeron:ipc", value, key=key)
    return written.write(directory)


def test_backlog_prints_the_layout_that_scripts_know(tmp_path: Path) -> None:
    assert run("backlog", "-d", write_counters(tmp_path)).output.splitlines() == [
        f"sessionId=-5 streamId=1001 channel={UDP} : ",
        "┌─for publisher 7 the last sampled position is 5000 (~4000 bytes before back-pressure)",
        "└─sender 7 has to send 1000 bytes (500 bytes remaining in the sender window)",
        "┌─receiver 20 is at position 3800",
        "├─subscriber 8 has 900 backlog bytes",
        "└─subscriber 9 has 0 backlog bytes",
        "",
        "sessionId=6 streamId=1002 channel=aeron:ipc : ",
        "┌─for publisher 30 the last sampled position is 800 (~-100 bytes before back-pressure)",
        "└─no sender",
        "",
    ]


def test_backlog_in_json_has_the_subscribers_of_ipc_too(tmp_path: Path) -> None:
    found = json.loads(run("backlog", "-d", write_counters(tmp_path), "--json", "stream=1002").output)
    assert [each["stream_id"] for each in found] == [1002]
    assert found[0]["subscribers"] == [{"registration_id": 31, "backlog": 600}]
    assert found[0]["publishers"] == [{"registration_id": 30, "position": 800, "remaining": -100}]


def test_log_prints_the_layout_that_scripts_know(log: Path) -> None:
    lines = run("log", log, "4").output.splitlines()
    assert lines[1].endswith(f" UTC {lines[1].split(' UTC ')[1][:4]} Inspection dump for {log}")
    assert lines[3:11] == [
        "   Is connected: true",
        "Initial term id: 7",
        "     Term count: 0",
        "   Active index: 0",
        "    Term length: 65536",
        "     MTU length: 1408",
        "      Page size: 4096",
        "   EOS position: 9223372036854775807",
    ]
    assert lines[12] == (
        "default DATA Header{frame-length=0 version=0 flags=11000000 type=1 term-offset=0 session-id=-5 "
        "stream-id=1001 term-id=7 reserved-value=0}"
    )
    assert lines[14] == "Index 0 Term Meta Data termOffset=4096 termId=7 rawTail=30064775168 position=4096"
    assert lines[19] == "Index 0 Term Data"
    assert lines[21].startswith("0: DATA Header{frame-length=44 ")
    assert lines[22] == "68656C6C"
    offsets = [line.split(":")[0] for line in lines if ": DATA Header{" in line]
    assert offsets == ["0", "64", "128", "288", "0", "0"]


def test_log_takes_the_options_of_the_inspector(log: Path) -> None:
    short = run("log", log, "2", "--format", "ascii", "--skip-default-header").output
    assert "default DATA" not in short
    assert "\nhe\n" in short
    scanned = run("log", log, "8", "-z", "-f", "us-ascii").output
    assert "\n320: DATA Header{frame-length=40 " in scanned
    assert "\nlater!!!\n" in scanned
    assert "hello\0\0w" in scanned


def test_log_in_json_has_fields_tails_and_frames(log: Path) -> None:
    found = json.loads(run("log", log, "--json").output)
    assert found["metadata"]["mtu_length"] == 1408
    assert found["tails"][2] == {"partition": 2, "raw": 6 << 32 | 70000, "term_id": 6, "term_offset": 70000}
    frames = found["terms"][0]["frames"]
    assert [(each["offset"], each["frame_length"], each["type"]) for each in frames] == [
        (0, 44, 1),
        (64, 64, 0),
        (128, 132, 1),
    ]
    assert frames[0]["payload"] == b"hello\x80\xffworld".hex().upper()
    assert found["terms"][1] == {"partition": 1, "frames": []}


def test_log_finds_a_log_of_the_driver_by_its_id(log: Path, tmp_path: Path) -> None:
    assert f"Inspection dump for {log}" in run("log", "99", "-d", tmp_path).output


def test_log_shows_people_what_is_there(log: Path) -> None:
    seen, code = in_terminal("log", log, "--format", "ascii")
    assert code == 0, seen
    for words in ("concurrent publication", "1001, -5", "hello..world", "padding", "nothing in the last 65,248 bytes"):
        assert words in seen


def test_people_see_the_first_frames_of_a_full_term(tmp_path: Path) -> None:
    full = LogBytes()
    for offset in range(0, TERM, 64):
        full.put(offset, 64)
    seen, code = in_terminal("log", full.write(tmp_path / "full.logbuffer"))
    assert code == 0, seen
    assert "more in the last 59,136 bytes: pipe it to see all" in seen  # all but 100 frames of 64


def outcome(*arguments: str | Path) -> tuple[int, str]:
    """Exit code and stderr of the command as a process."""
    command_line = [sys.executable, "-m", "aeronpy.cli.main", *map(str, arguments)]
    done = subprocess.run(command_line, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


def test_what_is_no_log_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"?" * 300_000)
    for name, words in [("short", "is no log"), ("7", "no log of that id"), (".", "is not a regular file")]:
        code, text = outcome("log", tmp_path / name if name != "7" else "7", "-d", tmp_path)
        assert (code, text.count("\n")) == (1, 1), text
        assert words in text


def test_cnc_dumps_the_state_of_every_part(tmp_path: Path) -> None:
    output = run("cnc", "-d", write_counters(tmp_path)).output
    for line in (
        "header.version: 0.2.0",
        "header.pid: 4711",
        "section.to-driver: 4864 bytes at 128",
        "to_driver.capacity: 4096",
        "to_clients.latest_message: none",
        "counters.allocated: 14",
        "counters.reclaimed: 41",
        "error_log.used_bytes: 0 of 4096",
    ):
        assert line in output.splitlines()
    found = json.loads(run("cnc", "-d", tmp_path, "--json").output)
    assert found["header"]["client_liveness_timeout_ns"] == 10_000_000_000
    assert found["problems"] == []


def test_cnc_says_what_is_wrong_and_exits_with_1(tmp_path: Path) -> None:
    write_counters(tmp_path)
    os.truncate(tmp_path / "cnc.dat", 20_000)
    result = run("cnc", "-d", tmp_path)
    assert result.exit_code == 1
    assert "problem: counters-metadata ends at" in result.output
    assert "to_driver.capacity: 4096" in result.output
    seen, code = in_terminal("cnc", "-d", tmp_path)
    assert code == 1
    assert "counters-metadata ends at" in seen


def test_cnc_and_driver_without_a_driver_exit_with_3(tmp_path: Path) -> None:
    for arguments in (
        ["cnc"],
        ["driver", "pid"],
        ["driver", "version"],
        ["driver", "describe"],
        ["driver", "terminate"],
    ):
        result = run(*arguments, "-d", tmp_path)
        assert result.exit_code == 3, arguments
        assert f"no media driver in {tmp_path}" in result.output


def test_driver_pid_is_that_of_a_live_driver(tmp_path: Path) -> None:
    result = run("driver", "pid", "-d", write_counters(tmp_path))
    assert (result.exit_code, result.output) == (0, "4711\n")
    assert json.loads(run("driver", "pid", "-d", tmp_path, "--json").output) == {"pid": 4711, "life": "alive"}
    for heartbeat_ms, life in ((-1, "shut down"), (1_700_000_000_000, "silent")):
        result = run("driver", "pid", "-d", write_counters(tmp_path, heartbeat_ms=heartbeat_ms))
        assert result.exit_code == 3
        assert result.output.startswith("4711\n")
        assert life in result.output


def test_driver_version_names_all_that_has_one(tmp_path: Path) -> None:
    result = run("driver", "version", "-d", write_counters(tmp_path))
    assert result.output.splitlines() == [
        "aeron version=1.53.0-SNAPSHOT commit=63c11a6914",
        "control protocol version=1.0.0",
        "cnc version=0.2.0",
    ]


def test_driver_describe_begins_as_scripts_know_it(tmp_path: Path) -> None:
    lines = run("driver", "describe", "-d", write_counters(tmp_path)).output.splitlines()
    assert lines[0] == f"Command `n Control file: {tmp_path}/cnc.dat"
    assert lines[1] == "Version: 512, PID: 4711"
    assert " (start: 2023-11-14 22:13:20, activity: " in lines[2]
    assert "Threading mode: SHARED_NETWORK" in lines
    assert "Publications: 2" in lines
    assert "Images: 1" in lines
    assert "Subscriptions with images: 3" in lines
    found = json.loads(run("driver", "describe", "-d", tmp_path, "--json").output)
    assert (found["aeron_version"], found["life"], found["clients"]) == ("1.53.0-SNAPSHOT", "alive", 0)


def test_driver_without_a_subcommand_is_one_that_runs() -> None:
    assert "--help" in run("driver", "--help").output
    assert "-D NAME=VALUE" in run("driver", "run", "--help").output
    refused = run("driver", "-Dnonsense")
    assert refused.exit_code == 2
    assert "-Dnonsense is not -Dname=value" in refused.output


@pytest.mark.parametrize(
    "tool", ["backlog", "log", "cnc", "driver pid", "driver version", "driver describe", "driver terminate"]
)
def test_help_has_an_example(tool: str) -> None:
    assert f"Example: {'kill' if tool == 'driver pid' else f'aeronpy {tool}'}" in run(*tool.split(), "--help").output
