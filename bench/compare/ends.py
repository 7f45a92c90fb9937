"""One end of a measured flow, as a process: ``ends.py CLIENT ROLE DIR CHANNEL SIZE BACK_CHANNEL``.

As ``aeronpy.bench.ends``, with more clients: ``real_c`` and ``ours_c`` (C loops), ``ours_c_batch`` (a C loop that
offers many messages at once), and ``native_numba``, ``native_cffi``, ``native_cython`` (compiled handlers polled by
``Subscription.poll_native``).
"""

from __future__ import annotations

import ctypes
import statistics
from pathlib import Path
from typing import Any

from aeronpy.bench import ends, histogram
from aeronpy.bench.ends import Ends


class LoopEnd(ctypes.Structure):
    """``loop_end_t``."""

    _fields_ = [
        ("offer", ctypes.c_void_p),
        ("publication", ctypes.c_void_p),
        ("poll", ctypes.c_void_p),
        ("subscription", ctypes.c_void_p),
    ]


END, TIMES = ctypes.POINTER(LoopEnd), ctypes.POINTER(ctypes.c_int64)
SIGNATURES: dict[str, list[Any]] = {
    "loop_publish": [END, ctypes.c_size_t, ctypes.c_int64],
    "loop_receive": [END, ctypes.c_size_t, ctypes.c_int64],
    "loop_echo": [END, ctypes.c_size_t, ctypes.c_int64],
    "loop_ping": [END, ctypes.c_size_t, ctypes.c_int64, TIMES],
    "loop_paced": [END, ctypes.c_size_t, ctypes.c_int64, ctypes.c_int64, TIMES],
    "ours_publish_batch": [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64],
}


def open_loops() -> Any:
    """The C loops, with their signatures."""
    loops = ctypes.CDLL(str(Path(__file__).parents[2] / "build" / "bench" / "loops.so"))
    for name, arguments in SIGNATURES.items():
        function = getattr(loops, name)
        function.restype, function.argtypes = ctypes.c_int64, arguments
    return loops


def checked(result: int) -> int:
    if result < 0:
        raise RuntimeError(f"the loop failed with {result}")
    return result


class LoopEnds:
    """The C loops over a client that gives pointers."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._loops = open_loops()
        self._end = LoopEnd(client.offer, None, client.poll, None)

    def add_publication(self, channel: str, stream_id: int) -> None:
        self._publication = self._client.add_publication(channel, stream_id)
        self._end.publication = self._publication

    def add_subscription(self, channel: str, stream_id: int) -> None:
        self._subscription = self._client.add_subscription(channel, stream_id)
        self._end.subscription = self._subscription

    def is_connected(self) -> bool:
        return bool(self._client.is_connected(self._publication))

    def publish(self, size: int, count: int) -> int:
        return checked(self._loops.loop_publish(ctypes.byref(self._end), size, count))

    def receive(self, size: int, count: int) -> int:
        self._client.await_image()
        return checked(self._loops.loop_receive(ctypes.byref(self._end), size, count))

    def echo(self, size: int, count: int) -> int:
        self._client.await_image()
        return checked(self._loops.loop_echo(ctypes.byref(self._end), size, count))

    def ping(self, size: int, count: int) -> int:
        self._client.await_image()
        times = (ctypes.c_int64 * count)()
        checked(self._loops.loop_ping(ctypes.byref(self._end), size, count, times))
        return int(statistics.median(times))

    def paced(self, size: int, count: int, interval_ns: int) -> Any:
        self._client.await_image()
        times = (ctypes.c_int64 * count)()
        checked(self._loops.loop_paced(ctypes.byref(self._end), size, count, interval_ns, times))
        return histogram.of_times(times)

    def close(self) -> None:
        self._client.close()


class BatchLoopEnds(LoopEnds):
    """Ours, with many messages an offer; taken one by one."""

    def publish(self, size: int, count: int) -> int:
        return checked(self._loops.ours_publish_batch(self._publication, size, count))


def open_ends(client: str, aeron_dir: str) -> Ends:
    if client == "real_c":
        from real_client import RealClient

        return LoopEnds(RealClient(aeron_dir))
    if client in ("ours_c", "ours_c_batch"):
        from our_client import OurClient

        return (LoopEnds if client == "ours_c" else BatchLoopEnds)(OurClient(aeron_dir))
    if client.startswith("native_"):
        from native_handlers import open_native_ends

        return open_native_ends(client.removeprefix("native_"), aeron_dir)
    return ends.open_ends(client, aeron_dir)


if __name__ == "__main__":
    ends.serve(open_ends)
