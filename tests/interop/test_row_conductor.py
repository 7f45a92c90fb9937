"""Long work that one client asks for delays no other client of the driver."""

from __future__ import annotations

import threading

from tests.interop import ends
from tests.interop.house import House, ipc
from tests.interop.matrix import every
from tests.interop.rows import Cell

ANSWERS_MIN = 4


@every("conductor.async_logs")
def test_a_large_log_delays_nobody_else(house: House, cell: Cell) -> None:
    """Who sends asks for a log of 400 MB whose every page is written; the other goes on asking for small ones."""
    pair = house.ends(cell, local=True)
    made: list[ends.Publication] = []
    large = threading.Thread(
        target=lambda: made.append(pair.source.publication("aeron:ipc?term-length=128m|sparse=false"))
    )
    # Neither client's first command is counted: it makes the client known.
    for side in (pair.source, pair.target):
        side.publication(ipc(), 6999).close()
    before = 0
    large.start()
    while large.is_alive():
        pair.target.publication(ipc(), 7000 + before % 3).close()
        before += large.is_alive()
    large.join()

    assert made[0].look()["term_buffer_length"] == 128 << 20
    assert before >= ANSWERS_MIN
    made[0].close()
