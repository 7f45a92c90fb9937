"""Our client's calls, handlers and statuses on the real C and Java drivers."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from aeronpy import Aeron, ChannelStatus, Image, OfferResult
from aeronpy.client.protocol import MAX_REASON_LENGTH
from aeronpy.errors import RegistrationError
from tests.interop import peers
from tests.interop.lines import JavaHost
from tests.interop.matrix import on_peers
from tests.interop.stage import IPC, TERM_LENGTH, Stage, free_port, udp
from tests.waiting import until

DEADLINE_S = 20.0
Connect = Callable[..., Aeron]


on = partial(on_peers, "client")


@pytest.fixture(scope="module")
def module_stage(java_host: Callable[[], JavaHost]) -> Iterator[Stage]:
    stage = Stage(java_host)
    yield stage
    stage.close()


@pytest.fixture(scope="module")
def aeron_dirs(module_stage: Stage) -> Callable[[str], str]:
    """The directory of a peer's driver, started at first use and shared by the module."""
    found: dict[str, str] = {}

    def get(peer: str) -> str:
        if peer not in found:
            assert peer in ("c", "java")
            found[peer] = str(module_stage.driver(peer, peer).aeron_dir)  # type: ignore[arg-type]
        return found[peer]

    return get


@pytest.fixture
def connect(aeron_dirs: Callable[[str], str], peer: str) -> Iterator[Connect]:
    """Connects clients of one test to the peer's driver."""
    clients: list[Aeron] = []

    def make(**settings: object) -> Aeron:
        clients.append(Aeron.connect(aeron_dir=aeron_dirs(peer), **settings))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def errors() -> list[Exception]:
    return []


@pytest.fixture
def aeron(connect: Connect, errors: list[Exception]) -> Aeron:
    return connect(error_handler=errors.append)


# --- adds ---


@on("client.setup.async")
def test_every_kind_is_added_without_waiting_and_works(aeron: Aeron, peer: str) -> None:
    names = [
        aeron.async_add_subscription(IPC, 1),
        aeron.async_add_publication(IPC, 1),
        aeron.async_add_exclusive_publication(IPC, 1),
        aeron.async_add_counter(1001, "own", b"key"),
    ]
    assert aeron.has_active_commands
    until(lambda: not aeron.has_active_commands)
    subscription, publication = aeron.get_subscription(names[0]), aeron.get_publication(names[1])
    exclusive, counter = aeron.get_exclusive_publication(names[2]), aeron.get_counter(names[3])
    assert subscription is not None
    assert publication is not None
    assert exclusive is not None
    assert counter is not None
    publication.send(b"shared")
    exclusive.send(b"exclusive")
    received = {message.payload for message in subscription.messages(limit=2)}
    assert received == {b"shared", b"exclusive"}
    info = aeron.counters_reader.info(counter.counter_id)
    assert info is not None
    assert (info.label, info.key[:4], info.registration_id) == ("own", b"key\0", names[3])


@on("client.setup.async")
def test_an_add_that_is_cancelled_leaves_nothing_at_the_driver(
    aeron: Aeron, errors: list[Exception], peer: str
) -> None:
    for _ in range(5):
        aeron.async_remove_publication(aeron.async_add_exclusive_publication(f"{IPC}|alias=cancelled", 2))
        aeron.async_remove_subscription(aeron.async_add_subscription(f"{IPC}|alias=cancelled", 2))
        aeron.async_remove_counter(aeron.async_add_counter(1002, "cancelled"))
    until(lambda: not aeron.has_active_commands)
    until(lambda: not [each for each in aeron.counters_reader if "cancelled" in each.label])
    assert errors == []


