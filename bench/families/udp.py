"""UDP on the loopback: the same C client over our driver and over the real one, nothing pinned."""

from __future__ import annotations

from collections.abc import Iterator

from bench.families import Line, Settings
from bench.families.scene import Compared, Setting, Side, at_least, at_most, run_scene

ROUND_TRIPS_PER_S = 10_000
OURS, C_DRIVER = Side("our driver", "real_c", "ours"), Side("c driver", "real_c", "c")
OURS_TWO, C_TWO = Side("our two drivers", "real_c", "ours", drivers=2), Side("two c drivers", "real_c", "c", drivers=2)
UDP = Setting("udp", is_pinned=False)


def throughput(settings: Settings) -> Iterator[Line]:
    """One SHARED driver for both ends."""
    compared = [Compared("udp throughput driver", OURS, C_DRIVER, at_least(2, 3, 3))]
    for size in settings.sizes:
        yield from run_scene(compared, size, UDP, settings)


def throughput_two(settings: Settings) -> Iterator[Line]:
    """A SHARED driver at each end."""
    compared = [Compared("udp throughput two drivers", OURS_TWO, C_TWO, at_least(1.5, 2, 2))]
    for size in settings.sizes:
        yield from run_scene(compared, size, UDP, settings)


def round_trip(settings: Settings) -> Iterator[Line]:
    """Ping and pong over one driver."""
    compared = [
        Compared(f"udp round trip driver {name}", OURS, C_DRIVER, at_most(1.0) if name != "p99.9" else {}, name, "ns")
        for name in ("p50", "p99", "p99.9")
    ]
    for size in settings.sizes:
        setting = Setting("udp", per_second=ROUND_TRIPS_PER_S, is_pinned=False)
        yield from run_scene(compared, size, setting, settings)
