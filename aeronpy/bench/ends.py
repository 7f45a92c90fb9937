"""One end of a measured flow, as a process: ``python -m aeronpy.bench.ends CLIENT ROLE DIR CHANNEL SIZE BACK``.

CLIENT is ``ours`` (a Python call for each message), ``ours_batch`` (NumPy batches) or ``pyaeron``. ROLE is
``publish``, ``receive``, ``ping`` or ``pong``. Lines of input and their answers: a number of messages (nanoseconds of
the whole round, or the median of the round trips), ``paced NUMBER INTERVAL_NS`` (a histogram of the round trips, each
timed from when its message was due, so that a stall counts for all that it delays), ``connected``.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

from aeronpy.bench import histogram

DEADLINE_S: Final = 60.0
STREAM_ID, BACK_STREAM_ID = 2001, 2002
POLL_LIMIT: Final = 256
BATCH_MESSAGES: Final = 4096


class Ends(Protocol):
    """What a client must offer to be measured."""

    def add_publication(self, channel: str, stream_id: int) -> None:
        """The one that `publish` and `ping` offer to, and `echo` answers on."""

    def add_subscription(self, channel: str, stream_id: int) -> None:
        """The one that is polled."""

    def is_connected(self) -> bool:
        """Whether the publication has a subscriber."""

    def publish(self, size: int, count: int) -> int:
        """Offer so many messages; nanoseconds."""

    def receive(self, size: int, count: int) -> int:
        """Take so many; nanoseconds from the first to the last."""

    def echo(self, size: int, count: int) -> int:
        """Send so many back as they come; 0."""

    def ping(self, size: int, count: int) -> int:
        """One there and back at a time; the median in nanoseconds."""

    def paced(self, size: int, count: int, interval_ns: int) -> Any:
        """One due every interval_ns; the histogram of how late each was back."""

    def close(self) -> None:
        """End the client."""


class CallbackEnds:
    """A Python call for each message, on any client with ``offer`` and ``poll``."""

    def __init__(self, aeron: Any) -> None:
        self._aeron = aeron

    def add_publication(self, channel: str, stream_id: int) -> None:
        """An exclusive one."""
        self._publication = self._aeron.add_exclusive_publication(channel, stream_id)

    def add_subscription(self, channel: str, stream_id: int) -> None:
        """One without handlers of images."""
        self._subscription = self._aeron.add_subscription(channel, stream_id)

    def is_connected(self) -> bool:
        """Whether the publication has a subscriber."""
        return bool(self._publication.is_connected)

    @staticmethod
    def _is_refused(result: int) -> bool:
        return result < 0

    def publish(self, size: int, count: int) -> int:
        """Offer so many messages; nanoseconds."""
        payload, offer = b"x" * size, self._publication.offer
        start = time.perf_counter_ns()
        for _ in range(count):
            while offer(payload) < 0:
                time.sleep(0)
        return time.perf_counter_ns() - start

    def receive(self, size: int, count: int) -> int:
        """Take so many; nanoseconds from the first to the last."""
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
        """Send so many back as they come; 0."""
        echoed = 0
        offer, is_refused = self._publication.offer, self._is_refused

        def on_ping(buffer: Any, header: object) -> None:
            nonlocal echoed
            while is_refused(offer(buffer)):
                time.sleep(0)
            echoed += 1

        self._poll_until(lambda: echoed >= count, on_ping)
        return 0

    def _poll_until(self, is_done: Callable[[], bool], handler: Callable[[Any, object], None]) -> None:
        poll, deadline, empty = self._subscription.poll, time.monotonic() + DEADLINE_S, 0
        while not is_done():
            if poll(handler, POLL_LIMIT) == 0:
                empty += 1
                if empty & 63 == 0:
                    time.sleep(0)
                    if time.monotonic() > deadline:
                        raise TimeoutError("nothing came")

    def ping(self, size: int, count: int) -> int:
        """One there and back at a time; the median in nanoseconds."""
        payload, offer, is_refused = b"x" * size, self._publication.offer, self._is_refused
        times: list[int] = []
        sent = 0

        def on_pong(buffer: object, header: object) -> None:
            times.append(time.perf_counter_ns() - sent)

        for number in range(count):
            sent = time.perf_counter_ns()
            while is_refused(offer(payload)):
                time.sleep(0)
            self._poll_until(lambda: len(times) > number, on_pong)  # noqa: B023 -- called here only
        return int(statistics.median(times))

    def paced(self, size: int, count: int, interval_ns: int) -> Any:
        """One due every interval_ns; the histogram of how late each was back."""
        payload, offer, is_refused = b"x" * size, self._publication.offer, self._is_refused
        poll, clock = self._subscription.poll, time.perf_counter_ns
        times: list[int] = []
        sent, start = 0, time.perf_counter_ns() + interval_ns

        def on_pong(buffer: object, header: object) -> None:
            times.append(clock() - start - len(times) * interval_ns)

        deadline_ns = start + count * interval_ns + int(DEADLINE_S * 1e9)
        while len(times) < count:
            now = clock()
            if sent < count and now - start >= sent * interval_ns and not is_refused(offer(payload)):
                sent += 1
            if poll(on_pong, POLL_LIMIT) == 0 and now > deadline_ns:
                raise TimeoutError(f"{len(times)} of {count} came back")
        return histogram.of_times(times)

    def close(self) -> None:
        """End the client."""
        self._aeron.close()


class PyaeronEnds(CallbackEnds):
    """pyaeron's offer answers True, or a falsy code."""

    def is_connected(self) -> bool:
        """Wait until it is."""
        self._publication.await_connected(DEADLINE_S)
        return True

    @staticmethod
    def _is_refused(result: int) -> bool:
        return not result

    def publish(self, size: int, count: int) -> int:
        """Offer so many messages; nanoseconds."""
        payload, offer = b"x" * size, self._publication.offer
        start = time.perf_counter_ns()
        for _ in range(count):
            while not offer(payload):
                time.sleep(0)
        return time.perf_counter_ns() - start


class BatchEnds(CallbackEnds):
    """Thousands of messages a call, as NumPy arrays."""

    def publish(self, size: int, count: int) -> int:
        """Offer so many messages; nanoseconds."""
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
        """Take so many, and read all lengths; nanoseconds from the first to the last."""
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
    """The ends of a client by its name."""
    if client == "pyaeron":
        import pyaeron

        return PyaeronEnds(pyaeron.Aeron.connect(dir=aeron_dir))
    from aeronpy import Aeron

    aeron = Aeron.connect(aeron_dir=aeron_dir)
    return BatchEnds(aeron) if client == "ours_batch" else CallbackEnds(aeron)


def serve(opener: Callable[[str, str], Ends]) -> None:
    """Be one end, as the arguments say, until the input ends."""
    client, role, aeron_dir, channel, size_text, back = sys.argv[1:7]
    size, ends = int(size_text), opener(client, aeron_dir)
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
        words = line.split()
        if words == ["connected"]:
            deadline = time.monotonic() + DEADLINE_S
            while not ends.is_connected() and time.monotonic() < deadline:
                time.sleep(0.001)
            print("CONNECTED", flush=True)
        elif words and words[0] == "paced":
            print(histogram.to_text(ends.paced(size, int(words[1]), int(words[2]))), flush=True)
        else:
            print(rounds[role](size, int(line)), flush=True)
    ends.close()


if __name__ == "__main__":
    serve(open_ends)