@on("conductor.errors")
def test_refusals_carry_the_drivers_code_and_text(aeron: Aeron, errors: list[Exception], peer: str) -> None:
    def refused(channel: str, stream_id: int = 3) -> RegistrationError:
        with pytest.raises(RegistrationError) as caught:
            aeron.add_publication(channel, stream_id, strict=False)
        assert caught.value.correlation_id > 0
        return caught.value

    assert refused("aeron:ipc?term-length=1k").error_code == 11
    assert refused(f"aeron:udp?endpoint=localhost:{free_port()}|session-id=none").error_code in (1, 11)
    unknown = refused("aeron:udp?endpoint=no.such.host.invalid:4000")
    assert unknown.error_code == {"c": 9, "java": 1}[peer]
    assert "unknown host" in str(unknown).lower() or "unresolved" in str(unknown).lower()
    assert refused("aeron:udp?control-mode=dynamic").error_code in (1, 11)

    name = aeron.async_add_publication("aeron:ipc?term-length=1k", 3, strict=False)
    with pytest.raises(RegistrationError, match="11, GENERIC_ERROR"):
        until(lambda: aeron.get_publication(name) is not None)

    first = aeron.add_exclusive_publication("aeron:ipc?session-id=77", 3)
    with pytest.raises(RegistrationError) as clash:
        aeron.add_exclusive_publication("aeron:ipc?session-id=77", 3)
    assert clash.value.error_code in (1, 11)
    assert "77" in str(clash.value)
    assert not first.is_closed
    assert errors == []


# --- destinations ---


@on("client.setup.destinations", "mdc.manual", "mdc.add_remove", "mdc.by_id")
def test_destinations_of_a_publication_come_and_go_by_uri_and_by_id(aeron: Aeron, peer: str) -> None:
    ports = [free_port() for _ in range(3)]
    channels = [f"aeron:udp?endpoint=127.0.0.1:{port}" for port in ports]
    subscriptions = [aeron.add_subscription(channel, 11) for channel in channels]
    manual = f"aeron:udp?control-mode=manual|term-length={TERM_LENGTH}|tags={free_port()}"
    first, second = (aeron.add_publication(manual, 11) for _ in range(2))
    assert second.original_registration_id == first.registration_id != second.registration_id
    assert first.offer(b"x") is OfferResult.NOT_CONNECTED

    def receive(*indices: int) -> None:
        """Each of these subscriptions gets a message, and no other does."""
        until(lambda: all(subscriptions[index].is_connected for index in indices))
        first.send(b"m")
        for index in indices:
            assert [each.payload for each in subscriptions[index].messages(limit=1)] == [b"m"]

    # By the second holder of the publication, and so by its original's id.
    ids = [first.add_destination(channels[0]), second.add_destination(channels[1])]
    third = second.async_add_destination(channels[2])
    until(lambda: not aeron.is_command_active(third))
    receive(0, 1, 2)

    second.remove_destination_by_id(ids[0])
    until(lambda: not subscriptions[0].is_connected)
    receive(1, 2)
    second.remove_destination(channels[1])
    until(lambda: not subscriptions[1].is_connected)
    receive(2)
    name = second.async_remove_destination_by_id(third)
    until(lambda: not aeron.is_command_active(name))
    until(lambda: not first.is_connected)
    assert first.offer(b"x") is OfferResult.NOT_CONNECTED
    again = first.async_add_destination(channels[0])
    until(lambda: not aeron.is_command_active(again))
    receive(0)
    gone = first.async_remove_destination(channels[0])
    until(lambda: not aeron.is_command_active(gone) and not first.is_connected)


@on("client.setup.destinations", "mds.manual", "mds.many", "mds.network", "mds.ipc", "mds.spy")
def test_a_subscription_receives_from_the_network_from_ipc_and_from_spies(aeron: Aeron, peer: str) -> None:
    subscription = aeron.add_subscription("aeron:udp?control-mode=manual", 12)
    assert subscription.try_resolve_channel_endpoint_port() == "aeron:udp?control-mode=manual"
    ports = [free_port() for _ in range(2)]
    for port in ports:
        subscription.add_destination(f"aeron:udp?endpoint=127.0.0.1:{port}")
    until(lambda: sorted(subscription.local_socket_addresses) == sorted(f"127.0.0.1:{port}" for port in ports))
    spied = f"{udp(free_port())}|ssc=true"
    name = subscription.async_add_destination(f"aeron-spy:{spied}")
    until(lambda: not aeron.is_command_active(name))
    subscription.add_destination(IPC)

    publications = [aeron.add_exclusive_publication(channel, 12) for channel in (*map(udp, ports), spied, IPC)]
    for number, publication in enumerate(publications):
        publication.send(bytes([number]))
    received = {message.session_id: message.payload for message in subscription.messages(limit=4)}
    assert received == {each.session_id: bytes([number]) for number, each in enumerate(publications)}

    for channel in (f"aeron:udp?endpoint=127.0.0.1:{ports[0]}", f"aeron-spy:{spied}", IPC):
        subscription.remove_destination(channel)
    until(lambda: subscription.local_socket_addresses == [f"127.0.0.1:{ports[1]}"])
    # The C driver says that image 0 is gone where it means the spied one.
    left = {publications[1].session_id, *([publications[2].session_id] if peer == "c" else [])}
    until(lambda: {image.session_id for image in subscription.images} == left)


