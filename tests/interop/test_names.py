"""Names between our driver and real ones: gossip of three drivers, and tables whose hosts move under a stream."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from aeronpy import Aeron
from aeronpy._core.native import CncFile
from tests.interop import ends, flows
from tests.interop.house import Ends, House
from tests.interop.matrix import cell, every
from tests.interop.rows import Cell
from tests.interop.stage import TERM_LENGTH, Driver, Make, Stage, free_port
from tests.system.protocol_client import ProtocolClient

NEIGHBORS, CACHE, BOOTSTRAP = 15, 16, 21
NAME_ENTRY, RESOLUTION_CHANGES = 2001, 25
TABLE = "moving,127.0.0.1,127.0.0.2"
LEARN_S = 20.0
# The default resolver interval of 1 s and 2 s, shortened for the same reason as the stage's time-outs.
GOSSIP = {
    "AERON_DRIVER_RESOLVER_SELF_RESOLUTION_INTERVAL": "200ms",
    "AERON_DRIVER_RESOLVER_NEIGHBOR_RESOLUTION_INTERVAL": "300ms",
    "AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR_RESOLUTION_INTERVAL": "500ms",
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


def gossiping(stage: Stage, make: Make, name: str, port: int, bootstrap: int | None, *, timeout: str = "10s") -> Driver:
    settings = GOSSIP | {"AERON_DRIVER_RESOLVER_NAME": name, "AERON_DRIVER_RESOLVER_INTERFACE": f"127.0.0.1:{port}"}
    settings["AERON_DRIVER_RESOLVER_NEIGHBOR_TIMEOUT"] = timeout
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
        gossiping(stage, make, f"name-{make}", port, bootstrap, timeout="3s")
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
    ("peer", "sends"),
    [
        pytest.param(
            peer,
            sends,
            marks=[
                cell(row, "client", peer, "out" if sends == "ours" else "in")
                for row in ("names.gossip", "names.bootstrap")
            ],
        )
        for peer in ("c", "java")
        for sends in ("ours", "theirs")
    ],
)
def test_our_client_uses_a_name_that_its_driver_learned_from_its_bootstrap_neighbor(
    stage: Stage, peer: Make, sends: str
) -> None:
    first, second = free_port(), free_port()
    far = gossiping(stage, peer, "gossip-far", first, None)
    near = gossiping(stage, peer, "gossip-near", second, first)
    until(lambda: knows(far, 1) and knows(near, 1), "the drivers know each other")
    with Aeron.connect(aeron_dir=near.aeron_dir) as aeron:
        (bootstrap,) = [each.label for each in aeron.counters_reader if each.type_id == BOOTSTRAP]
    assert bootstrap == f"Bootstrap neighbor: name=localhost:{first} resolved=127.0.0.1:{first}"

    name = "gossip-far" if sends == "ours" else "gossip-near"
    channel = f"aeron:udp?endpoint={name}:{free_port()}|term-length={TERM_LENGTH}"
    mine, other = flows.End("ours", near, channel), flows.End(peer, far, channel)
    flows.whole_flow(stage, *((mine, other) if sends == "ours" else (other, mine)))


# --- tables ---


def tabled(house: House, cell: Cell) -> Ends:
    """The driver under test knows ``moving``, which is at 127.0.0.1 until its counter says 127.0.0.2."""
    return house.ends(
        cell,
        AERON_NAME_RESOLVER_SUPPLIER="csv_table",
        AERON_NAME_RESOLVER_INIT_ARGS=TABLE,
        AERON_NAME_RESOLVER_CSV_LOOKUP_TABLE_ARGS=TABLE,
    )


def move(driver: Driver, to: int) -> None:
    """Let the table's row say the first host (0) or the second (1)."""
    with CncFile(str(driver.aeron_dir)) as cnc:
        row = next(one.counter_id for one in cnc.counters if one.type_id == NAME_ENTRY)
    observer = ProtocolClient(str(driver.aeron_dir))
    observer.set_counter(row, to)
    observer.close()


def to_host(number: int, port: int) -> str:
    return f"aeron:udp?endpoint=127.0.0.{number}:{port}|term-length={TERM_LENGTH}"


def follows(publication: ends.Publication, second: ends.Subscription) -> bool:
    """What is sent comes to the second host, once the name was looked up again."""
    deadline = time.monotonic() + LEARN_S
    while time.monotonic() < deadline:
        publication.offer(b"moved")
        if second.receive(1, 0.2):
            return True
    return False


@every("names.csv_table", where=lambda each: each.ours == "client" or each.direction == "out")
def test_a_publication_goes_where_a_table_says(house: House, cell: Cell) -> None:
    pair, port = tabled(house, cell), free_port()
    move(pair.source.driver, 0)
    subscription = pair.target.subscription(to_host(1, port))
    publication = pair.source.publication(to_host(1, port).replace("127.0.0.1", "moving"), exclusive=True)
    ends.connected(publication)

    ends.cross(publication, subscription, ends.payloads(9))


@every("names.csv_table", where=lambda each: each.ours == "driver" and each.direction == "in")
def test_a_subscription_listens_where_a_table_says(house: House, cell: Cell) -> None:
    pair, port = tabled(house, cell), free_port()
    move(pair.target.driver, 0)
    subscription = pair.target.subscription(to_host(1, port).replace("127.0.0.1", "moving"))
    publication = pair.source.publication(to_host(1, port), exclusive=True)
    ends.connected(publication)

    ends.cross(publication, subscription, ends.payloads(9))


@every("names.re_resolution", where=lambda each: each.ours == "driver" and each.direction == "in")
def test_a_receiver_follows_the_name_of_its_publisher(house: House, cell: Cell) -> None:
    pair, port = tabled(house, cell), free_port()
    move(pair.target.driver, 0)
    controls = [f"aeron:udp?control=127.0.0.{host}:{port}|control-mode=dynamic" for host in (1, 2)]
    first, second = (pair.source.publication(f"{one}|term-length={TERM_LENGTH}", exclusive=True) for one in controls)
    subscription = pair.target.subscription(f"aeron:udp?endpoint=127.0.0.1:{free_port()}|control=moving:{port}")
    ends.connected(first)
    ends.cross(first, subscription, ends.payloads(9))

    move(pair.target.driver, 1)
    first.close()
    pair.source.made.remove(first)

    assert follows(second, subscription)
    assert pair.target.counter(RESOLUTION_CHANGES) >= 1
