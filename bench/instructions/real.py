"""The pairs of the real C client, to be run under callgrind by the peer's Python: ``real.py AERON_DIR PAIRS_SO``."""

from __future__ import annotations

import ctypes
import sys
import time
from pathlib import Path

STREAM_ID, SIZE, DEADLINE_S = 1001, 32, 60.0


class LoopEnd(ctypes.Structure):
    """``loop_end_t``."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("offer", "publication", "poll", "subscription")]


def main() -> None:
    aeron_dir, library = sys.argv[1:3]
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "compare"))
    from real_client import RealClient  # type: ignore[import-not-found]

    client, channel = RealClient(aeron_dir), "aeron:ipc?term-length=16m"
    subscription = client.add_subscription(channel, STREAM_ID)
    publication = client.add_publication(channel, STREAM_ID)
    deadline = time.monotonic() + DEADLINE_S
    while not client.is_connected(publication):
        if time.monotonic() > deadline:
            sys.exit("the real client did not connect")
        time.sleep(0.001)
    end = LoopEnd(client.offer, publication, client.poll, subscription)
    if ctypes.CDLL(library).pairs_count(ctypes.byref(end), ctypes.c_size_t(SIZE), b"real") != 0:
        sys.exit("the real client's messages did not come as they were sent")
    client.close()


if __name__ == "__main__":
    main()
