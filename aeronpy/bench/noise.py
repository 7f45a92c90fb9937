"""How much of the processors others took while something was measured.

Others are all that is neither this process, nor one that it started, nor a thread of the kernel; time that the host
stole from the machine counts as theirs. Interrupts are left out, since they mostly carry the measured datagrams.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# Busy time of others, as a share of one processor, above which a trial is thrown away.
SHARE_MAX: Final = 0.10
# The kernel counts in whole ticks for each process and processor, so a short trial sees a few of nobody's.
SLACK_TICKS: Final = 4
_KERNEL_THREADS: Final = 2
TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class CpuTimes:
    """Ticks since boot: of all processes, stolen by the host, and of our own processes."""

    busy: int
    stolen: int
    own: int
    at_s: float


def parse_total(stat: str) -> tuple[int, int]:
    """Busy ticks of all processes (user, nice, system) and stolen ones, of the text of ``/proc/stat``."""
    fields = [int(each) for each in stat.split("\n", 1)[0].split()[1:]]
    return sum(fields[:3]), fields[7] if len(fields) > 7 else 0


def parse_process(stat: str) -> tuple[int, int, int]:
    """Process id, parent's id and ticks, with those of children that have ended, of a ``/proc/<pid>/stat``."""
    head, _, tail = stat.rpartition(")")
    fields = tail.split()
    return int(head.split(" ", 1)[0]), int(fields[1]), sum(int(each) for each in fields[11:15])


def family_ticks(processes: list[tuple[int, int, int]], root: int) -> int:
    """Ticks of ``root``, of all that descend from it, and of the kernel's own threads."""
    children: dict[int, list[int]] = {}
    ticks = {}
    for pid, parent, used in processes:
        children.setdefault(parent, []).append(pid)
        ticks[pid] = used
    total, left = 0, [root, _KERNEL_THREADS]
    while left:
        pid = left.pop()
        total += ticks.get(pid, 0)
        left += children.get(pid, [])
    return total


def now() -> CpuTimes:
    """Read the counts of this moment."""
    processes = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                processes.append(parse_process((path / "stat").read_text()))
            except (OSError, IndexError, ValueError):
                continue  # it ended while it was read
    busy, stolen = parse_total(Path("/proc/stat").read_text())
    return CpuTimes(busy, stolen, family_ticks(processes, os.getpid()), time.monotonic())


def others_share(before: CpuTimes, after: CpuTimes) -> float:
    """What others took between two moments, as a share of one processor, less the counter's own coarseness."""
    elapsed_ticks = max((after.at_s - before.at_s) * TICKS_PER_S, 1.0)
    others = (after.busy - before.busy) - (after.own - before.own) + (after.stolen - before.stolen)
    return max(others - SLACK_TICKS, 0) / elapsed_ticks


def is_noisy(share: float) -> bool:
    """Whether a trial beside that much is worth nothing."""
    return share > SHARE_MAX