@on("conductor.errors")
def test_destinations_that_a_driver_refuses(aeron: Aeron, errors: list[Exception], peer: str) -> None:
    publication = aeron.add_publication(udp(free_port()), 13)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with pytest.raises(RegistrationError) as caught:
        publication.add_destination(channel)
    assert caught.value.error_code in (1, 11)
    subscription = aeron.add_subscription(udp(free_port()), 13)
    with pytest.raises(RegistrationError) as caught:
        subscription.add_destination(channel)
    assert caught.value.error_code == {"c": 1, "java": 2}[peer]
    manual = aeron.add_subscription("aeron:udp?control-mode=manual", 13)
    with pytest.raises(RegistrationError):
        manual.add_destination(f"{channel}|mtu=8k")
    with pytest.raises(RegistrationError) as caught:
        manual.remove_destination(IPC)
    assert caught.value.error_code == 2
    assert errors == []
    name = publication.async_add_destination(channel)
    until(lambda: not aeron.is_command_active(name))
    until(lambda: len(errors) == 1)
    assert isinstance(errors[0], RegistrationError)
    assert errors[0].correlation_id == name
    assert errors[0].error_code in (1, 11)


# --- threads and processes ---


@on("client.setup.invoker")
def test_a_client_runs_on_the_callers_thread(connect: Connect, peer: str) -> None:
    before = threading.active_count()
    aeron = connect(use_conductor_agent_invoker=True)
    subscription, publication = aeron.add_subscription(IPC, 21), aeron.add_publication(IPC, 21)
    assert threading.active_count() == before
    until(lambda: aeron.invoker().invoke() >= 0 and subscription.is_connected and publication.is_connected)
    publication.send(b"x")
    assert [message.payload for message in subscription.messages(limit=1)] == [b"x"]


@on("client.setup.threads")
def test_clients_and_threads_use_one_driver_at_once(connect: Connect, peer: str) -> None:
    clients = [connect(), connect()]
    failures: list[BaseException] = []
    received: list[bytes] = []
    subscription = clients[0].add_subscription(IPC, 22)

    def send(number: int) -> None:
        try:
            publication = clients[number % 2].add_publication(IPC, 22)
            for turn in range(50):
                publication.send(bytes([number, turn]))
            clients[number % 2].add_counter(1001, str(number)).close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    received += [message.payload for message in subscription.messages(limit=200)]
    for thread in threads:
        thread.join(DEADLINE_S)
    assert failures == []
    for number in range(4):  # in the order of each thread
        assert [each[1] for each in received if each[0] == number] == list(range(50))


