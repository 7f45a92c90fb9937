"""``docs/performance.md`` and the README's block of numbers, as text that is alike for alike results."""

from __future__ import annotations

from bench.report.results import Results
from bench.report.tables import calls_table, curves_table, figures_table, goals_table, instructions_table

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

FAMILY_TITLES = {
    "ipc-throughput": "Shared memory, C level: throughput",
    "ipc-round-trip": "Shared memory, C level: round trips",
    "callback": "Python, a call for each message",
    "callback-round-trip": "Python round trips",
    "batch": "NumPy batches",
    "native": "Native handlers",
    "udp-throughput": "UDP through one driver",
    "udp-throughput-two": "UDP, a driver at each end",
    "udp-round-trip": "UDP round trips",
    "streams": "Many streams",
    "idle": "Idle drivers",
    "startup": "Start to first message",
    "messaging": "Beside other systems, 32 B",
    "floors": "Beside the machine itself",
    "java": "Beside Java",
    "storage": "Recordings",
}

HOW = """\
Written by `make bench-report` from the lines of one run of `make bench`; do not edit it.

How it is measured: the sides of a figure run in the same rounds, in turn, each end a process of its own. A ratio is
ours/peer within a round, always; the figure is the median of the rounds with the interval in which the true median
lies with 95 % (order statistics, no distribution assumed), and a goal is met where that interval reaches it. A trial
beside which others took more than a tenth of a processor, or the host stole it, is thrown away and repeated, at most
half as often as there are rounds. Capacity is a closed loop; round trips are sent at a fixed rate and timed from when
each was due, so that a stall counts for all that it delays. Logs are turned over once before every trial of
throughput, since on a virtual machine a page not lately used costs more than the copy into it. Over shared memory each
end has a core of its own on both sides alike; over UDP nothing is pinned. Drivers run SHARED with default settings."""

# What the README shows: families whole, or one metric of theirs.
README_FAMILIES = ("ipc-throughput", "callback", "batch", "native", "udp-throughput", "startup", "storage")
README_FIGURES = ("ipc round trip c p50", "ipc round trip c p99", "udp round trip driver p50")


def machine_text(results: Results) -> str:
    """One paragraph."""
    machine = results.machine
    if not machine:
        return "Machine: not told."
    kind = "a virtual machine" if machine.get("is_virtual") else "a machine"
    settings = ", ".join(f"{name} {value}" for name, value in results.settings.items())
    settings = settings or "not told"
    return (
        f"Machine: {kind}, {machine['processor']} ({machine['architecture']}), {machine['processors']} processors, "
        f"{machine['memory']}, Linux {machine['kernel']}. Settings: {settings}. "
        f"At {results.at}."
    )


def noise_text(results: Results) -> str:
    """How quiet the machine was."""
    scenes = {
        (line.get("family"), line["size"], line.get("streams"), line.get("thrown_away"), line.get("noisy_kept"))
        for line in results.figures
    }
    thrown = sum(scene[3] or 0 for scene in scenes)
    kept = sum(scene[4] or 0 for scene in scenes)
    return f"Trials thrown away for a noisy neighbour: {thrown}; kept beside one, the repeats being used up: {kept}."


def page(results: Results, plots: list[tuple[str, str]], tried: str | None) -> str:
    """The whole page; plots are pairs of title and path beside it."""
    goals = results.with_goals()
    met = sum(1 for line in goals if line["met"])
    parts = ["# Performance", HOW]
    if results.figures:
        parts += [machine_text(results), noise_text(results)]
    parts += ["## Goals", f"{met} of {len(goals)} are met.", goals_table(goals)] if goals else []
    for title, path in plots:
        parts.append(f"![{title}]({path})")
    if results.instructions:
        parts += [
            "## Instructions",
            "Counted by callgrind, so alike on a busy machine.",
            instructions_table(results.instructions),
        ]
    if results.figures:
        parts.append("## Figures")
    families = dict.fromkeys(str(line.get("family", "others")) for line in results.figures)
    for family in families:
        lines = [line for line in results.figures if str(line.get("family", "others")) == family]
        parts += [f"### {FAMILY_TITLES.get(family, family)}", figures_table(lines)]
    if results.curves:
        parts += ["### Percentiles of all rounds together", curves_table(results.curves)]
    if results.calls:
        parts += ["### Single calls from Python", calls_table(results.calls)]
    if results.failed:
        parts.append("## Not measured")
        parts.append("\n".join(f"- {line['family']}: {line['failed']}" for line in results.failed))
    if tried:
        parts += ["## What was tried", tried.strip()]
    return "\n\n".join(parts) + "\n"


def readme_block(results: Results) -> str:
    """The README's numbers."""
    lines = [
        line for line in results.figures if line.get("family") in README_FAMILIES or line["figure"] in README_FIGURES
    ]
    goals = results.with_goals()
    met = sum(1 for line in goals if line["met"])
    text = [BEGIN, machine_text(results), "", figures_table(lines), ""]
    text.append(
        f"{met} of {len(goals)} goals are met: [docs/performance.md](docs/performance.md) has them, all other figures, "
        "latency curves and how it is measured."
    )
    return "\n".join([*text, END])


def with_block(readme: str, block: str) -> str:
    """The README with its block replaced. Raises ValueError without both marks."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the README has no {BEGIN} and {END} in this order: put them where the numbers belong")
    return before + block + after
