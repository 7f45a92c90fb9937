"""One end of many streams on the real C client: ``streams_end.py ROLE DIR CHANNEL STREAMS SIZE``.

CHANNEL may be several, with commas between: twenty streams go through each.

ROLE is ``publish`` or ``receive``. Lines and answers are those of ``ends.py``.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import time
from ctypes import byref, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any

from ends import LoopEnd, checked, open_loops
from real_client import RealClient

FIRST_STREAM_ID = 3001
DEADLINE_S = 300.0
AT_ONCE = 50
STREAMS_PER_CHANNEL = 20
PROGRESS_BYTES = 4096


class ManyStreams(RealClient):
    """Publications or subscriptions of as many streams."""

    def add_all(self, kind: str, channels: list[str], streams: int) -> list[c_void_p]:
        """Some at once, so that first frames do not overrun the socket; TimeoutError after 300 s."""
        self._deadline = time.monotonic() + DEADLINE_S
        add = getattr(self._lib, f"aeron_async_add_{kind}")
        nothing = [None] * 4 if kind == "subscription" else []
        add.argtypes = [ctypes.POINTER(c_void_p), c_void_p, ctypes.c_char_p, c_int32, *[c_void_p] * len(nothing)]
        resources: list[c_void_p] = []
        for first in range(0, streams, AT_ONCE):
            pending = []
            for index in range(first, min(first + AT_ONCE, streams)):
                each, channel = c_void_p(), channels[index // STREAMS_PER_CHANNEL].encode()
                self._check(add(byref(each), self._client, channel, FIRST_STREAM_ID + index, *nothing))
                pending.append(each)
            added = [self._added(kind, each) for each in pending]
            if kind == "exclusive_publication":
                self.await_connected(added)
            resources += added
        return resources

    def await_connected(self, publications: list[c_void_p]) -> None:
        """Wait until each has a subscriber. Raises TimeoutError after 300 s in all."""
        for index, each in enumerate(publications):
            while not self.is_connected(each):
                if time.monotonic() > self._deadline:
                    raise TimeoutError(f"{index} of {len(publications)} streams connected in {DEADLINE_S:.0f} s")
                time.sleep(0.001)


def loops_of_streams() -> Any:
    loops = open_loops()
    loops.loop_publish_streams.argtypes = [c_void_p, c_int64, c_size_t, c_int64, c_void_p]
    loops.loop_receive_streams.argtypes = [c_void_p, c_int64, c_int64, c_void_p]
    loops.loop_publish_streams.restype = loops.loop_receive_streams.restype = c_int64
    return loops


def shared_progress(path: Path) -> mmap.mmap:
    """``loop_progress_t`` in a file that both ends map."""
    with path.open("a+b") as file:
        file.truncate(PROGRESS_BYTES)
        return mmap.mmap(file.fileno(), PROGRESS_BYTES)


def main() -> None:
    role, aeron_dir, channels, streams, size = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
    client, loops = ManyStreams(aeron_dir), loops_of_streams()
    is_publisher = role == "publish"
    resources = client.add_all(
        "exclusive_publication" if is_publisher else "subscription", channels.split(","), streams
    )
    ends = (LoopEnd * streams)()
    for end, resource in zip(ends, resources, strict=True):
        end.offer, end.poll = client.offer, client.poll
        end.publication = end.subscription = resource
    progress = shared_progress(Path(aeron_dir).parent / "progress")
    shared = ctypes.addressof(ctypes.c_char.from_buffer(progress))
    print("READY", flush=True)
    for line in sys.stdin:
        count = int(line)
        if is_publisher:
            taken_ns = loops.loop_publish_streams(ends, streams, size, count, shared)
        else:
            taken_ns = loops.loop_receive_streams(ends, streams, count, shared)
        print(checked(taken_ns), flush=True)
    client.close()


if __name__ == "__main__":
    main()