@on("client.setup.processes")
def test_clients_in_several_processes_talk_to_each_other(
    connect: Connect, aeron_dirs: Callable[[str], str], peer: str
) -> None:
    program = textwrap.dedent(
        """
        import sys
        from aeronpy import Aeron
        with Aeron.connect(aeron_dir=sys.argv[1]) as aeron:
            subscription = aeron.add_subscription(sys.argv[2], 23)
            publication = aeron.add_publication(sys.argv[2], 24)
            for message in subscription.messages(limit=100):
                publication.send(message.payload + b" back", timeout_s=20)
            sys.stdin.read()
        """
    )
    aeron = connect()
    answers = aeron.add_subscription(IPC, 24)
    publication = aeron.add_publication(IPC, 23)
    command = [sys.executable, "-c", program, aeron_dirs(peer), IPC]
    with subprocess.Popen(command, cwd=peers.ROOT, stdin=subprocess.PIPE) as process:
        try:
            for number in range(100):
                publication.send(b"%d" % number, timeout_s=DEADLINE_S)
                (answer,) = answers.messages(limit=1, timeout_s=DEADLINE_S)
                assert answer.payload == b"%d back" % number
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(DEADLINE_S) == 0
        finally:
            process.kill()


# --- handlers ---


@on("client.events.available", "client.events.unavailable")
def test_images_that_come_and_go_are_told_of(aeron: Aeron, peer: str) -> None:
    told: list[tuple[str, int]] = []

    def note(what: str) -> Callable[[Image], None]:
        return lambda image: told.append((what, image.session_id))

    channel = udp(free_port())
    subscription = aeron.add_subscription(channel, 31, note("+"), note("-"))
    later = aeron.add_unavailable_image_handler(note("later"), subscription)
    aeron.add_available_image_handler(note("all"))
    publication = aeron.add_exclusive_publication(channel, 31)
    until(lambda: told == [("+", publication.session_id), ("all", publication.session_id)])
    publication.close()
    until(lambda: len(told) == 4)
    assert told[2:] == [("-", publication.session_id), ("later", publication.session_id)]
    assert aeron.remove_handler(later)
    second = aeron.add_exclusive_publication(channel, 31)
    until(lambda: subscription.is_connected)
    subscription.close()
    assert told[-1] == ("-", second.session_id)


@on("client.events.counters", "client.events.counter_handlers", "counters.client", "counters.static")
def test_counters_own_and_static_are_made_told_of_and_freed(aeron: Aeron, connect: Connect, peer: str) -> None:
    told: list[tuple[str, int, int]] = []
    aeron.add_available_counter_handler(lambda reader, name, counter_id: told.append(("+", name, counter_id)))
    aeron.add_unavailable_counter_handler(lambda reader, name, counter_id: told.append(("-", name, counter_id)))
    other = connect()
    counter = other.add_counter(1003, "another client's", bytes(range(16)))
    counter.set(42)
    until(lambda: ("+", counter.registration_id, counter.counter_id) in told)
    found = aeron.counters_reader.find_by_registration(1003, counter.registration_id)
    assert found == counter.counter_id
    info = aeron.counters_reader.info(counter.counter_id)
    assert info is not None
    assert (info.value, info.owner_id, info.key[:16]) == (42, other.client_id, bytes(range(16)))
    counter.close()
    until(lambda: ("-", counter.registration_id, counter.counter_id) in told)

    static = other.add_static_counter(1004, "static", 77, b"k")
    static.set(7)
    name = aeron.async_add_static_counter(1004, "not this label", 77)
    until(lambda: not aeron.is_command_active(name))
    again = aeron.get_counter(name)
    assert again is not None
    assert (again.counter_id, again.get(), again.label) == (static.counter_id, 7, "static")
    other.close()
    info = aeron.counters_reader.info(static.counter_id)
    assert info is not None
    assert (info.owner_id, info.registration_id, info.value) == (-1, 77, 7)
    own = aeron.add_counter(1004, "own")
    with pytest.raises(RegistrationError, match="non-static counter exists") as caught:
        aeron.add_static_counter(1004, "clash", own.registration_id)
    assert caught.value.error_code == 11


@on("client.events.publication_error", "life.reject")
@pytest.mark.parametrize(("medium", "reason"), [("ipc", "no"), ("udp", "r" * MAX_REASON_LENGTH)])
def test_a_rejected_image_tells_its_publisher_why(connect: Connect, peer: str, medium: str, reason: str) -> None:
    receiver, sender = connect(), connect()
    told: list[tuple[int, int, int, str]] = []
    channel = IPC if medium == "ipc" else udp(free_port())
    subscription = receiver.add_subscription(channel, 32)
    publication = sender.add_exclusive_publication(channel, 32)
    sender.add_publication_error_handler(
        lambda error: told.append((error.session_id, error.stream_id, error.error_code, error.message))
    )
    publication.send(b"x")
    until(lambda: subscription.is_connected)
    (image,) = subscription.images
    image.reject(reason)
    until(lambda: (publication.session_id, 32, 13, reason) in told)
    until(lambda: subscription.poll(lambda buffer, header: None) >= 0 and image.is_closed)  # once all is read


