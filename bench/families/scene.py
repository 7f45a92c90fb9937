"""The scenes that families are made of: flows of two ends each, in turn with those of the other sides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

from aeronpy.bench.flow import Flow, turn_over_messages
from aeronpy.bench.histogram import curve
from aeronpy.bench.rounds import Measured, Trial, interleave
from aeronpy.bench.statistics import Goal, line_of
from bench.compare.sides import TERM_BYTES, DriverMake, Medium, open_flow, started_driver
from bench.families import Line, Settings

PROBE_TRIPS = 200
# Round trips turn a log over slowly: no longer than this.
TURN_OVER_NS = 5e8


@dataclass(frozen=True)
class Side:
    """Who sends and receives, over which driver; with two drivers, one at each end."""

    name: str
    client: str
    driver: DriverMake
    receiver: str | None = None
    drivers: Literal[1, 2] = 1


REAL_C = Side("real c client", "real_c", "c")
PYAERON = Side("pyaeron", "pyaeron", "c")
OURS_C = Side("ours c", "ours_c", "ours")
OURS_C_BATCH = Side("ours c batch", "ours_c_batch", "ours", receiver="ours_c")
OURS_CALLBACK = Side("ours callback", "ours", "ours")
OURS_BATCH = Side("ours batch", "ours_batch", "ours")


@dataclass(frozen=True)
class Compared:
    """One figure: two sides of a scene and what is read from them."""

    figure: str
    ours: Side
    peer: Side
    goals: dict[int, Goal]
    metric: str = "rate"
    unit: str = "messages/s"
    peer_name: str | None = None


@dataclass(frozen=True)
class Setting:
    """How the flows of a scene run."""

    medium: Medium = "ipc"
    term: str = "16m"
    per_second: int | None = None  # round trips at this rate; None: one way, as fast as it goes
    is_pinned: bool = True


def at_least(ratio: float, *more: float, sizes: tuple[int, ...] = (32, 288, 1344)) -> dict[int, Goal]:
    """Goals by size; one ratio is for all of them."""
    ratios = (ratio, *more) if more else (ratio,) * len(sizes)
    return {size: Goal("at least", each) for size, each in zip(sizes, ratios, strict=True)}


def at_most(ratio: float, *more: float, sizes: tuple[int, ...] = (32, 288, 1344)) -> dict[int, Goal]:
    """Goals by size; one ratio is for all of them."""
    return {size: Goal("at most", goal.ratio) for size, goal in at_least(ratio, *more, sizes=sizes).items()}


def open_side(stack: ExitStack, side: Side, size: int, setting: Setting) -> Flow:
    """The flow of a side, with its drivers."""
    driver = stack.enter_context(started_driver(side.driver))
    other = stack.enter_context(started_driver(side.driver)) if side.drivers == 2 else driver
    return open_flow(
        stack,
        side.client,
        driver.aeron_dir,
        setting.medium,
        size,
        is_round_trip=setting.per_second is not None,
        receiver_client=side.receiver,
        receiver_dir=other.aeron_dir,
        term=setting.term,
        is_pinned=setting.is_pinned,
    )


def trial_of(flow: Flow, size: int, setting: Setting, settings: Settings) -> Trial:
    """Its trial, after each term was turned over once."""
    if setting.per_second is None:
        # A log is turned over before each trial too: a page not lately used costs more than the copy into it.
        return flow.capacity_trial(settings.round_s, turn_over_messages(size, TERM_BYTES))
    trips = turn_over_messages(size, TERM_BYTES if setting.term == "16m" else 1 << 20)
    flow.round(min(trips, int(TURN_OVER_NS / flow.round(PROBE_TRIPS))))
    return flow.latency_trial(settings.round_s, setting.per_second)


def run_scene(compared: list[Compared], size: int, setting: Setting, settings: Settings) -> Iterator[Line]:
    """All sides that the figures name in turn; a line for each figure, and the curves of round trips."""
    sides = {side.name: side for each in compared for side in (each.ours, each.peer)}
    with ExitStack() as stack:
        flows = {name: open_side(stack, side, size, setting) for name, side in sides.items()}
        trials = {name: trial_of(flow, size, setting, settings) for name, flow in flows.items()}
        measured = interleave(trials, settings.rounds)
        yield from lines_of(compared, size, measured)
        if setting.per_second is not None:
            for name, flow in flows.items():
                yield {
                    "curve": compared[0].figure.rsplit(" ", 1)[0],
                    "size": size,
                    "side": name,
                    "per_second": setting.per_second,
                    "percentiles": curve(flow.histogram),
                }


def lines_of(compared: list[Compared], size: int, measured: Measured) -> Iterator[Line]:
    """The lines of what was measured."""
    for each in compared:
        yield {
            **line_of(
                each.figure,
                size,
                measured.metric(each.ours.name, each.metric),
                measured.metric(each.peer.name, each.metric),
                peer_name=each.peer_name or each.peer.name,
                unit=each.unit,
                goal=each.goals.get(size),
            ),
            "thrown_away": measured.thrown_away,
            "noisy_kept": measured.noisy_kept,
        }
