"""What a driver costs that has nothing to do: its share of one processor, with one client connected."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

from aeronpy.bench.processes import cpu_ns
from aeronpy.bench.rounds import Sample, Trial, interleave
from aeronpy.bench.statistics import Goal, line_of
from bench.compare.sides import open_flow, started_driver
from bench.families import Line, Settings

SIZE = 32
SAMPLE_S = 1.0
QUIET = {"AERONPY_DRIVER_PROFILE": "quiet"}


def _trial(pids: dict[str, int]) -> Trial:
    """The share of each driver over the same second, so that both see the same machine."""

    def trial() -> Sample:
        before = {name: cpu_ns(pid) for name, pid in pids.items()}
        started = time.monotonic_ns()
        time.sleep(SAMPLE_S)
        elapsed = time.monotonic_ns() - started
        # A driver that did not run at all in the sample still took one part in a million of it.
        return {name: max((cpu_ns(pid) - before[name]) / elapsed * 100, 1e-4) for name, pid in pids.items()}

    return trial


def has_quiet_profile() -> bool:
    """Whether this build's driver has one."""
    from aeronpy.driver.settings.context import MediaDriverContext

    return hasattr(MediaDriverContext(), "profile")


def family(settings: Settings) -> Iterator[Line]:
    """Default idle strategies, and the quiet profile; a client with an IPC stream that says nothing."""
    wanted = {"ours": ("ours", {}), "c driver": ("c", {})}
    if has_quiet_profile():
        wanted["ours quiet"] = ("ours", QUIET)
    with ExitStack() as stack:
        pids = {}
        for name, (make, variables) in wanted.items():
            driver = stack.enter_context(started_driver(make, **variables))
            pids[name] = driver.pid
            client = "ours_c" if make == "ours" else "real_c"
            open_flow(stack, client, driver.aeron_dir, "ipc", SIZE, is_round_trip=False, is_pinned=False)
        time.sleep(SAMPLE_S)
        measured = interleave({"all": _trial(pids)}, settings.rounds)
    goals = {"ours": ("idle driver default", 1.0), "ours quiet": ("idle driver quiet", 0.2)}
    for name, (figure, ratio) in goals.items():
        if name in pids:
            yield line_of(
                figure,
                0,
                measured.metric("all", name),
                measured.metric("all", "c driver"),
                peer_name="c driver default",
                unit="% of a processor",
                goal=Goal("at most", ratio),
            )
