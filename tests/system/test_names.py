"""How a driver finds hosts: a table, gossip between drivers, and names whose hosts move while streams flow."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from aeronpy import Aeron, ExclusivePublication, Subscription
from aeronpy.driver import MediaDriver, MediaDriverContext
from aeronpy.errors import ArgumentError, RegistrationError
from tests.system.conftest import SHORT
from tests.system.protocol_client import ProtocolClient
from tests.waiting import until

TABLE = "moving,127.0.0.1,127.0.0.2|other,127.0.0.3,127.0.0.3"
NAME_ENTRY, NEIGHBORS, CACHE, BOOTSTRAP = 2001, 15, 16, 21
RESOLVER_MAX, RESOLUTION_CHANGES, INVALID = 32, 25, 14


def free_port(host: str = "127.0.0.1") -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


@contextmanager
def csv_driver() -> Iterator[tuple[MediaDriver, Aeron, ProtocolClient]]:
    settings = SHORT | {
        "client_liveness_timeout": "20s",
        "publication_unblock_timeout": "30s",
        "name_resolver_supplier": "csv_table",
        "name_resolver_csv_lookup_table_args": TABLE,
    }
    with MediaDriver.launch_embedded(**settings) as driver, Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        observer = ProtocolClient(driver.aeron_dir)
        yield driver, aeron, observer
        observer.close()


def row(observer: ProtocolClient, name: str) -> int:
    return next(
        counter_id
        for counter_id, counter in observer.counters().items()
        if counter.type_id == NAME_ENTRY and counter.label.startswith(f"NameEntry{{name='{name}'")
    )


def flows(publication: ExclusivePublication, subscription: Subscription, payload: bytes) -> Callable[[], bool]:
    """A message offered again and again until it comes out at the other end."""
    heard: list[bytes] = []

    def once() -> bool:
        publication.offer(payload)
        subscription.poll(lambda fragment, header: heard.append(bytes(fragment)), 100)
        return payload in heard

    return once


def test_a_table_says_where_a_name_is() -> None:
    with csv_driver() as (_, aeron, observer):
        entry = observer.counter(row(observer, "moving"))
        port = free_port("127.0.0.1")

        assert (
            entry.label == "NameEntry{name='moving', initialResolutionHost='127.0.0.1', reResolutionHost='127.0.0.2'}"
        )
        assert entry.key[:10] == struct.pack("<i", 6) + b"moving"
        subscription = aeron.add_subscription(f"aeron:udp?endpoint=moving:{port}", 7)
        assert subscription.local_socket_addresses == [f"127.0.0.1:{port}"]
        observer.set_counter(row(observer, "other"), -1)
        with pytest.raises(RegistrationError, match="Unable to resolve host=other: unresolved") as refused:
            aeron.add_publication("aeron:udp?endpoint=other:24399", 7)
        assert refused.value.error_code == 9
        assert observer.counter(RESOLVER_MAX).value > 0


@pytest.mark.parametrize("is_destination", [False, True])
def test_a_publication_and_a_destination_follow_their_name_to_another_host(is_destination: bool) -> None:
    with csv_driver() as (_, aeron, observer):
        port = free_port("127.0.0.2")
        channel = f"aeron:udp?endpoint=moving:{port}"
        first = aeron.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{port}", 7)
        publication = aeron.add_exclusive_publication("aeron:udp?control-mode=manual" if is_destination else channel, 7)
        if is_destination:
            publication.add_destination(channel)
        until(flows(publication, first, b"at the first host"))

        observer.set_counter(row(observer, "moving"), 1)
        first.close()
        second = aeron.add_subscription(f"aeron:udp?endpoint=127.0.0.2:{port}", 7)

        until(flows(publication, second, b"at the second host"))
        assert observer.counter(RESOLUTION_CHANGES).value == 1


def test_a_receiver_follows_its_publishers_control_name_to_another_host() -> None:
    with csv_driver() as (_, aeron, observer):
        port, own = free_port("127.0.0.2"), free_port()
        publications = [
            aeron.add_exclusive_publication(f"aeron:udp?control=127.0.0.{host}:{port}|control-mode=dynamic", 7)
            for host in (1, 2)
        ]
        subscription = aeron.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{own}|control=moving:{port}", 7)
        until(flows(publications[0], subscription, b"from the first host"))

        observer.set_counter(row(observer, "moving"), 1)
        publications[0].close()

        until(flows(publications[1], subscription, b"from the second host"))
        assert observer.counter(RESOLUTION_CHANGES).value == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"name_resolver_supplier": "driver"},
        {"name_resolver_supplier": "driver", "resolver_interface": "127.0.0.1:0"},
        {"resolver_interface": "127.0.0.1:0"},
        {"name_resolver_supplier": "nowhere"},
    ],
)
def test_resolvers_that_cannot_be_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(ArgumentError):
        MediaDriverContext(**settings).conclude()


@pytest.mark.parametrize(
    "settings",
    [
        {"name_resolver_supplier": "csv_table", "name_resolver_init_args": "one,two"},
        {"name_resolver_supplier": "no.such.module:supply"},
        {"name_resolver_supplier": "tests.system.slow_names:nothing"},
        {
            "name_resolver_supplier": "driver",
            "resolver_name": "a",
            "resolver_interface": "127.0.0.1:0",
            "resolver_bootstrap_neighbor": ",".join(f"127.0.0.1:{port}" for port in range(1, 22)),
        },
    ],
)
def test_resolvers_that_cannot_start_end_the_launch(settings: dict[str, str]) -> None:
    with pytest.raises(ArgumentError):
        MediaDriver.launch_embedded(**SHORT, **settings)


# --- gossip ---


def gossiping(name: str, bootstrap: str, **more: object) -> MediaDriver:
    return MediaDriver.launch_embedded(
        **SHORT,
        name_resolver_supplier="driver",
        resolver_name=name,
        resolver_interface="127.0.0.1:0",
        resolver_bootstrap_neighbor=bootstrap,
        resolver_neighbor_timeout="1s",
        resolver_self_resolution_interval="100ms",
        resolver_neighbor_resolution_interval="200ms",
        resolver_bootstrap_neighbor_resolution_interval="300ms",
        **more,
    )


def label_of(client: ProtocolClient, type_id: int) -> str:
    found = [counter.label for counter in client.counters().values() if counter.type_id == type_id]
    assert len(found) <= 1
    return found[0] if found else ""


def value_of(client: ProtocolClient, type_id: int) -> int:
    return next(counter.value for counter in client.counters().values() if counter.type_id == type_id)


@pytest.mark.parametrize("mode", ["SHARED", "INVOKER"])
def test_three_drivers_learn_one_anothers_names_and_forget_them(mode: str) -> None:
    with ExitStack() as stack:
        alpha = stack.enter_context(gossiping("alpha", ""))
        client = ProtocolClient(alpha.aeron_dir)
        stack.callback(client.close)
        label = label_of(client, NEIGHBORS)
        assert label.startswith("Resolver neighbors: bound 127.0.0.1:")
        assert label_of(client, CACHE) == "Resolver cache entries: name=alpha"
        bravo = stack.enter_context(gossiping("bravo", label.rpartition(" ")[2]))
        observer = ProtocolClient(bravo.aeron_dir)
        stack.callback(observer.close)
        bound = label_of(observer, NEIGHBORS).rpartition(" ")[2]
        charlie = gossiping("charlie", bound.replace("127.0.0.1", "localhost"), threading_mode=mode)
        witness = ProtocolClient(charlie.aeron_dir)

        def turn() -> None:
            if mode == "INVOKER":
                charlie.do_work()

        def is_whole() -> bool:
            turn()
            return all(value_of(one, CACHE) == value_of(one, NEIGHBORS) == 2 for one in (client, observer, witness))

        until(is_whole)
        assert (
            label_of(witness, BOOTSTRAP)
            == f"Bootstrap neighbor: name=localhost:{bound.rpartition(':')[2]} resolved={bound}"
        )
        port = free_port()
        aeron = stack.enter_context(Aeron.connect(aeron_dir=alpha.aeron_dir))
        aeron.add_publication(f"aeron:udp?endpoint=charlie:{port}", 7)
        aeron.add_publication(f"aeron:udp?endpoint=alpha:{port}", 7)
        with pytest.raises(RegistrationError, match="Unable to resolve host=delta"):
            aeron.add_publication(f"aeron:udp?endpoint=delta:{port}", 7)

        witness.close()
        charlie.close()
        until(lambda: value_of(client, CACHE) == value_of(client, NEIGHBORS) == 1)
        with pytest.raises(RegistrationError, match="Unable to resolve host=charlie"):
            aeron.add_publication(f"aeron:udp?endpoint=charlie:{port}", 8)


def test_garbage_at_the_gossip_port_is_counted_and_never_answered() -> None:
    with gossiping("alpha", "") as driver, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        client = ProtocolClient(driver.aeron_dir)
        host, _, port = label_of(client, NEIGHBORS).rpartition(" ")[2].rpartition(":")
        stranger.bind(("127.0.0.1", 0))
        for garbage in (b"", b"x", bytes(8), bytes(65507), struct.pack("<iBBH", 32, 0, 0, 7) + b"\xff" * 24):
            stranger.sendto(garbage, (host, int(port)))

        until(lambda: client.counter(INVALID).value == 5)
        stranger.setblocking(False)
        with pytest.raises(BlockingIOError):
            stranger.recv(100)
        assert value_of(client, CACHE) == value_of(client, NEIGHBORS) == 0
        client.close()
