"""Tables of Markdown from figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Line = dict[str, Any]

# Above these, values are told in thousands, millions or parts of a second.
_MEGA, _KILO = 1e6, 1e3


def value_text(value: float, unit: str) -> str:
    """A value as people read it."""
    if unit.startswith("bytes"):
        return f"{value / _MEGA:.1f} MB{unit.removeprefix('bytes')}"
    if unit.endswith("/s") and not unit.startswith("GB"):
        if value >= _MEGA:
            return f"{value / _MEGA:.2f} M {unit}"
        return f"{value / _KILO:.1f} k {unit}"
    if unit == "ns" and value >= _MEGA:
        return f"{value / _MEGA:.2f} ms"
    if unit.startswith("ns") or unit == "instructions":
        return f"{value:,.0f} {unit}"
    if unit.startswith("%"):
        return f"{value:.3f} {unit}"
    return f"{value:,.2f} {unit}"


def ratio_text(ratio: float) -> str:
    """A ratio with as many digits as it has a meaning."""
    return (
        f"{ratio:.0f}"
        if ratio >= 100
        else f"{ratio:.1f}"
        if ratio >= 10
        else f"{ratio:.2f}"
        if ratio >= 0.1
        else f"{ratio:.3f}"
    )


def range_text(pair: list[float] | None) -> str:
    """Two ratios, or nothing."""
    return "" if pair is None else f"{ratio_text(pair[0])} to {ratio_text(pair[1])}"


def size_text(line: Line) -> str:
    """The bytes of a message, where the figure is about messages."""
    return str(line["size"]) if line["size"] else ""


def table(headings: list[str], rows: Iterable[list[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def goals_table(lines: list[Line]) -> str:
    """Each figure that has a goal, and whether it is met."""
    headings = ["figure", "bytes", "beside", "ratio", "95 % of the median", "goal", ""]
    return table(
        headings,
        (
            [
                line["figure"],
                size_text(line),
                line["peer_name"],
                ratio_text(line["ratio"]),
                range_text(line.get("interval")),
                line["goal"],
                "met" if line["met"] else "**not met**",
            ]
            for line in lines
        ),
    )


def figures_table(lines: list[Line]) -> str:
    """Each figure with both values."""
    headings = ["figure", "bytes", "ours", "peer", "ratio (spread)", "95 % of the median", "peer is", "rounds"]
    return table(
        headings,
        (
            [
                line["figure"],
                size_text(line),
                value_text(line["ours"], line["unit"]),
                value_text(line["peer"], line["unit"]),
                ratio_text(line["ratio"]) + (f" ({range_text(line['spread'])})" if "spread" in line else ""),
                range_text(line.get("interval")),
                line["peer_name"],
                str(line.get("rounds", "")),
            ]
            for line in lines
        ),
    )


def curves_table(lines: list[Line]) -> str:
    """Percentiles of round trips, of all rounds together."""
    wanted = (50.0, 90.0, 99.0, 99.9, 99.99)
    rows = []
    for line in lines:
        at = dict(line["percentiles"])
        rows.append(
            [line["curve"], str(line["size"]), line["side"], f"{line['per_second']:,}"]
            + [value_text(at[each], "ns") for each in wanted]
        )
    return table(["round trip", "bytes", "side", "sent per second", *(f"p{each:g}" for each in wanted)], rows)


def instructions_table(lines: list[Line]) -> str:
    """Instructions of one call, ours and the peer's."""
    rows = []
    for line in lines:
        is_compared = line.get("peer") is not None
        rows.append(
            [
                str(line["figure"]),
                str(line.get("size", "")),
                f"{line['ours']:,.1f}",
                f"{line['peer']:,.1f}" if is_compared else "",
                ratio_text(line["ratio"]) if line.get("ratio") is not None else "",
                str(line.get("peer_name") or ""),
            ]
        )
    return table(["call", "bytes", "ours", "peer", "ratio", "peer is"], rows)


def calls_table(lines: list[Line]) -> str:
    """Single calls from Python."""
    rows = [
        [line["call"], f"{line['median_ns']:,.0f} ns", f"{line['min_ns']:,.0f} ns", str(line["rounds"])]
        for line in lines
    ]
    return table(["call", "median", "fastest", "rounds"], rows)
