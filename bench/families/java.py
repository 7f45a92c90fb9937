"""Our C client and driver beside Java's, both ends and the driver; nothing pinned, the JVM warm."""

from __future__ import annotations

from collections.abc import Iterator

from bench.families import Line, Settings
from bench.families.scene import OURS_C, Compared, Setting, Side, run_scene

JAVA = Side("java", "java", "java")
IPC_TRIPS_PER_S, UDP_TRIPS_PER_S = 50_000, 10_000


def family(settings: Settings) -> Iterator[Line]:
    """Throughput and round trips over both media; reported without goals."""
    for medium, per_second in (("ipc", IPC_TRIPS_PER_S), ("udp", UDP_TRIPS_PER_S)):
        for size in settings.sizes:
            compared = [Compared(f"{medium} throughput beside java", OURS_C, JAVA, {})]
            yield from run_scene(compared, size, Setting(medium, is_pinned=False), settings)
        trips = [
            Compared(f"{medium} round trip beside java {name}", OURS_C, JAVA, {}, name, "ns") for name in ("p50", "p99")
        ]
        for size in settings.sizes[:1]:
            yield from run_scene(trips, size, Setting(medium, per_second=per_second, is_pinned=False), settings)
