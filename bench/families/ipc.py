"""Shared memory at C level: single and batch offers, round trips at a fixed rate."""

from __future__ import annotations

from collections.abc import Iterator

from bench.families import Line, Settings
from bench.families.scene import OURS_C, OURS_C_BATCH, REAL_C, Compared, Setting, at_least, at_most, run_scene

ROUND_TRIPS_PER_S = 100_000
# At this rate half a 1 MiB term, which is the window, is full before a parked conductor wakes by itself.
STALLING_PER_S = 500_000


def throughput(settings: Settings) -> Iterator[Line]:
    """Single offers, and many at once, against single offers of the real client (it has no others)."""
    compared = [
        Compared("ipc throughput c", OURS_C, REAL_C, at_least(1.0)),
        Compared("ipc throughput c batch", OURS_C_BATCH, REAL_C, at_least(1.3, 1.1, 1.0)),
    ]
    for size in settings.sizes:
        yield from run_scene(compared, size, Setting(), settings)


def _trips(label: str, wanted: tuple[str, ...], goals: dict[str, float]) -> list[Compared]:
    return [
        Compared(f"{label} {name}", OURS_C, REAL_C, at_most(goals[name]) if name in goals else {}, name, "ns")
        for name in wanted
    ]


def round_trip(settings: Settings) -> Iterator[Line]:
    """Ping and pong with a core each; and with small terms at a rate that fills the window."""
    compared = _trips("ipc round trip c", ("p50", "p99", "p99.9"), {"p50": 1.0, "p99": 1.0})
    for size in settings.sizes:
        yield from run_scene(compared, size, Setting(per_second=ROUND_TRIPS_PER_S), settings)
    if 1344 in settings.sizes:
        compared = _trips("ipc round trip c 1m terms", ("p50", "p99.9"), {"p99.9": 0.1})
        yield from run_scene(compared, 1344, Setting(term="1m", per_second=STALLING_PER_S), settings)
