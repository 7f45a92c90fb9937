"""The tools that look at a driver: layouts that scripts know, JSON, exit codes."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from aeronpy.cli.stat import fitting
from aeronpy.observe import CncFile, DriverSnapshot
from tests.unit.cli_runs import in_terminal, run
from tests.unit.cnc_files import CncBytes, loss_entry, stream_key, write_loss

CHANNEL = "aeron:udp?endpoint=127.0.0.1:40456"
TOOLS = ["stat", "errors", "loss", "streams", "backlog", "counters"]


@pytest.fixture
def aeron_dir(tmp_path: Path) -> Path:
    written = CncBytes()
    written.counter(0, 0, "Bytes sent", 3232, key=struct.pack("<i", 0), owner_id=-1)
    written.counter(1, 1, "gone", state=-1)
    for counter_id, (type_id, name) in enumerate([(12, "pub-pos (concurrent)"), (1, "pub-lmt"), (4, "sub-pos")], 2):
        label = f"{name}: 7 -5 1001 {CHANNEL}"
        key = stream_key(7, -5, 1001, CHANNEL)
        written.counter(counter_id, type_id, label, counter_id * 1000, key=key, registration_id=7, owner_id=3)
    written.error("unknown publication registration_id=35", 3, 1_767_604_320_114, 1_767_604_471_802)
    written.write(tmp_path)
    numbers = (4, 5632, 1_767_604_320_114, 1_767_604_323_250, -119, 1001)
    return write_loss(tmp_path, loss_entry(numbers, CHANNEL, "10.0.0.1:53122"))


def test_stat_prints_the_layout_that_scripts_know(aeron_dir: Path) -> None:
    result = run("stat", "-d", aeron_dir)
    title, rule, *rows, end = result.output.splitlines()
    assert result.exit_code == 0
    assert " - Aeron Stat (CnC v0.2.0), pid 4711, heartbeat age " in title
    assert title.endswith("ms")
    assert rule == "=" * 70
    assert rows == [
        " 0:                      3,232 - Bytes sent",
        f" 2:                      2,000 - pub-pos (concurrent): 7 -5 1001 {CHANNEL}",
        f" 3:                      3,000 - pub-lmt: 7 -5 1001 {CHANNEL}",
        f" 4:                      4,000 - sub-pos: 7 -5 1001 {CHANNEL}",
    ]
    assert end == "--"


def test_stat_keeps_what_its_filters_pass(aeron_dir: Path) -> None:
    output = run("stat", "-d", aeron_dir, "--json", "type=^(1|4)$", "stream=1001").output
    found = json.loads(output)
    assert [each["id"] for each in found["counters"]] == [3, 4]
    assert found["counters"][0]["value"] == 3000
    assert (found["pid"], found["cnc_version"], found["aeron_dir"]) == (4711, "0.2.0", str(aeron_dir))


def test_stat_goes_on_until_interrupted(aeron_dir: Path) -> None:
    arguments = ["stat", "--watch", "--interval", "0.01", "--json", "-d", str(aeron_dir)]
    with subprocess.Popen([sys.executable, "-m", "aeronpy.cli.main", *arguments], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert json.loads(process.stdout.readline())["pid"] == 4711
        process.send_signal(2)
        process.stdout.read()
        assert process.wait(30) == 0


def test_a_watch_goes_on_when_a_driver_goes_and_comes_back(aeron_dir: Path) -> None:
    arguments = ["stat", "--watch", "--interval", "0.01", "--json", "-d", str(aeron_dir)]
    command_line = [sys.executable, "-m", "aeronpy.cli.main", *arguments]
    with subprocess.Popen(command_line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["pid"] == 4711
        (aeron_dir / "cnc.dat").unlink()
        assert b"no media driver in" in process.stderr.readline()
        CncBytes(pid=4712).write(aeron_dir)
        while json.loads(process.stdout.readline())["pid"] != 4712:
            pass
        process.send_signal(2)
        process.communicate(timeout=30)
        assert process.returncode == 0


def test_what_does_not_fit_on_a_screen_is_said_to_be_left_out(aeron_dir: Path) -> None:
    with CncFile(aeron_dir) as cnc:
        snapshot = DriverSnapshot.take(cnc)
    zero = replace(snapshot.counters[0], counter_id=9, value=0)
    counters = (*snapshot.counters, zero)
    assert fitting(counters, 5) == (counters, "")
    shown, rest = fitting(counters, 4)
    assert [each.counter_id for each in shown] == [0, 2, 3]
    assert rest.startswith("not shown: 1 that are 0 and 1 more; ")


def test_a_driver_that_shut_down_is_said_to_have(tmp_path: Path) -> None:
    CncBytes(heartbeat_ms=-1).write(tmp_path)
    assert "the driver has shut down" in run("stat", "-d", tmp_path).output


def test_errors_prints_how_often_when_and_what(aeron_dir: Path) -> None:
    result = run("errors", "-d", aeron_dir)
    first, text, gap, total = result.output.splitlines()
    assert first.startswith("3 observations from 2026-01-05 ")
    assert ".114" in first
    assert ".802" in first
    assert first.endswith(" for:")
    assert (text, gap) == ("unknown publication registration_id=35", "")
    assert total == "1 distinct errors observed."
    assert json.loads(run("errors", "-d", aeron_dir, "--json").output) == [
        {
            "observations": 3,
            "first_observation_ms": 1_767_604_320_114,
            "last_observation_ms": 1_767_604_471_802,
            "text": "unknown publication registration_id=35",
        }
    ]
    assert run("errors", "-d", aeron_dir, "--since-ms", "1767604471803").output == "0 distinct errors observed.\n"


def test_errors_reads_another_file_at_an_offset(tmp_path: Path) -> None:
    path = tmp_path / "archive-mark.dat"
    path.write_bytes(bytes(8192) + struct.pack("<iiqq", 27, 1, 5, 5) + b"bad" + bytes(4096))
    assert json.loads(run("errors", "--file", path, "--offset", "8192", "--json").output)[0]["text"] == "bad"


def test_loss_prints_rows_between_its_header_and_the_count(aeron_dir: Path) -> None:
    header, row, total = run("loss", "-d", aeron_dir).output.splitlines()
    assert header.startswith("#OBSERVATION_COUNT,TOTAL_BYTES_LOST,FIRST_OBSERVATION,LAST_OBSERVATION,SESSION_ID")
    fields = row.split(",")
    assert fields[:2] == ["4", "5632"]
    assert fields[4:] == ["-119", "1001", CHANNEL, "10.0.0.1:53122"]
    assert total == "1 loss entries"
    (found,) = json.loads(run("loss", "-d", aeron_dir, "--json").output)
    assert (found["bytes_lost"], found["session_id"], found["source"]) == (5632, -119, "10.0.0.1:53122")


def test_times_are_those_of_this_machines_zone(aeron_dir: Path) -> None:
    command_line = [sys.executable, "-m", "aeronpy.cli.main", "loss", "-d", str(aeron_dir)]
    env = {**os.environ, "TZ": "Asia/Kolkata"}
    output = subprocess.run(command_line, env=env, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "2026-01-05 14:42:00.114+0530,2026-01-05 14:42:03.250+0530" in output


def test_streams_prints_a_line_for_each(aeron_dir: Path) -> None:
    assert run("streams", "-d", aeron_dir).output == (
        f"sessionId=-5 streamId=1001 channel={CHANNEL} : pub-pos (concurrent):7:2000 pub-lmt:7:3000 sub-pos:7:4000\n"
    )
    assert run("streams", "-d", aeron_dir, "stream=7").output == ""
    (found,) = json.loads(run("streams", "-d", aeron_dir, "--json").output)
    assert (found["session_id"], found["channel"]) == (-5, CHANNEL)
    assert found["counters"][1] == {"name": "pub-lmt", "type_id": 1, "registration_id": 7, "value": 3000}


def test_counters_prints_all_that_is_known(aeron_dir: Path) -> None:
    header, first, second, *_ = run("counters", "-d", aeron_dir).output.splitlines()
    assert header.split("\t") == ["id", "type", "value", "registration", "owner", "reference", "key", "label"]
    assert first.split("\t")[:7] == ["0", "system", "3232", "0", "-1", "0", "system_counter_id=0"]
    key = f"registration_id=7 session_id=-5 stream_id=1001 channel={CHANNEL}"
    assert second.split("\t")[:7] == ["2", "publisher-position", "2000", "7", "3", "0", key]
    found = json.loads(run("counters", "-d", aeron_dir, "--json", "type=^12$").output)
    assert found[0]["key"] == {"registration_id": 7, "session_id": -5, "stream_id": 1001, "channel": CHANNEL}


def test_the_directory_comes_from_the_environment_too(aeron_dir: Path) -> None:
    assert run("streams", AERON_DIR=str(aeron_dir)).output.startswith("sessionId=-5")


@pytest.mark.parametrize("tool", TOOLS)
def test_without_a_driver_a_tool_says_so_and_exits_with_3(tmp_path: Path, tool: str) -> None:
    result = run(tool, "-d", tmp_path)
    assert result.exit_code == 3
    assert result.output.count("\n") == 1
    assert f"no media driver in {tmp_path}" in result.output


@pytest.mark.parametrize("tool", ["stat", "streams", "counters"])
def test_a_filter_that_means_nothing_is_wrong_use(aeron_dir: Path, tool: str) -> None:
    result = run(tool, "-d", aeron_dir, "strem=1")
    assert result.exit_code == 2
    assert "strem=1" in result.output


def test_bytes_that_break_the_format_are_one_line_and_exit_code_1(aeron_dir: Path) -> None:
    CncBytes(version=0x010000).write(aeron_dir)
    command_line = [sys.executable, "-m", "aeronpy.cli.main", "stat", "-d", str(aeron_dir)]
    result = subprocess.run(command_line, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("aeronpy: CnC file in ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("tool", TOOLS)
def test_help_has_an_example(tool: str) -> None:
    assert tool in run("--help").output
    assert f"Example: aeronpy {tool}" in run(tool, "--help").output


def test_a_command_that_is_not_there_is_wrong_use() -> None:
    assert run("no-such-thing").exit_code == 2


@pytest.mark.parametrize("tool", TOOLS)
def test_people_see_what_others_wrote_as_they_wrote_it(tmp_path: Path, tool: str) -> None:
    tricky, steering = "[red]a[/b][::1]", "\x1b[2J\x07"
    written = CncBytes()
    shown = tricky + steering
    written.counter(0, 1, f"pub-lmt: 7 5 10 {shown}", 8, key=stream_key(7, 5, 10, shown), registration_id=7)
    written.error(shown, 2, 5, 6)
    written.write(tmp_path)
    write_loss(tmp_path, loss_entry((1, 2, 3, 4, 5, 6), shown, "[::1]:3"))

    seen, code = in_terminal(tool, "-d", tmp_path, *(["--no-watch"] if tool == "stat" else []))

    assert code == 0, seen
    assert tricky in seen
    assert "\x1b[2J" not in seen
    assert "\x07" not in seen
