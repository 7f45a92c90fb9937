"""Names between our driver and real ones: gossip of three drivers, and tables whose hosts move under a stream."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from aeronpy._core.native import CncFile
from tests.interop import flows
from tests.interop.matrix import cell
from tests.interop.stage import TERM_LENGTH, Driver, Make, Stage, free_port

NEIGHBORS, CACHE, BOOTSTRAP = 15, 16, 21
LEARN_S = 20.0
# The default resolver interval of 1 s and 2 s, shortened for the same reason as the stage's time-outs.
GOSSIP = {
    "AERON_DRIVER_RESOLVER_SELF_RESOLUTION_INTERVAL": "200ms",
    "AERON_DRIVER_RESOLVER_NEIGHBOR_RESOLUTION_INTERVAL": "300ms",
    "AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR_RESOLUTION_INTERVAL": "500ms",
    "AERON_DRIVER_RESOLVER_NEIGHBOR_TIMEOUT": "3s",
}


def counters(driver: Driver, type_id: int) -> list[tuple[str, int]]:
    """Labels and values of a type."""
    with CncFile(str(driver.aeron_dir)) as cnc:
        return [(one.label, cnc.counters.value(one.counter_id)) for one in cnc.counters if one.type_id == type_id]


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LEARN_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def gossiping(stage: Stage, make: Make, name: str, port: int, bootstrap: int | None) -> Driver:
    settings = GOSSIP | {"AERON_DRIVER_RESOLVER_NAME": name, "AERON_DRIVER_RESOLVER_INTERFACE": f"127.0.0.1:{port}"}
    if bootstrap is not None:
        settings["AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR"] = f"localhost:{bootstrap}"
    if make != "java":
        settings["AERON_NAME_RESOLVER_SUPPLIER"] = "driver"
    return stage.driver(make, name, settings=settings)


def knows(driver: Driver, count: int) -> bool:
    return [value for kind in (CACHE, NEIGHBORS) for _, value in counters(driver, kind)] == [count, count]


@pytest.mark.parametrize(
    "chain",
    [
        pytest.param(("ours", "c", "java"), marks=cell("names.bootstrap", "driver", "c", "in")),
        pytest.param(("java", "c", "ours"), marks=cell("names.bootstrap", "driver", "c", "out")),
        pytest.param(("c", "ours", "java"), marks=cell("names.bootstrap", "driver", "java", "in")),
        pytest.param(("c", "java", "ours"), marks=cell("names.bootstrap", "driver", "java", "out")),
    ],
    ids="-".join,
)
def test_drivers_learn_one_anothers_names_through_a_third_and_forget_the_dead(
    stage: Stage, chain: tuple[Make, Make, Make]
) -> None:
    ports = [free_port() for _ in chain]
    drivers = [
        gossiping(stage, make, f"name-{make}", port, bootstrap)
        for make, port, bootstrap in zip(chain, ports, [None, *ports], strict=False)
    ]
    ours = drivers[chain.index("ours")]

    until(lambda: all(knows(driver, 2) for driver in drivers), "each driver knows the two others")
    assert counters(ours, CACHE)[0][0] == "Resolver cache entries: name=name-ours"
    assert counters(ours, NEIGHBORS)[0][0] == f"Resolver neighbors: bound 127.0.0.1:{ports[chain.index('ours')]}"
    if chain[0] != "ours":
        written = f"localhost:{ports[chain.index('ours') - 1]}"
        resolved = written.replace("localhost", "127.0.0.1")
        assert counters(ours, BOOTSTRAP)[0][0] == f"Bootstrap neighbor: name={written} resolved={resolved}"

    drivers[2].kill()
    until(lambda: all(knows(driver, 1) for driver in drivers[:2]), "the name of a dead driver is forgotten")


@pytest.mark.parametrize(
    ("theirs", "sends"),
    [
        pytest.param(peer, sends, marks=cell("names.gossip", "driver", peer, "out" if sends == "ours" else "in"))
        for peer in ("c", "java")
        for sends in ("ours", "theirs")
    ],
)
def test_a_stream_goes_to_a_name_that_only_gossip_knows(stage: Stage, theirs: Make, sends: str) -> None:
    first, second = free_port(), free_port()
    ours = gossiping(stage, "ours", "gossip-ours", first, None)
    other = gossiping(stage, theirs, "gossip-theirs", second, first)
    until(lambda: knows(ours, 1) and knows(other, 1), "the drivers know each other")
    source, target = (ours, other) if sends == "ours" else (other, ours)
    name = "gossip-theirs" if sends == "ours" else "gossip-ours"
    # The receiver finds its own name, too.
    channel = f"aeron:udp?endpoint={name}:{free_port()}|term-length={TERM_LENGTH}"

    flows.whole_flow(stage, flows.End(source.make, source, channel), flows.End(target.make, target, channel))


@pytest.mark.parametrize(
    ("theirs", "sends"),
    [
        pytest.param(peer, sends, marks=cell("names.dns", "driver", peer, "out" if sends == "ours" else "in"))
        for peer in ("c", "java")
        for sends in ("ours", "theirs")
    ],
)
def test_a_stream_goes_to_a_name_that_the_system_knows(stage: Stage, theirs: Make, sends: str) -> None:
    ours, other = stage.driver("ours", "ours", settings={}), stage.driver(theirs, "theirs")
    source, target = (ours, other) if sends == "ours" else (other, ours)
    channel = f"aeron:udp?endpoint=localhost:{free_port()}|term-length={TERM_LENGTH}"

    flows.whole_flow(stage, flows.End(source.make, source, channel), flows.End(target.make, target, channel))