@on("client.events.close")
def test_the_end_is_told_once_and_the_driver_knows_it(aeron: Aeron, connect: Connect, peer: str) -> None:
    told: list[int] = []
    other = connect(close_handler=lambda: told.append(0))
    other.add_close_handler(lambda: told.append(1))
    publication = other.add_publication(IPC, 33)
    assert aeron.counters_reader.find_by_key(11, other.client_id) is not None
    other.close()
    other.close()
    assert told == [0, 1]
    assert publication.offer(b"x") is OfferResult.CLOSED
    until(lambda: aeron.counters_reader.find_by_key(11, other.client_id) is None)


# --- status ---


@on("client.channel.next_session_id")
def test_the_next_session_id_is_free_and_usable(aeron: Aeron, peer: str) -> None:
    taken = aeron.add_exclusive_publication(IPC, 41)
    found = [aeron.next_session_id(41) for _ in range(3)]
    assert len({*found, taken.session_id}) == 4
    publication = aeron.add_exclusive_publication(f"{IPC}|session-id={found[0]}", 41)
    assert publication.session_id == found[0]


@on("client.channel.status", "client.channel.addresses")
def test_statuses_and_addresses_of_endpoints(aeron: Aeron, peer: str) -> None:
    subscription = aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0|alias=wild", 42)
    until(lambda: subscription.channel_status is ChannelStatus.ACTIVE)
    until(lambda: subscription.resolved_endpoint is not None)
    (address,) = subscription.local_socket_addresses
    host, _, port = address.rpartition(":")
    assert host == "127.0.0.1"
    assert int(port) > 0
    assert subscription.try_resolve_channel_endpoint_port() == f"aeron:udp?endpoint={address}|alias=wild"

    publication = aeron.add_publication(f"aeron:udp?endpoint={address}", 42)
    until(lambda: publication.channel_status is ChannelStatus.ACTIVE)
    until(lambda: len(publication.local_socket_addresses) == 1)
    control = free_port()
    mdc = aeron.add_publication(f"aeron:udp?control=127.0.0.1:{control}|control-mode=dynamic", 42)
    until(lambda: mdc.local_socket_addresses == [f"127.0.0.1:{control}"])
    ipc = aeron.add_publication(IPC, 42)
    spy = aeron.add_subscription(f"aeron-spy:aeron:udp?endpoint={address}", 42)
    for each in (ipc, spy):
        assert each.channel_status is ChannelStatus.ACTIVE
        assert each.local_socket_addresses == []
        each.close()
        assert each.channel_status is ChannelStatus.ERRORED


@on("client.setup.options", "counters.heartbeats")
def test_options_reach_the_driver_and_the_heartbeat_counter(connect: Connect, peer: str) -> None:
    aeron = connect(
        client_name="named",
        idle_strategy="backoff",
        idle_strategy_init_args="1-2-1us-1ms",
        pre_touch_mapped_memory=True,
        keepalive_interval_ns=100_000_000,
    )
    assert aeron.context.inter_service_timeout_ns == 3_000_000_000  # the driver's client liveness time-out
    publication = aeron.add_publication(IPC, 43)
    counter_id = aeron.counters_reader.find_by_key(11, aeron.client_id)
    assert counter_id is not None

    def label() -> str:
        info = aeron.counters_reader.info(counter_id)
        return info.label if info is not None else ""

    until(lambda: f"id={aeron.client_id} name=named version=" in label() and "commit=" in label())
    before = aeron.counters_reader.value(counter_id)
    until(lambda: aeron.counters_reader.value(counter_id) > before)
    assert not publication.is_closed
