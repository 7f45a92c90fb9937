"""Ten thousand streams that come, carry a message and go: driver and client hold afterwards what they held before."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from aeronpy import Aeron
from tests.interop.lines import Process
from tests.interop.stage import IPC, Driver, Stage

DEADLINE_S = 30.0
# An allocator settles within the first.
WARM_UP, CYCLES = 2_000, 10_000
# What an allocator may keep for itself; a leak of a hundred bytes for each cycle is more.
GROWTH_MAX_KIB = 900
# The driver's rings between its threads, which are made at the start and touched page by page until they go round.
RINGS_KIB = 5 * 1024
QUICK = {
    "AERON_TIMER_INTERVAL": "5ms",
    "AERON_PUBLICATION_LINGER_TIMEOUT": "5ms",
    "AERON_COUNTERS_FREE_TO_REUSE_TIMEOUT": "0",
    "AERON_CLIENT_LIVENESS_TIMEOUT": "10s",
    "AERON_PUBLICATION_UNBLOCK_TIMEOUT": "20s",
}


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.001)


def held(driver: Driver, aeron: Aeron) -> tuple[int, int, list[str], list[int]]:
    """Descriptors of the driver and of this process, files of logs, and counters."""
    assert isinstance(driver.program, Process)
    logs = [name for kind in ("publications", "images") for name in os.listdir(driver.aeron_dir / kind)]
    counters = sorted(info.counter_id for info in aeron.counters_reader)
    pid = driver.program.process.pid
    return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir("/proc/self/fd")), logs, counters


def resident_kib(pid: int | str) -> int:
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


def cycle(aeron: Aeron, index: int) -> None:
    """A stream comes, carries a message and goes."""
    got: list[bytes] = []
    with aeron.add_subscription(IPC, 7) as subscription, aeron.add_exclusive_publication(IPC, 7) as publication:
        publication.send(b"%d;" % index * (index % 100), timeout_s=DEADLINE_S)
        until(lambda: subscription.poll(lambda buffer, header: got.append(bytes(buffer)), 10) > 0, "the message")
    assert got == [b"%d;" % index * (index % 100)]


@pytest.mark.timeout(150)
def test_ten_thousand_streams_that_come_and_go_leave_nothing(stage: Stage) -> None:
    driver = stage.driver("ours", settings=QUICK)
    assert isinstance(driver.program, Process)
    pid = driver.program.process.pid
    with Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
        cycle(aeron, 0)
        until(lambda: held(driver, aeron)[2] == [], "the first log is gone")
        before = held(driver, aeron)
        for index in range(WARM_UP):
            cycle(aeron, index)
        until(lambda: held(driver, aeron) == before, "all is as before, early")
        resident = {each: resident_kib(each) for each in (pid, "self")}
        for index in range(CYCLES):
            cycle(aeron, index)
        until(lambda: held(driver, aeron) == before, "all is as before, late")
        assert resident_kib("self") - resident["self"] < GROWTH_MAX_KIB
        assert resident_kib(pid) - resident[pid] < RINGS_KIB + GROWTH_MAX_KIB
        assert aeron.counters_reader.value(15) == 0  # errors
