"""Things that come and go in one process with driver and client: ``cycles KIND COUNT``, under PYTHONMALLOC=malloc.

Says after each part of the cycles, once all that they made is gone and no log is mapped, what the process holds: ``HELD
bytes= files= counters=``; bytes are what malloc has given out and not got back, of Python's objects too. Ends with
``ERRORS`` and the driver's count of them.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from aeronpy import Aeron, MediaDriver
from aeronpy.errors import RegistrationError

COUNTER_TYPE = 1001
# Of counters that a cycle makes: a stream's positions, or the one counter.
KINDS_OF_CYCLES = {*range(1, 10), COUNTER_TYPE}
DEADLINE_S = 30.0
WARM_UP, PARTS = 300, 4
QUICK = {
    "timer_interval": "5ms",
    "publication_linger_timeout": "5ms",
    "image_liveness_timeout": "10s",
    "counters_free_to_reuse_timeout": "0",
    "client_liveness_timeout": "10s",
    "publication_unblock_timeout": "20s",
}
PORT, PORTS = 24500, 50
RESOURCE_TEMPORARILY_UNAVAILABLE = 10


class Mallinfo2(ctypes.Structure):
    """What glibc tells of all its arenas."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


LIBC = ctypes.CDLL(None)
LIBC.mallinfo2.restype = Mallinfo2


def bytes_given() -> int:
    """Bytes that malloc has given out, in arenas and as mappings of their own."""
    gc.collect()
    LIBC.malloc_trim(0)
    found = LIBC.mallinfo2()
    return int(found.uordblks) + int(found.hblkhd)


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not in time: {what}")
        time.sleep(0.0005)


T = TypeVar("T")


def added(add: Callable[[], T]) -> T:
    """What is added, asked for again while the endpoint of the one before is closing: the driver's answer says so."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            return add()
        except RegistrationError as error:
            if error.error_code != RESOURCE_TEMPORARILY_UNAVAILABLE or time.monotonic() > deadline:
                raise


def stream(aeron: Aeron, channel: str, index: int) -> None:
    """A stream comes, carries a message and goes."""
    got: list[bytes] = []
    with (
        added(lambda: aeron.add_subscription(channel, 7)) as subscription,
        added(lambda: aeron.add_exclusive_publication(channel, 7)) as publication,
    ):
        publication.send(b"%d;" % index * (index % 100), timeout_s=DEADLINE_S)
        until(lambda: subscription.poll(lambda buffer, header: got.append(bytes(buffer)), 10) > 0, "the message")
    if got != [b"%d;" % index * (index % 100)]:
        raise AssertionError(f"cycle {index} brought {got}")


def counter(aeron: Aeron, index: int) -> None:
    """A counter comes, is read by its value and goes."""
    with aeron.add_counter(COUNTER_TYPE, f"cycle {index % 100}") as added:
        added.set(index)
        if aeron.counters_reader.value(added.counter_id) != index:
            raise AssertionError(f"cycle {index}: the counter is {aeron.counters_reader.value(added.counter_id)}")


def udp(aeron: Aeron, index: int) -> None:
    stream(aeron, f"aeron:udp?endpoint=127.0.0.1:{PORT + index % PORTS}|term-length=64k", index)


KINDS: dict[str, Callable[[Aeron, int], None]] = {
    "ipc": lambda aeron, index: stream(aeron, "aeron:ipc?term-length=64k", index),
    "udp": udp,
    "counter": counter,
}


def logs_of(aeron_dir: str) -> int:
    return sum(len(os.listdir(os.path.join(aeron_dir, kind))) for kind in ("publications", "images"))


def mapped_logs() -> int:
    with open("/proc/self/maps") as maps:
        return sum("logbuffer" in each for each in maps)


def main() -> None:
    # Made when somebody first has something to say, which may be between two looks.
    logging.getLogger("aeronpy")
    cycle, count = KINDS[sys.argv[1]], int(sys.argv[2])
    with (
        MediaDriver.launch_embedded(**QUICK) as driver,
        Aeron.connect(aeron_dir=driver.aeron_dir, resource_linger_duration_ns=100_000_000) as aeron,
    ):

        def counters() -> list[int]:
            return sorted(info.counter_id for info in aeron.counters_reader)

        cycle(aeron, 0)
        until(lambda: logs_of(driver.aeron_dir) == 0, "the first logs' end")
        until(lambda: not any(info.type_id in KINDS_OF_CYCLES for info in aeron.counters_reader), "the first's end")
        before = counters()

        def held() -> None:
            until(lambda: logs_of(driver.aeron_dir) == 0, "the logs' end")
            until(lambda: counters() == before, "counters as before")
            until(lambda: mapped_logs() == 0, "no log is mapped")
            files = len(os.listdir("/proc/self/fd"))
            print(f"HELD bytes={bytes_given()} files={files} counters={len(counters())}", flush=True)

        started = time.monotonic()
        for index in range(WARM_UP):
            cycle(aeron, index)
        held()
        for _ in range(PARTS):
            for index in range(count // PARTS):
                cycle(aeron, index)
            held()
        print(f"ERRORS {aeron.counters_reader.value(15)} seconds={time.monotonic() - started:.1f}", flush=True)


if __name__ == "__main__":
    main()
