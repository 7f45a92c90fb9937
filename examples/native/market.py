"""What the three strategies share: ticks in, orders out, and a plain Python strategy to hold them against.

A strategy sells where a price is 2 in 1,000 above the mean of the last ticks, and buys where it is as far below. Its
handler gets each tick without the GIL, and writes each order in place: claim, fill in, commit.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from aeronpy import Aeron, MediaDriver, Publication, Subscription
from aeronpy.native import api_address

TICK: Final = np.dtype([("time_ns", "<i8"), ("price", "<i8"), ("instrument", "<i4"), ("size", "<i4")])
ORDER: Final = np.dtype([("time_ns", "<i8"), ("price", "<i8"), ("instrument", "<i4"), ("side", "<i4")])
# aeronpy_claim_t, and what a handler has as its context: strategy_t of strategy.c.
CLAIM: Final = np.dtype([("data", np.intp), ("length", np.intp), ("position", "<i8"), ("frame", np.intp)])
WINDOW: Final = 64
STATE: Final = np.dtype(
    [
        ("api", np.intp),
        ("orders", np.intp),
        ("claim", CLAIM),
        ("seen", "<i8"),
        ("sum", "<i8"),
        ("sent", "<i8"),
        ("refused", "<i8"),
        ("prices", "<i8", (WINDOW,)),
    ]
)
CHANNEL: Final = "aeron:ipc?term-length=1m"
TICKS, ORDERS = 1001, 1002


@dataclass(frozen=True)
class Result:
    """What came of a run."""

    ticks: int
    orders: npt.NDArray[Any]
    refused: int
    seconds: float


def make_ticks(count: int, seed: int = 7) -> npt.NDArray[Any]:
    """A random walk of prices, in ten-thousandths."""
    random = np.random.default_rng(seed)
    ticks = np.zeros(count, TICK)
    ticks["time_ns"] = np.arange(count) * 1000
    ticks["price"] = np.maximum(1_000_000 + random.integers(-1000, 1001, count).cumsum(), 1000)
    ticks["instrument"] = 42
    ticks["size"] = random.integers(1, 100, count)
    return ticks


def expected_orders(ticks: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The orders of a strategy in plain Python."""
    last: deque[int] = deque(maxlen=WINDOW)
    orders = []
    for tick in ticks.tolist():
        last.append(tick[1])
        side = side_of(tick[1], sum(last)) if len(last) == WINDOW else 0
        if side != 0:
            orders.append((tick[0], tick[1], tick[2], side))
    return np.array(orders, ORDER)


def side_of(price: int, total: int) -> int:
    """-1 to sell, 1 to buy, 0 to wait, at a price and the sum of the window's."""
    scaled = price * WINDOW * 1000
    return -1 if scaled > total * 1002 else 1 if scaled < total * 998 else 0


class Worker:
    """A thread that polls with a native handler, and sleeps where there is nothing to poll."""

    def __init__(self, handler: object, subscription: Subscription, orders: Publication, ticks_max: int) -> None:
        self._subscription, self._handler, self._ticks_max = subscription, handler, ticks_max
        self._handle = orders.native_handle  # kept as long as native code has its address
        self.state = np.zeros(1, STATE)
        self.state["api"] = api_address()
        self.state["orders"] = self._handle.address
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        subscription, handler, context = self._subscription, self._handler, self.state.ctypes.data
        left = self._ticks_max
        while left > 0 and not subscription.is_closed:
            polled = subscription.poll_native(handler, context, 256)
            left -= polled
            if polled == 0:
                subscription.wait(0.1)

    @property
    def is_done(self) -> bool:
        """Whether all ticks were handled."""
        return not self._thread.is_alive()


def run(handler: object, ticks: npt.NDArray[Any]) -> Result:
    """Send ticks through a strategy, and collect its orders."""
    with MediaDriver.launch_embedded() as driver, Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        ticks_in = aeron.add_subscription(CHANNEL, TICKS)
        ticks_out = aeron.add_publication(CHANNEL, TICKS)
        orders_in = aeron.add_subscription(CHANNEL, ORDERS)
        orders_out = aeron.add_publication(CHANNEL, ORDERS)
        while not (ticks_out.is_connected and orders_out.is_connected):
            time.sleep(0.001)
        started = time.monotonic()
        worker = Worker(handler, ticks_in, orders_out, len(ticks))
        found: list[npt.NDArray[Any]] = []
        sent = 0
        while not worker.is_done:
            sent += ticks_out.offer_batch(ticks[sent : sent + 1024]) if sent < len(ticks) else 0
            if not collect(orders_in, found) and sent == len(ticks):
                orders_in.wait(0.01)
        seconds = time.monotonic() - started
        while collect(orders_in, found):
            pass
        state = worker.state[0]
        return Result(int(state["seen"]), np.concatenate(found or [np.empty(0, ORDER)]), int(state["refused"]), seconds)


def collect(subscription: Subscription, into: list[npt.NDArray[Any]]) -> bool:
    """Take the orders that came; False where there was none."""
    with subscription.poll_batch() as batch:
        if len(batch) > 0:
            into.append(batch.view(ORDER).copy())
        return len(batch) > 0


def show(name: str, handler: object, count: int = 200_000) -> None:
    """Run a strategy, and say how its orders compare."""
    ticks = make_ticks(count)
    result = run(handler, ticks)
    right = np.array_equal(result.orders, expected_orders(ticks))
    print(
        f"{name}: {result.ticks:,} ticks, {len(result.orders):,} orders in {result.seconds:.2f} s, "
        f"{'as expected' if right else 'NOT as expected'}; {result.refused} refused"
    )
