"""``aeronpy bench`` measures this machine with real processes, and says so in lines that programs read."""

import json
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-m", "aeronpy.cli.main", "bench", "--quick", "--rounds", "2", "--seconds", "0.01"]


@pytest.mark.timeout(60)
def test_a_quick_run_gives_the_machine_and_a_line_for_each_figure() -> None:
    run = subprocess.run([*COMMAND, "--size", "32", "--json"], capture_output=True, text=True, timeout=55, check=False)

    assert (run.returncode, run.stderr) == (0, "")
    machine, *figures = [json.loads(line) for line in run.stdout.splitlines()]
    assert machine["settings"] == {"rounds": 2, "round_s": 0.01, "sizes": [32], "term": "1m"}
    assert [line["figure"] for line in figures] == [
        "ipc throughput callback",
        "ipc throughput batch",
        "ipc round trip callback p50",
        "ipc round trip callback p99",
        "udp throughput callback",
        "udp throughput batch",
        "udp round trip callback p50",
        "udp round trip callback p99",
    ]
    for line in figures:
        assert (line["size"], line["rounds"]) == (32, 2)
        assert line["spread"][0] <= line["ours"] <= line["spread"][1]
    rates = [line["ours"] for line in figures if line["unit"] == "messages/s"]
    assert all(rate > 1000 for rate in rates)
    assert all(line["ours"] >= 100 for line in figures if line["unit"] == "ns")


@pytest.mark.timeout(20)
def test_a_size_that_holds_no_message_is_refused() -> None:
    run = subprocess.run([*COMMAND, "--size", "0"], capture_output=True, text=True, timeout=15, check=False)

    assert run.returncode == 2
    assert "8<=x<=65536" in run.stderr
