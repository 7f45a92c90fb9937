"""Ours beside what the machine itself takes: a cache line there and back, a copy, a raw datagram."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import ExitStack

from aeronpy.bench.flow import PROBE_MESSAGES
from aeronpy.bench.rounds import Sample, Trial, interleave
from aeronpy.bench.statistics import line_of
from bench.compare.sides import BUILT, open_flow, started_driver
from bench.families import Line, Settings
from bench.families.scene import OURS_C, Setting, Side, open_side, trial_of

OUR_DRIVER = Side("our driver", "real_c", "ours")
DATAGRAM_BYTES = 1408
TRIPS = 200_000


def _floors() -> ctypes.CDLL:
    floors = ctypes.CDLL(str(BUILT / "loops.so"))
    floors.floor_cache_line.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64]
    floors.floor_copy.argtypes = floors.floor_datagrams.argtypes = [ctypes.c_size_t, ctypes.c_int64]
    for name in ("floor_cache_line", "floor_copy", "floor_datagrams"):
        getattr(floors, name).restype = ctypes.c_int64
    return floors


def _checked(result: int) -> int:
    if result <= 0:
        raise RuntimeError(f"a floor could not be measured: {result}")
    return result


def _round_trip(stack: ExitStack, size: int) -> Trial:
    driver = stack.enter_context(started_driver("ours"))
    flow = open_flow(stack, "ours_c", driver.aeron_dir, "ipc", size, is_round_trip=True)
    flow.round(PROBE_MESSAGES)

    def trial() -> Sample:
        return {"value": flow.round(TRIPS)}

    return trial


def _rate(floor: ctypes._NamedFuncPointer, size: int, round_s: float) -> Trial:
    count = int(PROBE_MESSAGES / _checked(floor(size, PROBE_MESSAGES)) * 1e9 * round_s)

    def trial() -> Sample:
        return {"value": count / _checked(floor(size, count)) * 1e9}

    return trial


def _renamed(trial: Trial) -> Trial:
    return lambda: {"value": trial()["rate"]}


def family(settings: Settings) -> Iterator[Line]:
    """Reported without goals: how far off the machine's own speed is."""
    floors, cpus = _floors(), sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:

        def cache_line() -> Sample:
            return {"value": float(_checked(floors.floor_cache_line(cpus[0], cpus[-1], TRIPS)))}

        pairs = [("floor cache line round trip", 32, "ns", _round_trip(stack, 32), cache_line)] if cpus[1:] else []
        for size in settings.sizes:
            ipc, copy = open_side(stack, OURS_C, size, Setting()), _rate(floors.floor_copy, size, settings.round_s)
            ours = _renamed(trial_of(ipc, size, Setting(), settings))
            pairs.append(("floor copy into a ring", size, "messages/s", ours, copy))
        udp = Setting("udp", is_pinned=False)
        ours = _renamed(trial_of(open_side(stack, OUR_DRIVER, 1344, udp), 1344, udp, settings))
        raw = _rate(floors.floor_datagrams, DATAGRAM_BYTES, settings.round_s)
        pairs.append(("floor raw sendmmsg", 1344, "datagrams/s", ours, raw))
        for figure, size, unit, ours, floor in pairs:
            measured = interleave({"ours": ours, "floor": floor}, settings.rounds)
            mine, theirs = measured.metric("ours", "value"), measured.metric("floor", "value")
            yield line_of(figure, size, mine, theirs, peer_name="the machine", unit=unit)
