"""The picture: prices as Spark read them, and how fast the messages went."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt


def rates(said: list[dict[str, Any]], key: str) -> tuple[list[float], list[float]]:
    """Seconds since the first word, and messages per second between the words."""
    points = [(line["time"], line[key]) for line in said if key in line]
    times, values = [], []
    for (t0, n0), (t1, n1) in pairwise(points):
        if t1 - t0 > 0.001 and n1 > n0:
            times.append(t1)
            values.append((n1 - n0) / (t1 - t0))
    return times, values


def draw(
    path: Path, title: str, prices: dict[str, tuple[Any, Any]], speeds: dict[str, tuple[list[float], list[float]]]
) -> None:
    """Write the PNG."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(11, 8), layout="constrained")
    for symbol, (times, values) in prices.items():
        above.plot(times, values, label=symbol, linewidth=0.8)
    above.set(title=title, ylabel="price")
    above.legend()
    start = min((times[0] for times, _ in speeds.values() if times), default=0.0)
    for name, (times, values) in speeds.items():
        below.plot([time - start for time in times], [value / 1e6 for value in values], label=name)
    below.set(xlabel="seconds", ylabel="million messages per second", ylim=(0, None))
    below.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)
