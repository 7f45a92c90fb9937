"""Our client's settings, threads, processes and the end of its driver, on real drivers; and real clients on ours."""

from __future__ import annotations

import struct
import threading

import pytest

from tests.interop import ends, flows, ours
from tests.interop.house import TIMEOUT_MS, House, ipc, udp
from tests.interop.matrix import cell as shows
from tests.interop.matrix import every
from tests.interop.rows import DIRECTIONS, PEERS, Cell
from tests.interop.stage import IPC, Make, Stage

MESSAGES = ends.payloads(60)


@every("client.setup.options")
def test_context_options(house: House, cell: Cell) -> None:
    pair = house.ends(cell)
    driver = pair.source.driver
    client = ours.OurClient(
        driver.aeron_dir,
        TIMEOUT_MS,
        "with options",
        keepalive_interval_ns=100_000_000,
        idle_sleep_duration_ns=1_000_000,
        resource_linger_duration_ns=200_000_000,
        close_linger_duration_ns=1_000_000,
        pre_touch_mapped_memory=True,
    )
    with client.real:
        theirs = pair.target if cell.direction == "out" else pair.source
        channel, stream = udp(), theirs.stream_id
        if cell.direction == "out":
            subscription: ends.Subscription = theirs.subscription(channel)
            publication: ends.Publication = client.publication(channel, stream)
        else:
            subscription, publication = client.subscription(channel, stream), theirs.publication(channel)
        ends.cross(publication, subscription, MESSAGES)
        ends.until(lambda: any("name=with options" in str(each[3]) for each in theirs.client.counters()), "our name")
        heartbeats = {each[4] for each in theirs.client.counters() if f"id={client.client_id} " in str(each[3])}
        ends.until(
            lambda: heartbeats.isdisjoint(
                each[4] for each in theirs.client.counters() if f"id={client.client_id} " in str(each[3])
            ),
            "the next heartbeat",
        )


@every("client.setup.invoker")
def test_a_client_without_a_thread(house: House, cell: Cell) -> None:
    pair = house.ends(cell)
    theirs = pair.target if cell.direction == "out" else pair.source
    client = ours.OurClient(theirs.driver.aeron_dir, TIMEOUT_MS, "invoked", use_conductor_agent_invoker=True)
    assert not [each for each in threading.enumerate() if "invoked" in each.name]
    with client.real:
        channel, stream = udp(), theirs.stream_id
        if cell.direction == "out":
            subscription: ends.Subscription = theirs.subscription(channel)
            publication: ends.Publication = client.publication(channel, stream, exclusive=True)
            ends.connected(publication)
        else:
            subscription, publication = client.subscription(channel, stream), theirs.publication(channel)
            ends.until(lambda: client.real.invoke() >= 0 and subscription.look()["images"], "the image")
        ends.cross(publication, subscription, MESSAGES)
        client.real.invoke()


@every("client.setup.threads")
def test_several_threads_of_one_client(house: House, cell: Cell) -> None:
    """Ours sends from four threads over one publication, or receives with four subscriptions."""
    pair, channel = house.ends(cell, local=True), ipc()
    sent = {bytes([number, index]) for number in range(4) for index in range(50)}
    if cell.direction == "out":
        subscription, publication = pair.target.subscription(channel), pair.source.publication(channel)
        ends.connected(publication)
        workers = [
            threading.Thread(
                target=lambda number=number: publication.send(*(bytes([number, index]) for index in range(50)))
            )
            for number in range(4)
        ]
        for worker in workers:
            worker.start()
        got = {each.payload for each in subscription.receive(200)}
    else:
        subscriptions = [pair.target.subscription(channel) for _ in range(4)]
        publication = pair.source.publication(channel)
        for each in subscriptions:
            ends.image_of(each)
        found: list[set[bytes]] = []
        workers = [
            threading.Thread(target=lambda each=each: found.append({got.payload for got in each.receive(200)}))
            for each in subscriptions
        ]
        for worker in workers:
            worker.start()
        publication.send(*sorted(sent))
        got = sent
    for worker in workers:
        worker.join(30)
    assert got == sent
    assert cell.direction == "out" or found == [sent] * 4


PROCESSES = [
    pytest.param(Cell(whose, peer, direction), marks=shows("client.setup.processes", whose, peer, direction),
                 id=f"{whose}-{peer}-{direction}")
    for whose in ("client", "driver") for peer in PEERS for direction in DIRECTIONS
]  # fmt: skip


@pytest.mark.parametrize("cell", PROCESSES)
def test_clients_in_several_processes(house: House, cell: Cell) -> None:
    """Two programs of ours and one of the peer's at once, each a process, and this one."""
    make: Make = cell.peer if cell.ours == "client" else "ours"
    driver, stage = house.driver(make), house.stage
    source, target = ("ours", cell.peer) if cell.direction == "out" else (cell.peer, "ours")
    channel, stream = ipc(), 5000 + house.side("ours", driver).stream_id
    readers = [
        stage.lone_program(each, "subscribe", driver, channel, until=100, stream=stream) for each in (target, "ours")
    ]
    for each in readers:
        each.expect("READY")
    writer = stage.lone_program(source, "publish", driver, channel, count=100, stream=stream, hold=0)
    session = writer.expect("READY")["session"]
    for each in readers:
        each.expect("IMAGE", session=session)
    writer.tell("go")
    for each in readers:
        flows.same(each.expect("DONE", session=session), 0, 100)
    for each in (*readers, writer):
        each.close()


@every("client.driver.upgraded", where=lambda each: each.ours == "driver")
def test_a_driver_of_ours_of_another_version_is_told_apart(stage: Stage, house: House, cell: Cell) -> None:
    driver = stage.driver("ours", "upgraded")
    cnc = driver.aeron_dir / "cnc.dat"
    (version,) = struct.unpack("<i", cnc.read_bytes()[:4])
    with cnc.open("r+b") as file:
        file.write(struct.pack("<i", version + (1 << 16)))
    with pytest.raises(ends.Refused, match="(?i)version"):
        ends.ToldClient(house.agent(cell.peer), str(driver.aeron_dir), 2000)
    with cnc.open("r+b") as file:
        file.write(struct.pack("<i", version))
    client = ends.ToldClient(house.agent(cell.peer), str(driver.aeron_dir), 2000)
    client.publication(IPC)
    client.close()
