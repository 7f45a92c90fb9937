"""A client whose interpreter stalls on request: each line on stdin is how many milliseconds the GIL is held.

It has a stream of its own with messages in it over the stall, and says WHOLE when they are as they were sent, and the
stream takes and brings more; FAILED and why, otherwise.
"""

from __future__ import annotations

import ctypes
import sys
import time

from aeronpy import Aeron

MESSAGES = 50
DEADLINE_S = 10.0


def main() -> None:
    libc = ctypes.PyDLL(None)  # a PyDLL keeps the GIL over the call: nothing else in this interpreter runs
    with Aeron.connect(aeron_dir=sys.argv[1]) as aeron:
        subscription = aeron.add_subscription("aeron:ipc?term-length=64k", 8)
        publication = aeron.add_publication("aeron:ipc?term-length=64k", 8)
        got: list[bytes] = []

        def read(count: int) -> bool:
            deadline = time.monotonic() + DEADLINE_S
            while len(got) < count and time.monotonic() < deadline:
                subscription.poll(lambda buffer, header: got.append(bytes(buffer)), 10)
            return got == [b"%d" % each * 100 for each in range(count)]

        print("READY", flush=True)
        for line in sys.stdin:
            for each in range(MESSAGES):
                publication.send(b"%d" % each * 100)
            print("STALLED", flush=True)
            libc.usleep(int(line) * 1000)
            is_whole = read(MESSAGES)
            for each in range(MESSAGES, 2 * MESSAGES):
                publication.send(b"%d" % each * 100)
            is_whole = is_whole and read(2 * MESSAGES)
            print("WHOLE" if is_whole and not aeron.is_closed else f"FAILED with {len(got)} messages", flush=True)
            got.clear()


if __name__ == "__main__":
    main()
