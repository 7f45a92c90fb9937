"""Latency histograms of high dynamic range: how they travel between processes, and what is read from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from aeronpy.errors import StateError

LOWEST_NS: Final = 1
HIGHEST_NS: Final = 60_000_000_000
SIGNIFICANT_DIGITS: Final = 3
# Of the curves: from the median to one in a hundred thousand.
PERCENTILES: Final = (1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999)


def empty() -> Any:
    """A histogram of nanoseconds, to a minute, with three significant digits. Raises StateError without hdrh."""
    try:
        from hdrh.histogram import HdrHistogram
    except ImportError:
        raise StateError("latencies need HdrHistogram: pip install 'aeronpy[bench]'") from None
    return HdrHistogram(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)


def of_times(times_ns: Iterable[int]) -> Any:
    """A histogram of these times."""
    histogram = empty()
    record = histogram.record_value
    for each in times_ns:
        record(min(max(int(each), LOWEST_NS), HIGHEST_NS))
    return histogram


def to_text(histogram: Any) -> str:
    """One line of base64, as HdrHistogram's tools know it."""
    encoded: bytes = histogram.encode()
    return encoded.decode()


def from_text(text: str) -> Any:
    """The histogram of such a line."""
    histogram = empty()
    histogram.decode_and_add(text.encode())
    return histogram


def sample(histogram: Any) -> dict[str, float]:
    """The percentiles that figures are made of, in nanoseconds."""
    return {
        f"p{percentile:g}": float(histogram.get_value_at_percentile(percentile)) for percentile in (50.0, 99.0, 99.9)
    }


def curve(histogram: Any) -> list[list[float]]:
    """Pairs of percentile and nanoseconds."""
    return [[each, float(histogram.get_value_at_percentile(each))] for each in PERCENTILES]
