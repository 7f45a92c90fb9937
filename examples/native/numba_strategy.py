"""The strategy as a function that Numba compiles: ``python -m examples.native.numba_strategy``."""

from __future__ import annotations

from typing import Any

from numba import carray, cfunc

from aeronpy.native import function
from aeronpy.native.numba import FRAGMENT_HANDLER, view
from examples.native.market import ORDER, STATE, TICK, WINDOW, show

ADMIN_ACTION = -3
CLAIM_OFFSET = STATE.fields["claim"][1] if STATE.fields else 0
TICK_BYTES, ORDER_BYTES = TICK.itemsize, ORDER.itemsize
try_claim, commit = function("try_claim"), function("commit")


@cfunc(FRAGMENT_HANDLER)  # type: ignore[untyped-decorator]
def on_tick(context: Any, buffer: Any, length: Any, header: Any) -> None:
    """Keep the mean, and order where the price is far from it."""
    states = carray(context, 1, STATE)
    state = states[0]
    if length != TICK_BYTES:
        return
    tick = carray(buffer, 1, TICK)[0]
    place = state.seen % WINDOW
    state.sum += tick.price - state.prices[place]
    state.prices[place] = tick.price
    state.seen += 1
    if state.seen < WINDOW:
        return
    scaled = tick.price * WINDOW * 1000
    side = -1 if scaled > state.sum * 1002 else 1 if scaled < state.sum * 998 else 0
    if side == 0:
        return
    claim = states.ctypes.data + CLAIM_OFFSET
    position = try_claim(state.orders, ORDER_BYTES, claim)
    if position == ADMIN_ACTION:
        position = try_claim(state.orders, ORDER_BYTES, claim)
    if position < 0:
        state.refused += 1
        return
    order = view(state.claim.data, 1, ORDER)[0]
    order.time_ns = tick.time_ns
    order.price = tick.price
    order.instrument = tick.instrument
    order.side = side
    commit(state.orders, claim)
    state.sent += 1


if __name__ == "__main__":
    show("Numba", on_tick)
