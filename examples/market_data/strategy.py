"""The strategy: hears every tick in a callback and keeps a running signal for each symbol."""

from __future__ import annotations

import sys
import time
import zlib
from math import isnan

from aeronpy import Aeron, FragmentView, Header
from examples.market_data.feed import TICK_STRUCT
from examples.market_data.lines import say


class Signal:
    """A fast and a slow moving average; the strategy is long while the fast one is above."""

    def __init__(self, price: float) -> None:
        self.fast = self.slow = price
        self.crossings = 0

    def update(self, price: float) -> None:
        """Take the next price."""
        was_long = self.fast > self.slow
        self.fast += (price - self.fast) / 10
        self.slow += (price - self.slow) / 50
        self.crossings += (self.fast > self.slow) != was_long


class Strategy:
    """What is known after each tick."""

    def __init__(self) -> None:
        self.signals: dict[bytes, Signal] = {}
        self.received = 0
        self.checksum = 0

    def on_tick(self, buffer: FragmentView, header: Header) -> None:
        """Handle one message; the view is valid in here only."""
        _, _, _, symbol, price, _, _ = TICK_STRUCT.unpack_from(buffer)
        self.received += 1
        self.checksum += zlib.crc32(buffer)
        if not isnan(price):  # an order book event may have no price
            signal = self.signals.get(symbol)
            if signal is None:
                self.signals[symbol] = Signal(price)
            else:
                signal.update(price)


def main(aeron_dir: str, channel: str, stream_id: str) -> None:
    """Listen until the publisher has ended."""
    strategy = Strategy()
    with (
        Aeron.connect(aeron_dir=aeron_dir) as aeron,
        aeron.add_subscription(channel, int(stream_id)) as subscription,
    ):
        say(ready=True)
        next_word = 0.0
        while strategy.received == 0 or not all(image.is_end_of_stream for image in subscription.images):
            if subscription.poll(strategy.on_tick, fragment_limit=256) == 0:
                subscription.wait(timeout_s=0.1)
            if time.monotonic() >= next_word:
                say(received=strategy.received)
                next_word = time.monotonic() + 0.1
        crossings = sum(signal.crossings for signal in strategy.signals.values())
        say(received=strategy.received, checksum=strategy.checksum, crossings=crossings)


if __name__ == "__main__":
    main(*sys.argv[1:])
