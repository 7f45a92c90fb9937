"""From the start of a process to its first message, with an embedded driver."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from aeronpy.bench.rounds import Sample, Trial, interleave
from aeronpy.bench.statistics import Goal, line_of
from bench.compare.sides import BUILT, ROOT, java_command, peer_python
from bench.families import Line, Settings

PROGRAMS = ROOT / "bench" / "startup"
GOALS = {"pyaeron": Goal("at most", 1.5), "java": Goal("at most", 0.2)}


def _installed(env: dict[str, str]) -> dict[str, str]:
    # An installed package has its byte code: compiling it is no part of a start.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **env}


def _trial(command: list[str], env: dict[str, str]) -> Trial:
    def trial() -> Sample:
        base = Path(tempfile.mkdtemp(prefix="aeronpy-bench-start-", dir="/dev/shm"))
        try:
            started = time.perf_counter_ns()
            with subprocess.Popen(
                [*command, str(base / "aeron")], stdout=subprocess.PIPE, env=_installed(env), cwd=base
            ) as process:
                assert process.stdout is not None
                line = process.stdout.readline()
                took = time.perf_counter_ns() - started
                process.wait(20)
            if line.strip() != b"MESSAGE":
                raise RuntimeError(f"{command} answered {line!r}")
            return {"ms": took / 1e6}
        finally:
            shutil.rmtree(base, ignore_errors=True)

    return trial


def family(settings: Settings) -> Iterator[Line]:
    """Ours, pyaeron on the same interpreter, Java; files of the page cache warm."""
    python = str(peer_python())
    trials = {
        "ours": _trial([python, str(PROGRAMS / "ours.py")], {"PYTHONPATH": str(BUILT / "lib")}),
        "pyaeron": _trial([python, str(PROGRAMS / "pyaeron_first.py")], {}),
        "java": _trial([*java_command(), "EmbeddedStart"], {}),
    }
    for trial in trials.values():
        trial()
    measured = interleave(trials, settings.rounds)
    for peer, goal in GOALS.items():
        yield line_of(
            "start to first message",
            5,
            measured.metric("ours", "ms"),
            measured.metric(peer, "ms"),
            peer_name=peer,
            unit="ms",
            goal=goal,
        )
