"""The plots of the report, as SVG that is alike for alike results."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

Line = dict[str, Any]

SIZED = (
    ("ipc-throughput", "ipc throughput c"),
    ("ipc-throughput", "ipc throughput c batch"),
    ("callback", "ipc throughput callback"),
    ("batch", "ipc throughput batch"),
    ("native", "ipc throughput native numba"),
    ("udp-throughput", "udp throughput driver"),
)


def _figure() -> tuple[Any, Any, Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "aeronpy"
    import matplotlib.pyplot as plt

    drawing, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    return plt, drawing, axes


def _save(plt: Any, drawing: Any, path: Path) -> None:
    text = io.StringIO()
    drawing.savefig(text, format="svg", metadata={"Date": None})
    plt.close(drawing)
    path.write_text("\n".join(each.rstrip() for each in text.getvalue().splitlines()) + "\n")


def throughput(lines: list[Line], path: Path) -> bool:
    """Messages per second by size, ours solid and the peer's dashed; False where there is nothing to draw."""
    chosen: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        if (line.get("family"), line["figure"]) in SIZED:
            chosen.setdefault((line["figure"], line["peer_name"]), []).append(line)
    if not chosen:
        return False
    plt, drawing, axes = _figure()
    drawn = set()
    figures = list(dict.fromkeys(figure for figure, _ in chosen))
    for (figure, peer_name), group in chosen.items():
        colour = f"C{figures.index(figure)}"
        ordered = sorted(group, key=lambda line: int(line["size"]))
        sizes = [line["size"] for line in ordered]
        for name, key, style in ((f"{figure}: ours", "ours", "-"), (f"{figure}: {peer_name}", "peer", "--")):
            if name not in drawn:
                drawn.add(name)
                axes.plot(
                    sizes, [line[key] for line in ordered], style, color=colour, marker="o", markersize=3, label=name
                )
    axes.set(xscale="log", yscale="log", xlabel="bytes of a message", ylabel="messages/s", title="Throughput by size")
    axes.set_xticks(sorted({line["size"] for group in chosen.values() for line in group}))
    axes.get_xaxis().set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize=6, ncols=2)
    _save(plt, drawing, path)
    return True


def latency(curves: list[Line], path: Path) -> bool:
    """Percentile curves of round trips; the horizontal axis counts nines."""
    if not curves:
        return False
    plt, drawing, axes = _figure()
    flows = list(dict.fromkeys((line["curve"], line["size"]) for line in curves))
    for line in curves:
        colour = f"C{flows.index((line['curve'], line['size']))}"
        pairs = [(1 / (1 - percentile / 100), ns) for percentile, ns in line["percentiles"] if percentile < 100]
        label = f"{line['curve']} {line['size']} B: {line['side']}"
        style = "-" if line["side"].startswith("our") else "--"
        axes.plot([x for x, _ in pairs], [ns for _, ns in pairs], style, color=colour, label=label, linewidth=1)
    ticks = {50: 2, 90: 10, 99: 100, 99.9: 1000, 99.99: 10_000, 99.999: 100_000}
    axes.set(xscale="log", yscale="log", xlabel="percentile", ylabel="ns", title="Round trips at a fixed sending rate")
    axes.set_xticks(list(ticks.values()), [f"{each:g} %" for each in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize=6, ncols=2)
    _save(plt, drawing, path)
    return True


def streams(lines: list[Line], path: Path) -> bool:
    """The driver's processor time for a message against the number of streams."""
    chosen = sorted(
        (line for line in lines if line["figure"].startswith("streams driver cpu")),
        key=lambda line: int(line["streams"]),
    )
    if not chosen:
        return False
    plt, drawing, axes = _figure()
    counts = [line["streams"] for line in chosen]
    axes.plot(counts, [line["ours"] for line in chosen], "-", marker="o", label="our driver")
    axes.plot(counts, [line["peer"] for line in chosen], "--", marker="o", label=chosen[0]["peer_name"])
    axes.set(
        xscale="log", yscale="log", xlabel="streams", ylabel="ns of the driver per message", title="Cost by streams"
    )
    axes.set_xticks(counts, [str(each) for each in counts])
    axes.grid(alpha=0.3)
    axes.legend()
    _save(plt, drawing, path)
    return True
