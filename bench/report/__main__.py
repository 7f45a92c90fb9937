"""From a run to ``docs/performance.md``, its plots and the README's numbers: ``python -m bench.report``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.report import page, plots
from bench.report.results import read

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "bench"
TRIED = "tried.md"
# Title, file, the curves in it.
CURVES = (
    ("Round trips over shared memory", "latency-ipc.svg", ("ipc round trip c", "ipc round trip c 1m terms")),
    ("Round trips in Python", "latency-python.svg", ("ipc round trip callback",)),
    ("Round trips over UDP", "latency-udp.svg", ("udp round trip driver",)),
    ("Round trips beside Java", "latency-java.svg", ("ipc round trip beside java", "udp round trip beside java")),
)


def tried_text(path: Path) -> str | None:
    """The list of what was tried, without its title, its headings a level lower."""
    if not path.exists():
        return None
    lines = (line for line in path.read_text().splitlines() if not line.startswith("# "))
    return "\n".join(f"#{line}" if line.startswith("#") else line for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="*", type=Path, help="default: build/bench/results.jsonl")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    options = parser.parse_args()
    files = options.results or [BUILT / "results.jsonl"]
    missing = [str(each) for each in files if not each.exists()]
    if missing:
        sys.exit(f"there is no {', '.join(missing)}: run `make bench` first")

    results = read(files)
    pictures = options.docs / "performance"
    pictures.mkdir(parents=True, exist_ok=True)
    drawn = [("Throughput by size", "throughput.svg", plots.throughput(results.figures, pictures / "throughput.svg"))]
    for title, name, wanted in CURVES:
        curves = [line for line in results.curves if line["curve"] in wanted]
        drawn.append((title, name, plots.latency(curves, pictures / name)))
    drawn.append(("Cost by streams", "streams.svg", plots.streams(results.figures, pictures / "streams.svg")))
    shown = [(title, f"performance/{name}") for title, name, is_drawn in drawn if is_drawn]
    (options.docs / "performance.md").write_text(page.page(results, shown, tried_text(options.docs / TRIED)))
    if results.figures:
        options.readme.write_text(page.with_block(options.readme.read_text(), page.readme_block(results)))
    print(f"{options.docs / 'performance.md'}: {len(results.figures)} figures, {len(results.with_goals())} goals")
    return 0


if __name__ == "__main__":
    sys.exit(main())
