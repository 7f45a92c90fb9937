"""The publisher: replays a feed again and again, as fast as flow control lets it."""

from __future__ import annotations

import sys
import time
import zlib
from pathlib import Path

from aeronpy import Aeron
from examples.market_data.feed import TICK, load
from examples.market_data.lines import say


def checksum(messages: bytes, length: int) -> int:
    """The sum of the CRC-32 of every message, which does not depend on their order."""
    return sum(zlib.crc32(messages[at : at + length]) for at in range(0, len(messages), length))


def main(aeron_dir: str, channel: str, stream_id: str, passes: str, data: str) -> None:
    """Publish all passes, then tell how many messages that were and their checksum."""
    ticks = load(Path(data) if data else None).ticks
    sent = total = 0
    with (
        Aeron.connect(aeron_dir=aeron_dir) as aeron,
        aeron.add_exclusive_publication(channel, int(stream_id)) as publication,
    ):
        while not publication.is_connected:
            time.sleep(0.001)
        for number in range(int(passes)):
            ticks["pass_number"] = number
            accepted = 0
            while accepted < len(ticks):
                accepted += publication.offer_batch(ticks[accepted:])
            sent += accepted
            total += checksum(ticks.tobytes(), TICK.itemsize)
            say(sent=sent)
        say(sent=sent, checksum=total)


if __name__ == "__main__":
    main(*sys.argv[1:])
