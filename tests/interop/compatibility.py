"""Writes docs/compatibility.md from what a run of tests/interop showed.

``python -m tests.interop.compatibility`` gives the committed file the rows of rows.py and keeps what its cells say;
only a run of all of tests/interop fills cells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from tests.interop.rows import CELLS, DIRECTIONS, OURS, PEERS, SECTIONS, Cell, Row, by_id

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "compatibility.md"
MISSING = "**missing**"
FAILED = "**failed**"
NAMES = {"c": "C", "java": "Java"}

Outcome = Literal["passed", "failed"]
Shown = Mapping[tuple[str, Cell], Mapping[str, Outcome]]
Texts = Mapping[tuple[str, Cell], str]

OPENING = """\
# What was shown to work with real Aeron

Written by the run of `tests/interop`; no cell is by hand. The peers are the C driver and client of `pyaeron` and the
Java driver and client of `io.aeron:aeron-all`. *out* is a stream that leaves ours towards the peer, *in* one that comes
from it. Our client runs on the peer's driver; our driver runs against the peer's driver, or its client where no wire is
crossed. A cell names the tests in `tests/interop` that passed; `n/a` says why there is nothing to show.
"""


def text_of(tests: Mapping[str, Outcome]) -> str:
    """A cell: the tests that passed, those that failed, or that there is none."""
    if not tests:
        return MISSING
    parts = [f"`{name}`" if outcome == "passed" else f"{FAILED}: `{name}`" for name, outcome in sorted(tests.items())]
    return "<br>".join(parts)


def texts_of(shown: Shown) -> dict[tuple[str, Cell], str]:
    """What each cell says after a run."""
    return {pair: text_of(tests) for pair, tests in shown.items()}


def line_of(row: Row, ours: str, texts: Texts) -> str:
    """One line of a table."""
    columns = []
    for peer in PEERS:
        for direction in DIRECTIONS:
            cell = next(each for each in CELLS if each == (ours, peer, direction))
            reason = row.reason(cell)
            columns.append(f"n/a: {reason}" if reason else texts.get((row.id, cell), MISSING))
    item = row.item.replace("|", "\\|")
    return f"| {item} | `{row.id}` | {ours} | {' | '.join(columns)} |"


def tally(texts: Texts) -> str:
    """How many cells stand where."""
    wanted = [texts.get((row.id, cell), MISSING) for row in by_id().values() for cell in row.cells()]
    missing = sum(text == MISSING for text in wanted)
    failed = sum(FAILED in text for text in wanted)
    return f"{len(wanted)} cells: {len(wanted) - missing - failed} passed, {failed} failed, {missing} missing."


def render(texts: Texts) -> str:
    """The whole page."""
    lines = [OPENING, tally(texts)]
    head = " | ".join(f"{NAMES[peer]} {direction}" for peer in PEERS for direction in DIRECTIONS)
    for title, capabilities in SECTIONS:
        lines += ["", f"## {title}"]
        for each in capabilities:
            lines += ["", f"### {each.title}", "", f"| item | row | ours | {head} |", "|---|---|---|---|---|---|---|"]
            lines += [line_of(row, ours, texts) for row in each.rows for ours in OURS]
    return "\n".join(lines) + "\n"


def read(page: str) -> dict[tuple[str, Cell], str]:
    """What the cells of a page say, n/a left out."""
    texts = {}
    for line in page.splitlines():
        columns = [each.strip() for each in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(columns) != 3 + len(PEERS) * len(DIRECTIONS) or not columns[1].startswith("`"):
            continue
        row, ours = columns[1].strip("`"), columns[2]
        cells = [each for each in CELLS if each.ours == ours]
        for cell, text in zip(cells, columns[3:], strict=True):
            if not text.startswith("n/a"):
                texts[row, cell] = text
    return texts


def reshaped(page: str) -> str:
    """The page with the rows of rows.py, its cells kept where they are still cells."""
    return render({pair: text for pair, text in read(page).items() if pair[0] in by_id()})


if __name__ == "__main__":
    PAGE.write_text(reshaped(PAGE.read_text() if PAGE.exists() else ""))
