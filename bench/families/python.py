"""Python at both ends: callbacks, NumPy batches, and native handlers polled without the GIL."""

from __future__ import annotations

from collections.abc import Iterator

from bench.families import Line, Settings
from bench.families.scene import (
    OURS_BATCH,
    OURS_CALLBACK,
    PYAERON,
    REAL_C,
    Compared,
    Setting,
    Side,
    at_least,
    at_most,
    run_scene,
)

ROUND_TRIPS_PER_S = 20_000


def callback(settings: Settings) -> Iterator[Line]:
    """A Python call for each message."""
    compared = [
        Compared("ipc throughput callback", OURS_CALLBACK, PYAERON, at_least(1.2)),
        Compared("ipc throughput callback", OURS_CALLBACK, REAL_C, at_least(0.3, 0.7, 1.0)),
    ]
    for size in settings.sizes:
        yield from run_scene(compared, size, Setting(), settings)


def callback_round_trip(settings: Settings) -> Iterator[Line]:
    """A Python call for each message, there and back."""
    compared = [
        Compared("ipc round trip callback p50", OURS_CALLBACK, PYAERON, at_most(0.85), "p50", "ns"),
        Compared("ipc round trip callback p99", OURS_CALLBACK, PYAERON, {}, "p99", "ns"),
    ]
    for size in settings.sizes:
        yield from run_scene(compared, size, Setting(per_second=ROUND_TRIPS_PER_S), settings)


def batch(settings: Settings) -> Iterator[Line]:
    """NumPy arrays in and out."""
    compared = [Compared("ipc throughput batch", OURS_BATCH, REAL_C, at_least(1.1, 1.0, 1.0))]
    for size in settings.sizes:
        yield from run_scene(compared, size, Setting(), settings)


def native(settings: Settings) -> Iterator[Line]:
    """Compiled handlers that read each message, polled from Python; the publisher is a C loop."""
    sides = [
        Side(f"native {kind}", "ours_c", "ours", receiver=f"native_{kind}") for kind in ("numba", "cffi", "cython")
    ]
    for size in settings.sizes:
        compared = [Compared(f"ipc throughput {each.name}", each, REAL_C, at_least(1.0)) for each in sides]
        yield from run_scene(compared, size, Setting(), settings)
