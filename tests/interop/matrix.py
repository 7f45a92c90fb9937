"""How a test says which cells of docs/compatibility.md it shows.

``@cell("mdc.manual", "driver", "c", "out")`` above a test, or ``marks=cell(...)`` inside ``pytest.param``. The
direction ``both`` is two cells. ``@every("mdc.manual")`` runs a test once for each cell that the row has, with the
argument ``cell``, so that most rows are one test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import pytest

from tests.interop.rows import CELLS, DIRECTIONS, OURS, PEERS, Cell, Direction, Ours, Peer, by_id

MARK = "matrix"


def cell(row: str, ours: Ours, peer: Peer, direction: Direction | Literal["both"] = "both") -> pytest.MarkDecorator:
    """The mark of a test that shows this cell of a row; several may stand above one test."""
    return pytest.mark.matrix(row, ours=ours, peer=peer, direction=direction)


def on_peers(ours: Ours, *rows: str) -> pytest.MarkDecorator:
    """Parametrize ``peer`` over both peers, as these rows' cells of our client or of our driver."""
    params = [pytest.param(peer, marks=[cell(row, ours, peer) for row in rows], id=peer) for peer in PEERS]
    return pytest.mark.parametrize("peer", params)


def every(
    *rows: str, where: Callable[[Cell], bool] = lambda each: True, xfail: Callable[[Cell], str | None] | None = None
) -> pytest.MarkDecorator:
    """Parametrize ``cell`` over the cells that these rows have, each marked for the rows that have it.

    ``where`` leaves out cells that other tests show; ``xfail`` names a known fault of a cell, which must then fail.
    """
    params = []
    for each in CELLS:
        marks: list[pytest.MarkDecorator] = [cell(row, *each) for row in rows if by_id()[row].reason(each) is None]
        if not marks or not where(each):
            continue
        fault = xfail(each) if xfail else None
        if fault:
            marks.append(pytest.mark.xfail(strict=True, reason=fault))
        params.append(pytest.param(each, marks=marks, id=str(each)))
    return pytest.mark.parametrize("cell", params)


def cells_of(mark: pytest.Mark) -> list[tuple[str, Cell]]:
    """The (row, cell) pairs that one mark names. Raises ValueError with what is wrong with it."""

    def read(row: str, ours: str, peer: str, direction: str = "both") -> list[tuple[str, Cell]]:
        known = by_id().get(row)
        if known is None:
            raise ValueError(f"no row {row!r} in tests/interop/rows.py")
        directions = DIRECTIONS if direction == "both" else (direction,)
        wanted = {(ours, peer, each) for each in directions}
        found = [each for each in CELLS if tuple(each) in wanted]
        if len(found) != len(wanted):
            raise ValueError(f"ours is one of {OURS}, peer of {PEERS}, direction of {DIRECTIONS} or both, not {wanted}")
        shown = [(row, each) for each in found if known.reason(each) is None]
        if not shown:
            raise ValueError(f"{row} is n/a for {found[0]}: {known.reason(found[0])}")
        return shown

    return read(*mark.args, **mark.kwargs)


def marked(marks: Iterable[pytest.Mark]) -> list[tuple[str, Cell]]:
    """The (row, cell) pairs of a test's marks."""
    return [pair for mark in marks for pair in cells_of(mark)]
