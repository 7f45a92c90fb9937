"""The figures of ``make bench-quick``: one JSON line each, ours beside a peer in the same run.

Rounds of the two sides alternate, each pair gives a ratio, and the median of those is the figure's. Logs are turned
over once before anything is timed. ``--gate`` exits with 1 where a figure misses its floor; noise on a shared
machine is why that is not the default.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aeronpy.bench.flow import turn_over_messages
from bench.compare.sides import TERM_BYTES, DriverMake, build_ends, open_flow, running_driver

SIZES = (32, 288, 1344)
ROUNDS = 7
ROUND_S = 0.3
PROBE_MESSAGES = 2000
MESSAGES_MIN, MESSAGES_MAX = 1000, 8_000_000


@dataclass(frozen=True)
class Comparison:
    """One row: what runs on which side."""

    figure: str
    medium: Literal["ipc", "udp"]
    is_round_trip: bool
    ours: tuple[str, DriverMake]
    peer: tuple[str, DriverMake]
    peer_name: str

    @property
    def unit(self) -> str:
        return "ns" if self.is_round_trip else "messages/s"


COMPARISONS = [
    Comparison("ipc throughput c", "ipc", False, ("ours_c", "ours"), ("real_c", "c"), "real c client"),
    Comparison("ipc round trip c", "ipc", True, ("ours_c", "ours"), ("real_c", "c"), "real c client"),
    Comparison("ipc throughput callback", "ipc", False, ("ours", "ours"), ("pyaeron", "c"), "pyaeron"),
    Comparison("ipc throughput batch", "ipc", False, ("ours_batch", "ours"), ("real_c", "c"), "real c client batch"),
    Comparison("udp throughput driver", "udp", False, ("real_c", "ours"), ("real_c", "c"), "c driver"),
    Comparison("udp round trip driver", "udp", True, ("real_c", "ours"), ("real_c", "c"), "c driver"),
]

# At least this ratio; for the round trips at most.
FLOORS = {
    "ipc throughput c": 0.8,
    "ipc throughput callback": 1.0,
    "ipc throughput batch": 0.8,
    "udp throughput driver": 0.7,
    "archive scan": 8.0,
}
CEILINGS = {"ipc round trip c": 1.25, "udp round trip driver": 1.25}


def measure(comparison: Comparison, size: int, rounds: int, round_s: float) -> dict[str, object]:
    """Both sides in turn; the line of this figure and size."""
    with ExitStack() as stack:
        flows = []
        for client, driver in (comparison.ours, comparison.peer):
            aeron_dir = stack.enter_context(running_driver(driver))
            flow = open_flow(stack, client, aeron_dir, comparison.medium, size, is_round_trip=comparison.is_round_trip)
            if not comparison.is_round_trip:
                flow.round(turn_over_messages(size, TERM_BYTES))
            flows.append(flow)
        speeds = [flow.round(PROBE_MESSAGES) for flow in flows]
        if comparison.is_round_trip:
            speeds = [1e9 / each for each in speeds]
        count = int(min(max(min(speeds) * round_s, MESSAGES_MIN), MESSAGES_MAX))
        ours: list[float] = []
        peer: list[float] = []
        for index in range(rounds):
            for side in (0, 1) if index % 2 == 0 else (1, 0):
                (ours, peer)[side].append(flows[side].round(count))
    ratios = [mine / theirs for mine, theirs in zip(ours, peer, strict=True)]
    return {
        "figure": comparison.figure,
        "size": size,
        "ours": round(statistics.median(ours), 1),
        "peer": round(statistics.median(peer), 1),
        "ratio": round(statistics.median(ratios), 3),
        "peer_name": comparison.peer_name,
        "unit": comparison.unit,
        "spread": [round(min(ratios), 3), round(max(ratios), 3)],
    }


def storage_figures() -> list[dict[str, object]]:
    """The figures of ``bench/storage``: each module there gives its own."""
    lines: list[dict[str, object]] = []
    for path in sorted((Path(__file__).parent / "storage").glob("bench_*.py")):
        module = importlib.import_module(f"bench.storage.{path.stem}")
        if hasattr(module, "figures"):
            for line in module.figures():
                print(json.dumps(line), flush=True)
                lines.append(line)
    return lines


def verdict(line: dict[str, object]) -> tuple[bool, str]:
    """Whether the figure meets its floor, and how that reads."""
    figure, ratio = str(line["figure"]), float(str(line["ratio"]))
    if figure in FLOORS:
        return ratio >= FLOORS[figure], f"at least {FLOORS[figure]}"
    if figure in CEILINGS:
        return ratio <= CEILINGS[figure], f"at most {CEILINGS[figure]}"
    return True, "reported"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gate", action="store_true", help="exit with 1 where a floor is missed")
    parser.add_argument("--figure", help="only figures whose name contains this")
    parser.add_argument("--size", type=int, action="append", help="only this size, may be repeated")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=ROUND_S, help="length of one round")
    parser.add_argument("--no-storage", action="store_true", help="without the figures of bench/storage")
    options = parser.parse_args()

    build_ends()
    lines = []
    for comparison in COMPARISONS:
        if options.figure is None or options.figure in comparison.figure:
            for size in options.size or SIZES:
                line = measure(comparison, size, options.rounds, options.seconds)
                print(json.dumps(line), flush=True)
                lines.append(line)
    if not options.no_storage and options.figure is None:
        lines += storage_figures()

    missed = 0
    print("\nfigure                      size   ratio  floor", file=sys.stderr)
    for line in lines:
        met, floor = verdict(line)
        missed += not met
        mark = "" if met else "  MISSED"
        print(f"{line['figure']:26}  {line['size']:>5}  {line['ratio']:>6}  {floor}{mark}", file=sys.stderr)
    return 1 if options.gate and missed else 0


if __name__ == "__main__":
    sys.exit(main())
