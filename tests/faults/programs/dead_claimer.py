"""Claims room in a shared publication, says so, and holds on to it until it is killed."""

from __future__ import annotations

import sys
import time

from aeronpy import Aeron


def hold(aeron_dir: str, channel: str, stream_id: int) -> None:
    with Aeron.connect(aeron_dir=aeron_dir) as aeron:
        publication = aeron.add_publication(channel, stream_id)
        claim = publication.try_claim(100)
        while not claim:
            time.sleep(0.001)
            claim = publication.try_claim(100)
        print("CLAIMED", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    hold(sys.argv[1], sys.argv[2], int(sys.argv[3]))
