"""One end of a measured flow, as a process: ``ends.py CLIENT ROLE DIR CHANNEL SIZE BACK_CHANNEL``.

CLIENT is ``real_c`` or ``ours_c`` (C loops), ``pyaeron`` or ``ours`` (a Python call for each message), or
``ours_batch`` (NumPy batches). ROLE is ``publish``, ``receive``, ``ping`` or ``pong``. Each line of input is a number
of messages; the answer is nanoseconds: of the whole round, or the median of the round trips.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Protocol

DEADLINE_S = 60.0
STREAM_ID, BACK_STREAM_ID = 2001, 2002
POLL_LIMIT = 256
BATCH_MESSAGES = 4096


class Ends(Protocol):
    """What a client must offer to be measured."""

    def add_publication(self, channel: str, stream_id: int) -> None: ...
    def add_subscription(self, channel: str, stream_id: int) -> None: ...
    def is_connected(self) -> bool: ...
    def publish(self, size: int, count: int) -> int: ...
    def receive(self, size: int, count: int) -> int: ...
    def echo(self, size: int, count: int) -> int: ...
    def ping(self, size: int, count: int) -> int: ...
    def close(self) -> None: ...


class LoopEnd(ctypes.Structure):
    """``loop_end_t``."""

    _fields_ = [
        ("offer", ctypes.c_void_p),
        ("publication", ctypes.c_void_p),
        ("poll", ctypes.c_void_p),
        ("subscription", ctypes.c_void_p),
    ]


class LoopEnds:
    """The C loops over a client that gives pointers."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._loops = ctypes.CDLL(str(Path(__file__).parents[2] / "build" / "bench" / "loops.so"))
        for name in ("loop_publish", "loop_receive", "loop_echo", "loop_ping"):
            function = getattr(self._loops, name)
            function.restype = ctypes.c_int64
            extra = [ctypes.POINTER(ctypes.c_int64)] if name == "loop_ping" else []
            function.argtypes = [ctypes.POINTER(LoopEnd), ctypes.c_size_t, ctypes.c_int64, *extra]
        self._end = LoopEnd(client.offer, None, client.poll, None)

    def add_publication(self, channel: str, stream_id: int) -> None:
        self._publication = self._client.add_publication(channel, stream_id)
        self._end.publication = self._publication

    def add_subscription(self, channel: str, stream_id: int) -> None:
        self._subscription = self._client.add_subscription(channel, stream_id)
        self._end.subscription = self._subscription

    def is_connected(self) -> bool:
        return bool(self._client.is_connected(self._publication))

    @staticmethod
    def _checked(result: int) -> int:
        if result < 0:
            raise RuntimeError(f"the loop failed with {result}")
        return result

    def publish(self, size: int, count: int) -> int:
        return self._checked(self._loops.loop_publish(ctypes.byref(self._end), size, count))

    def receive(self, size: int, count: int) -> int:
        self._client.await_image()
        return self._checked(self._loops.loop_receive(ctypes.byref(self._end), size, count))

    def echo(self, size: int, count: int) -> int:
        self._client.await_image()
        return self._checked(self._loops.loop_echo(ctypes.byref(self._end), size, count))

    def ping(self, size: int, count: int) -> int:
        self._client.await_image()
        times = (ctypes.c_int64 * count)()
        self._checked(self._loops.loop_ping(ctypes.byref(self._end), size, count, times))
        return int(statistics.median(times))

    def close(self) -> None:
        self._client.close()


class CallbackEnds:
    """A Python call for each message, on any client with ``offer`` and ``poll``."""

    def __init__(self, aeron: Any) -> None:
        self._aeron = aeron

    def add_publication(self, channel: str, stream_id: int) -> None:
        self._publication = self._aeron.add_exclusive_publication(channel, stream_id)

    def add_subscription(self, channel: str, stream_id: int) -> None:
        self._subscription = self._aeron.add_subscription(channel, stream_id)

    def is_connected(self) -> bool:
        return bool(self._publication.is_connected)

    def publish(self, size: int, count: int) -> int:
        payload, offer = b"x" * size, self._publication.offer
        start = time.perf_counter_ns()
        for _ in range(count):
            while offer(payload) < 0:
                time.sleep(0)
        return time.perf_counter_ns() - start

    def receive(self, size: int, count: int) -> int:
        received = first = 0

        def on_fragment(buffer: object, header: object) -> None:
            nonlocal received
            received += 1

        poll, deadline = self._subscription.poll, time.monotonic() + DEADLINE_S
        while received < count:
            if poll(on_fragment, POLL_LIMIT) == 0:
                time.sleep(0)
                if not first and time.monotonic() > deadline:
                    raise TimeoutError("nothing came")
            elif not first:
                first = time.perf_counter_ns()
        return time.perf_counter_ns() - first

    def echo(self, size: int, count: int) -> int:
        raise NotImplementedError("round trips are measured with C loops")

    ping = echo

    def close(self) -> None:
        self._aeron.close()


