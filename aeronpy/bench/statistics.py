"""Medians, the interval in which a median lies, and whether a goal is met."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

CONFIDENCE: Final = 0.95


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The order statistics between which the median lies with at least ``confidence``, whatever the distribution.

    How many of n values are below the true median is binomial with p = 1/2, so the k-th smallest and k-th largest
    bracket it with a probability that is known. With fewer than six values no pair reaches 95 %: then it is the
    lowest and highest. Raises ValueError without values.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("an interval of no values: measure at least one round")
    count, tail = len(ordered), (1 - confidence) / 2
    below, outside = 0.0, 0
    for successes in range(count):
        below += math.comb(count, successes) / 2.0**count
        if below > tail:
            break
        outside = successes + 1
    return ordered[max(outside - 1, 0)], ordered[count - max(outside, 1)]


@dataclass(frozen=True)
class Goal:
    """A ratio to reach: at least, or at most, so much."""

    bound: Literal["at least", "at most"]
    ratio: float

    def is_met(self, interval: tuple[float, float]) -> bool:
        """Whether the interval of the median reaches the goal."""
        return interval[1] >= self.ratio if self.bound == "at least" else interval[0] <= self.ratio

    def __str__(self) -> str:
        return f"{self.bound} {self.ratio:g}"


def significant(value: float, digits: int = 5) -> float:
    """The value with so many significant digits, for files that people read."""
    return float(f"{value:.{digits}g}")


def line_of(
    figure: str,
    size: int,
    ours: Sequence[float],
    peer: Sequence[float],
    *,
    peer_name: str,
    unit: str,
    goal: Goal | None = None,
) -> dict[str, object]:
    """The JSON line of paired rounds: medians of both sides, of the ratios ours/peer their median and its interval.

    Raises ValueError where the rounds do not pair or a peer's value is not positive.
    """
    if len(ours) != len(peer):
        raise ValueError(f"{figure}: {len(ours)} rounds of ours beside {len(peer)} of {peer_name} are no pairs")
    if min(peer) <= 0:
        raise ValueError(f"{figure}: {peer_name} gave {min(peer)}, which nothing can be divided by")
    ratios = [mine / theirs for mine, theirs in zip(ours, peer, strict=True)]
    interval = median_interval(ratios)
    line: dict[str, object] = {
        "figure": figure,
        "size": size,
        "ours": significant(statistics.median(ours)),
        "peer": significant(statistics.median(peer)),
        "ratio": significant(statistics.median(ratios), 4),
        "peer_name": peer_name,
        "unit": unit,
        "spread": [significant(min(ratios), 4), significant(max(ratios), 4)],
        "interval": [significant(each, 4) for each in interval],
        "rounds": len(ratios),
    }
    if goal is not None:
        line["goal"] = str(goal)
        line["met"] = goal.is_met(interval)
    return line


def line_alone(figure: str, size: int, ours: Sequence[float], *, unit: str) -> dict[str, object]:
    """The JSON line of a figure without a peer; spread and interval are of our values. Raises ValueError of none."""
    return {
        "figure": figure,
        "size": size,
        "ours": significant(statistics.median(ours)),
        "peer": None,
        "ratio": None,
        "peer_name": None,
        "unit": unit,
        "spread": [significant(min(ours)), significant(max(ours))],
        "interval": [significant(each) for each in median_interval(ours)],
        "rounds": len(ours),
    }
