"""Drivers in every threading mode, with idle strategies and CPUs that are named."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.interop import ends
from tests.interop.house import Ends, House, ipc, udp
from tests.interop.lines import Process
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import Driver

MESSAGES = ends.payloads(120)
STRATEGIES = {
    "noop": {"AERON_SHARED_IDLE_STRATEGY": "noop"},
    "spin": {"AERON_SHARED_IDLE_STRATEGY": "spin"},
    "yield": {"AERON_SHARED_IDLE_STRATEGY": "yield"},
    "sleep": {"AERON_SHARED_IDLE_STRATEGY": "sleep-ns", "AERON_SHARED_IDLE_STRATEGY_INIT_ARGS": "50us"},
    "backoff": {
        "AERON_SHARED_IDLE_STRATEGY": "backoff",
        "AERON_SHARED_IDLE_STRATEGY_INIT_ARGS": "5-7-1us-200us",
    },
}


def both_media(pair: Ends, local: Ends) -> None:
    """A stream over the wire and one inside the driver."""
    for each, channel in ((pair, udp()), (local, ipc())):
        subscription, publication = each.target.subscription(channel), each.source.publication(channel)
        ends.cross(publication, subscription, MESSAGES)


@every("threading.dedicated")
def test_dedicated(house: House, cell: Cell) -> None:
    both_media(house.ends(cell, "DEDICATED"), house.ends(cell, "DEDICATED", local=True))


@every("threading.shared_network")
def test_shared_network(house: House, cell: Cell) -> None:
    both_media(house.ends(cell, "SHARED_NETWORK"), house.ends(cell, "SHARED_NETWORK", local=True))


@every("threading.shared")
def test_shared(house: House, cell: Cell) -> None:
    both_media(house.ends(cell, "SHARED"), house.ends(cell, "SHARED", local=True))


@every("threading.invoker")
def test_invoker(house: House, cell: Cell) -> None:
    both_media(house.ends(cell, "INVOKER"), house.ends(cell, "INVOKER", local=True))


@pytest.mark.parametrize("strategy", STRATEGIES)
@every("threading.idle_strategies")
def test_idle_strategies(house: House, cell: Cell, strategy: str) -> None:
    settings = STRATEGIES[strategy]
    both_media(house.ends(cell, **settings), house.ends(cell, local=True, **settings))


def cpus_of_threads(driver: Driver) -> dict[str, str]:
    """The CPUs that each thread of a driver's process may run on, by its name."""
    assert isinstance(driver.program, Process)
    found = {}
    for task in Path(f"/proc/{driver.program.process.pid}/task").iterdir():
        lines = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
        found[lines["Name"]] = lines["Cpus_allowed_list"]
    return found


@every("threading.affinity")
def test_threads_stay_on_their_cpus(house: House, cell: Cell) -> None:
    settings = {
        "AERON_CONDUCTOR_CPU_AFFINITY": "0",
        "AERON_SENDER_CPU_AFFINITY": "1",
        "AERON_RECEIVER_CPU_AFFINITY": "0",
    }
    pair = house.ends(cell, "DEDICATED", **settings)
    subscription, publication = pair.target.subscription(channel := udp()), pair.source.publication(channel)
    ends.cross(publication, subscription, MESSAGES)

    cpus = cpus_of_threads(house.driver("ours", "DEDICATED", **settings))
    names = {each for name in cpus for each in ("conductor", "sender", "receiver") if each in name}
    assert names == {"conductor", "sender", "receiver"}
    assert {cpus[name] for name in cpus if "conductor" in name or "receiver" in name} == {"0"}
    assert {cpus[name] for name in cpus if "sender" in name} == {"1"}


STALL_MS = 2500


@every("threading.no_waiting", "threading.window_updates")
def test_streams_go_on_while_the_conductor_stands_still(house: House, cell: Cell) -> None:
    """The whole interpreter of our driver is held: its decisions wait, its streams and their windows do not."""
    aeron_dir = house.stage.base / f"stalled-{cell}"
    module = "tests.system.programs.stalled_driver"
    settings = (
        f"aeron_dir={aeron_dir}",
        "threading_mode=DEDICATED",
        "timer_interval=50ms",
        "image_liveness_timeout=1s",
    )
    process = house.stage.process("stalled driver", [sys.executable, "-m", module, *settings])
    process.expect("READY")
    side, far = house.side("ours", Driver("ours", aeron_dir, process, process.kill)), house.side(cell.peer)
    source, target = (side, far) if cell.direction == "out" else (far, side)
    subscription, publication = target.subscription(channel := udp()), source.publication(channel, exclusive=True)
    ends.cross(publication, subscription, MESSAGES)

    def all_within_one_stall() -> bool:
        process.tell(str(STALL_MS))
        process.expect("STALLED")
        began = time.monotonic()
        # Many windows, of which none would open if it took a decision.
        ends.cross(publication, subscription, ends.payloads(200, sizes=(1000,)))
        took = time.monotonic() - began
        process.expect("AWAKE")
        return took < STALL_MS / 1000 - 0.2

    ends.until(all_within_one_stall, "a stream that flows through a stall", timeout_s=12)
    assert len(target.events("image gone", publication.look()["session_id"])) == 0
    for each in (side, far):
        each.close()
    side.client.close()
    process.close()
