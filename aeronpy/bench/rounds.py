"""Rounds of several sides in turn, where a trial with a noisy neighbour is thrown away and repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from aeronpy.bench import noise

# What one trial measured, by the name of the metric.
Sample = dict[str, float]
Trial = Callable[[], Sample]

# Repeats that all rounds of one side share, as a multiple of the rounds: a machine that is never quiet ends too.
REPEATS_PER_ROUND: Final = 0.5


@dataclass
class Measured:
    """Samples by side, one for each round, and how noisy it was."""

    samples: dict[str, list[Sample]] = field(default_factory=dict)
    thrown_away: int = 0
    noisy_kept: int = 0

    def metric(self, side: str, name: str) -> list[float]:
        """One metric of one side, by round."""
        return [each[name] for each in self.samples[side]]


def order_of(sides: list[str], index: int) -> list[str]:
    """Who runs when in a round: each begins in turn, and every other pass is backwards."""
    shift = (index // 2) % len(sides)
    turned = sides[shift:] + sides[:shift]
    return turned if index % 2 == 0 else turned[::-1]


def interleave(
    sides: Mapping[str, Trial], rounds: int, share_between: Callable[[Trial], tuple[Sample, float]] | None = None
) -> Measured:
    """Run every side once in each of ``rounds`` rounds.

    ``share_between`` runs a trial and says what share of a processor others took meanwhile (default: by ``/proc``).
    """
    watched = share_between or _watched
    measured = Measured({side: [] for side in sides})
    repeats = int(rounds * REPEATS_PER_ROUND) * len(sides)
    for index in range(rounds):
        for side in order_of(list(sides), index):
            sample, share = watched(sides[side])
            while noise.is_noisy(share) and measured.thrown_away < repeats:
                measured.thrown_away += 1
                sample, share = watched(sides[side])
            measured.noisy_kept += noise.is_noisy(share)
            measured.samples[side].append(sample)
    return measured


def _watched(trial: Trial) -> tuple[Sample, float]:
    before = noise.now()
    sample = trial()
    return sample, noise.others_share(before, noise.now())
