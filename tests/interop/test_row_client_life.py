"""Our driver below the peers' clients: several of them at once, what it refuses, and what they are told of its end."""

from __future__ import annotations

import shutil
from functools import partial

import pytest

from aeronpy.errors import ArgumentError
from tests.interop import ends
from tests.interop.house import House, ipc, udp
from tests.interop.matrix import every, on_peers
from tests.interop.rows import Cell
from tests.interop.stage import Driver, Make, Stage

DRIVER_TIMEOUT_MS = 3000
DEADLINE_S = 30.0


on = partial(on_peers, "driver")


def stream_flows(source: ends.Client, target: ends.Client, channel: str, stream_id: int) -> None:
    """What one client sends, the other receives."""
    subscription = target.subscription(channel, stream_id)
    publication = source.publication(channel, stream_id)
    ends.connected(publication)
    ends.cross(publication, subscription, ends.payloads(20))
    publication.close()
    subscription.close()


@on("client.setup.threads", "client.setup.processes")
def test_clients_of_three_makes_share_our_driver(house: House, peer: Make) -> None:
    """Each of ours and the peer's has a thread of its own, and the peer's a process too."""
    driver = house.driver("ours")
    clients = [house.client_on(make, driver, f"{make}-{number}") for make in ("ours", peer) for number in range(3)]
    assert len({client.client_id for client in clients}) == len(clients)
    for number, source in enumerate(clients):
        stream_flows(source, clients[(number + 3) % len(clients)], ipc(), 2000 + number)
    stream_flows(clients[0], clients[3], udp(), 2010)
    stream_flows(clients[3], clients[0], udp(), 2011)
    # One that leaves takes its own things away, and nobody else's.
    kept = clients[0].publication(ipc(), 2012)
    shared = clients[3].publication(ipc(), 2012)
    assert shared.look()["session_id"] == kept.look()["session_id"]
    clients[3].close()
    subscription = clients[4].subscription(ipc(), 2012)
    ends.connected(kept)
    ends.cross(kept, subscription, [b"still there"])
    for client in (*clients[:3], *clients[4:]):
        client.close()


# What is asked of our driver, and the code and the words in which peers' clients hear its refusal.
REFUSALS = [
    ("aeron:ipc?term-length=1k", 11, "term-length"),
    ("aeron:ipc?mtu=100", 11, "mtu"),
    ("aeron:ipc?term-id=4", 11, "term-id"),
    ("aeron:ipc?session-id=none", 11, "session-id"),
    ("aeron:udp?endpoint=no.such.host.invalid:4000", 9, "host"),
    ("aeron:udp?alias=only", 1, "endpoint"),
]


@on("conductor.errors")
def test_peers_hear_our_refusals_with_their_code_and_text(house: House, peer: Make) -> None:
    client = house.side(peer, house.driver("ours")).client
    for channel, code, words in REFUSALS:
        with pytest.raises(ends.Refused) as refused:
            client.publication(channel, 2020)
        text = str(refused.value)
        assert words in text
        # The C client negates the code and the Java one names it; both keep the driver's own words.
        assert f"-{code}" in text or f"errorCodeValue={code}" in text, text
    session = f"session-id={77 if peer == 'c' else 78}"
    kept = client.publication(ipc(session), 2021, exclusive=True)
    with pytest.raises(ends.Refused, match=session[-2:]):
        client.publication(ipc(session), 2021, exclusive=True)
    kept.close()


@every("conductor.limits")
def test_the_longest_key_label_and_channel_reach_the_other_client_whole(house: House, cell: Cell) -> None:
    pair = house.ends(cell, local=True)
    key, label = bytes(range(112)), "l" * 380

    def made(text: str, given: bytes) -> None:
        """The other client reads as much of a counter as there is room for."""
        counter = pair.source.client.counter(5001, text, given)
        number = counter.look()["counter_id"]
        found = next(each for each in pair.target.client.counters() if each[0] == number)
        assert (bytes.fromhex(str(found[2])), found[3]) == (key, label)
        counter.close()

    made(label, key)
    for too_long in ((label + "l", key), (label, key + b"k")):
        if pair.source.make == "c":
            made(*too_long)  # the C client leaves it to the driver, which cuts it
        else:
            with pytest.raises((ends.Refused, ArgumentError)):
                made(*too_long)

    name = f"n{pair.source.stream_id}"
    channel = ipc(f"alias={name.ljust(3000, 'a')}")
    publication, subscription = pair.source.publication(channel), pair.target.subscription(channel)
    ends.connected(publication)
    ends.cross(publication, subscription, ends.payloads(3))


def connect(stage: Stage, peer: Make, driver: Driver, name: str) -> ends.Client:
    return ends.ToldClient(stage.agent(peer), str(driver.aeron_dir), DRIVER_TIMEOUT_MS, name)


def heard(client: ends.Client) -> str:
    """What a client says of its driver's end."""
    return str(ends.until(lambda: [each for each in client.events() if each[0] == "error"], "an error", DEADLINE_S))


@on("client.driver.dies", "client.driver.restarts")
def test_peers_are_told_that_our_driver_died_and_go_on_with_its_successor(stage: Stage, peer: Make) -> None:
    driver = stage.driver("ours")
    client = connect(stage, peer, driver, "before")
    publication = client.publication(ipc(), 1)
    driver.kill()
    assert " keepalive: age=" in heard(client)
    ends.until(lambda: publication.look()["is_closed"], "the publication's end")

    again = stage.driver("ours")  # in the same directory, which the dead one left behind
    assert again.aeron_dir == driver.aeron_dir
    client = connect(stage, peer, again, "after")
    stream_flows(client, client, ipc(), 1)

    again.close()
    assert "shutdown" in heard(client)


@on("client.driver.upgraded")
def test_our_driver_takes_the_place_of_a_peers(stage: Stage, peer: Make) -> None:
    before = stage.driver(peer, alone=True, settings={"AERON_DIR_DELETE_ON_START": "true"})
    client = connect(stage, peer, before, "before")
    publication = client.publication(ipc(), 1)
    old = next(label for _, _, _, label, _ in client.counters() if "version=" in str(label))
    before.kill()
    assert " keepalive: age=" in heard(client)
    ends.until(lambda: publication.look()["is_closed"], "the publication's end")

    shutil.rmtree(before.aeron_dir)
    after = stage.driver("ours")
    client = connect(stage, peer, after, "after")
    new = next(label for _, _, _, label, _ in client.counters() if "version=" in str(label))
    assert new != old
    assert "commit=aeronpy" in str(new)
    stream_flows(client, client, ipc(), 1)
