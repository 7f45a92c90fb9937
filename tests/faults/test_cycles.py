"""Streams and counters that come and go by the thousand: driver and client hold afterwards what they held before.

Driver and client are one process, whose malloc is asked what it has given out, without what threads keep for
themselves: a leak of a hundred bytes in a cycle, of either and of Python's objects too, is more than twice what is
allowed. Ten thousand cycles over the network take minutes, since each waits for the conductor's turns: a run does as
many as AERONPY_CYCLES says, or else the fewer below.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.interop.peers import ROOT

CYCLES = {"ipc": 2_000, "udp": 1_000, "counter": 10_000}
GROWTH_MAX_BYTES = 30
# Tables that double now and then, however few the cycles.
TABLES_BYTES = 16 * 1024


@pytest.mark.timeout(600 if "AERONPY_CYCLES" in os.environ else 150)
@pytest.mark.parametrize("kind", CYCLES)
def test_what_comes_and_goes_leaves_nothing(kind: str) -> None:
    cycles = int(os.environ.get("AERONPY_CYCLES", CYCLES[kind]))
    command = [sys.executable, "-m", "tests.faults.programs.cycles", kind, str(cycles)]
    env = {**os.environ, "PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=590, check=False, cwd=ROOT, env=env)
    assert done.returncode == 0, done.stderr

    held = [
        tuple(map(int, each))
        for each in re.findall(r"^HELD bytes=(\d+) files=(\d+) counters=(\d+)$", done.stdout, re.M)
    ]
    assert len(held) == 5, done.stdout
    assert len({(files, counters) for _, files, counters in held}) == 1, done.stdout
    assert held[-1][0] - held[0][0] < GROWTH_MAX_BYTES * cycles + TABLES_BYTES, done.stdout
    assert "ERRORS 0 " in done.stdout