class PyaeronEnds(CallbackEnds):
    """pyaeron's offer answers True, or a falsy code."""

    def is_connected(self) -> bool:
        self._publication.await_connected(DEADLINE_S)
        return True

    def publish(self, size: int, count: int) -> int:
        payload, offer = b"x" * size, self._publication.offer
        start = time.perf_counter_ns()
        for _ in range(count):
            while not offer(payload):
                time.sleep(0)
        return time.perf_counter_ns() - start


class BatchEnds(CallbackEnds):
    """Thousands of messages a call, as NumPy arrays."""

    def publish(self, size: int, count: int) -> int:
        import numpy as np

        batch, left = np.full((BATCH_MESSAGES, size), ord("x"), np.uint8), count
        offer_batch = self._publication.offer_batch
        start = time.perf_counter_ns()
        while left > 0:
            accepted = offer_batch(batch if left >= BATCH_MESSAGES else batch[:left])
            left -= accepted
            if accepted == 0:
                time.sleep(0)
        return time.perf_counter_ns() - start

    def receive(self, size: int, count: int) -> int:
        received = total = first = 0
        poll_batch, deadline = self._subscription.poll_batch, time.monotonic() + DEADLINE_S
        while received < count:
            with poll_batch(messages_max=BATCH_MESSAGES) as batch:
                lengths = batch.lengths
                got, total = len(lengths), total + int(lengths.sum())
            received += got
            if got == 0:
                time.sleep(0)
                if not first and time.monotonic() > deadline:
                    raise TimeoutError("nothing came")
            elif not first:
                first = time.perf_counter_ns()
        if total != count * size:
            raise RuntimeError(f"{total} bytes in {received} messages of {size}")
        return time.perf_counter_ns() - first


def open_ends(client: str, aeron_dir: str) -> Ends:
    if client == "real_c":
        from real_client import RealClient

        return LoopEnds(RealClient(aeron_dir))
    if client == "ours_c":
        from our_client import OurClient

        return LoopEnds(OurClient(aeron_dir))
    if client == "pyaeron":
        import pyaeron

        return PyaeronEnds(pyaeron.Aeron.connect(dir=aeron_dir))
    from aeronpy import Aeron

    aeron = Aeron.connect(aeron_dir=aeron_dir)
    return BatchEnds(aeron) if client == "ours_batch" else CallbackEnds(aeron)


def main() -> None:
    client, role, aeron_dir, channel, size_text, back = sys.argv[1:7]
    size, ends = int(size_text), open_ends(client, aeron_dir)
    if role in ("publish", "ping"):
        ends.add_publication(channel, STREAM_ID)
    else:
        ends.add_subscription(channel, STREAM_ID)
    if role == "ping":
        ends.add_subscription(back, BACK_STREAM_ID)
    elif role == "pong":
        ends.add_publication(back, BACK_STREAM_ID)
    cpu = os.environ.get("BENCH_CPU")
    if cpu is not None:
        # This thread alone: the client's own have started, and stay free.
        os.sched_setaffinity(0, {int(cpu)})
    print("READY", flush=True)
    rounds = {"publish": ends.publish, "receive": ends.receive, "ping": ends.ping, "pong": ends.echo}
    for line in sys.stdin:
        if line.strip() == "connected":
            deadline = time.monotonic() + DEADLINE_S
            while not ends.is_connected() and time.monotonic() < deadline:
                time.sleep(0.001)
            print("CONNECTED", flush=True)
        else:
            print(rounds[role](size, int(line)), flush=True)
    ends.close()


if __name__ == "__main__":
    main()
