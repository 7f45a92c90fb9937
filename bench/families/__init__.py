"""What is measured, one module for each family of figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

SIZES = (32, 288, 1344)

# A figure, or a latency curve, as its JSON line.
Line = dict[str, object]


@dataclass(frozen=True)
class Settings:
    """How long and how often."""

    rounds: int = 15
    round_s: float = 0.3
    sizes: tuple[int, ...] = SIZES


Family = Callable[[Settings], Iterator[Line]]
