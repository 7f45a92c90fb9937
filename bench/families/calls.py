"""What other programs of the suite count: single calls by pytest-benchmark, instructions by callgrind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from aeronpy.bench.statistics import Goal
from bench.compare.sides import ROOT
from bench.families import Line, Settings

GOAL = Goal("at most", 1.0)


def micro(settings: Settings) -> Iterator[Line]:
    """A line for each call of ``bench/micro``: nanoseconds of one message."""
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "calls.json"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--benchmark-json={report}"]
        files = [str(each) for each in sorted((ROOT / "bench" / "micro").glob("bench_*.py"))]
        run = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise RuntimeError(run.stdout[-2000:] + run.stderr[-2000:])
        benchmarks = json.loads(report.read_text())["benchmarks"]
    for each in benchmarks:
        messages, stats = each["extra_info"].get("messages", 1), each["stats"]
        yield {
            "call": each["name"].removeprefix("test_").replace("_", " "),
            "median_ns": round(stats["median"] * 1e9 / messages, 1),
            "min_ns": round(stats["min"] * 1e9 / messages, 1),
            "rounds": stats["rounds"],
        }


def instructions(settings: Settings) -> Iterator[Line]:
    """The lines of ``bench.instructions``; those beside the real client have the goal. None without valgrind."""
    command = [sys.executable, "-m", "bench.instructions"]
    run = subprocess.run(command, cwd=ROOT, env={**os.environ}, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(run.stderr[-2000:])
    for text in run.stdout.splitlines():
        if not text.startswith("{"):
            continue
        line = json.loads(text)
        ratio = line.get("ratio")
        if ratio is not None and "offer + poll" in line["figure"]:
            # A count does not scatter, so that the interval is the figure itself.
            line |= {"interval": [ratio, ratio], "goal": str(GOAL), "met": GOAL.is_met((ratio, ratio))}
        yield line
