"""What the driver answers, to clients and on the wire, where it receives over UDP in every way that there is."""

from __future__ import annotations

import socket

import pytest

from aeronpy.driver import MediaDriver
from tests.system import protocol_client as p
from tests.system import wire
from tests.system.conftest import SHORT
from tests.system.protocol_client import ProtocolClient, eventually
from tests.system.wire import GroupListener, RawPublisher, address_of

ADD_RCV_DESTINATION, REMOVE_RCV_DESTINATION = 0x0C, 0x0D
MULTI = "aeron:udp?control-mode=manual"


def destination(client: ProtocolClient, kind: int, subscription: int, channel: str) -> int:
    name = channel.encode()
    return client.command(kind, f"qi{len(name)}s", subscription, len(name), name)


def add_destination(client: ProtocolClient, subscription: int, channel: str) -> int:
    correlation_id = destination(client, ADD_RCV_DESTINATION, subscription, channel)
    assert client.expect(p.OPERATION_SUCCESS).i64(0) == correlation_id
    return correlation_id


def bound(client: ProtocolClient, registration_id: int) -> tuple[str, int]:
    """Where the socket of an endpoint is."""
    return address_of(client.counter_of(14, registration_id)[1].label.rsplit(" ", 1)[1])


def subscribe(client: ProtocolClient, channel: str, stream_id: int = 7) -> int:
    subscription = client.add_subscription(channel, stream_id)
    assert client.expect(p.SUBSCRIPTION_READY).i64(0) == subscription
    return subscription


def image_of(client: ProtocolClient, publisher: RawPublisher, **setup: int) -> p.Event:
    publisher.setup(**setup)
    image = client.expect(p.AVAILABLE_IMAGE)
    assert image.i32(8) == publisher.session_id
    return image


# --- multi-destination subscriptions ---


def test_destinations_come_and_go_and_feed_one_image(client: ProtocolClient) -> None:
    client.first_add()
    subscription = client.add_subscription(MULTI, 7)
    ready = client.expect(p.SUBSCRIPTION_READY)
    status = client.counter(ready.i32(8))
    assert (status.type_id, status.value, status.label) == (7, 1, f"rcv-channel: {MULTI}")
    add_destination(client, subscription, "aeron:udp?endpoint=127.0.0.1:24370")
    add_destination(client, subscription, "aeron:udp?endpoint=127.0.0.1:24371")
    local = [c for c in client.counters().values() if c.type_id == 14]
    assert [(c.value, c.registration_id, c.label) for c in local] == [
        (1, subscription, f"rcv-local-sockaddr: {ready.i32(8)} 127.0.0.1:{port}") for port in (24370, 24371)
    ]

    with RawPublisher(("127.0.0.1", 24370)) as one, RawPublisher(("127.0.0.1", 24371)) as other:
        image_of(client, one)
        receiver_id = one.expect(wire.SM).i64(28)
        other.setup()
        assert other.expect(wire.SM).i64(28) == receiver_id
        # Halves of the stream by each of them make the whole.
        position = one.data(0, b"a" * 100)
        other.data(position, b"b" * 100)
        eventually(lambda: received(client) == 320, "both halves are there")

        removed = destination(client, REMOVE_RCV_DESTINATION, subscription, "aeron:udp?endpoint=127.0.0.1:24371")
        assert client.expect(p.OPERATION_SUCCESS).i64(0) == removed
        eventually(
            lambda: not [c for c in client.counters().values() if "127.0.0.1:24371" in c.label], "its counter is gone"
        )
        unknown = destination(client, REMOVE_RCV_DESTINATION, subscription, "aeron:udp?endpoint=127.0.0.1:24372")
        assert client.expect(p.OPERATION_SUCCESS).i64(0) == unknown
        one.data(320, b"c")
        eventually(lambda: received(client) == 384, "the other one goes on")

        one.heartbeat(384, 0xE0)
        eventually(lambda: one.expect(wire.SM).flags == 0x40, "the end is acknowledged: the other one holds it no more")


def received(client: ProtocolClient) -> int:
    """Up to where the only image is whole."""
    return next(c.value for c in client.counters().values() if c.type_id == 5)


def test_local_destinations_are_read_in_place(client: ProtocolClient) -> None:
    client.first_add()
    channel = "aeron:udp?endpoint=127.0.0.1:24373|ssc=true"
    ipc, udp = client.add_publication("aeron:ipc", 7), client.add_publication(channel, 7)
    client.expect(p.PUBLICATION_READY)
    client.expect(p.PUBLICATION_READY)
    subscription = subscribe(client, MULTI)

    add_destination(client, subscription, "aeron:ipc")
    available = client.expect(p.AVAILABLE_IMAGE)
    assert (available.i64(0), available.i64(16)) == (ipc, subscription)
    add_destination(client, subscription, "aeron-spy:aeron:udp?endpoint=127.0.0.1:24373")
    available = client.expect(p.AVAILABLE_IMAGE)
    assert (available.i64(0), available.i64(16)) == (udp, subscription)
    later = client.add_publication("aeron:ipc", 7, exclusive=True)
    client.expect(p.EXCLUSIVE_PUBLICATION_READY)
    assert client.expect(p.AVAILABLE_IMAGE).i64(0) == later

    removed = destination(client, REMOVE_RCV_DESTINATION, subscription, "aeron:ipc")
    assert client.expect(p.OPERATION_SUCCESS).i64(0) == removed
    assert {client.expect(p.UNAVAILABLE_IMAGE).i64(0) for _ in range(2)} == {ipc, later}
    client.expect_error(destination(client, REMOVE_RCV_DESTINATION, subscription, "aeron:ipc"), 2)
    # All parts go with the subscription, which is not told of them.
    client.command(p.REMOVE_SUBSCRIPTION, "q", subscription)
    client.expect(p.OPERATION_SUCCESS)
    eventually(lambda: not [c for c in client.counters().values() if c.type_id == 4], "no position is left")
    assert client.receive() is None


@pytest.mark.parametrize(
    ("channel", "code"),
    [
        ("aeron:udp?endpoint=127.0.0.1:24374|mtu=2048", 1),
        ("aeron:udp?endpoint=127.0.0.1:24374|rcv-wnd=64k", 1),
        ("aeron:udp?endpoint=127.0.0.1:24374|so-rcvbuf=64k", 1),
        ("aeron:udp?endpoint=127.0.0.1:24374|so-sndbuf=64k", 1),
        ("aeron:udp?endpoint=127.0.0.1:24374|response-correlation-id=5", 1),
        ("aeron:udp?control=127.0.0.1:24374|control-mode=response", 1),
        ("aeron:udp?endpoint=nobody.invalid:24374", 9),
        ("aeron-spy:aeron:ipc", 1),
        ("nonsense", 1),
    ],
)
def test_a_destination_that_cannot_be_is_refused(client: ProtocolClient, channel: str, code: int) -> None:
    client.first_add()
    subscription = subscribe(client, MULTI)

    client.expect_error(destination(client, ADD_RCV_DESTINATION, subscription, channel), code)

    add_destination(client, subscription, "aeron:udp?endpoint=127.0.0.1:24374")


def test_destinations_need_a_subscription_that_takes_them(client: ProtocolClient) -> None:
    client.first_add()
    channel = "aeron:udp?endpoint=127.0.0.1:24375"
    plain = subscribe(client, "aeron:udp?endpoint=127.0.0.1:24376")

    for kind in (ADD_RCV_DESTINATION, REMOVE_RCV_DESTINATION):
        client.expect_error(destination(client, kind, 999, channel), 2)
        client.expect_error(destination(client, kind, plain, channel), 1)
    taken = subscribe(client, MULTI)
    add_destination(client, taken, channel)
    other = subscribe(client, MULTI)
    assert "Address already in use" in client.expect_error(destination(client, ADD_RCV_DESTINATION, other, channel), 11)


# --- explicit control, groups, multicast ---


def test_a_known_publisher_is_asked_at_once_and_again(client: ProtocolClient) -> None:
    client.first_add()
    with RawPublisher(("127.0.0.1", 0)) as publisher:
        channel = f"aeron:udp?endpoint=127.0.0.1:0|control={publisher.address}|control-mode=dynamic|gtag=-5"
        subscription = subscribe(client, channel)
        for _ in range(2):
            asked = publisher.expect(wire.SM)
            assert (len(asked.bytes), asked.flags, asked.i32(8), asked.i32(12), asked.i64(36)) == (44, 0x80, 0, 0, -5)
        publisher.to = bound(client, subscription)
        image_of(client, publisher)
        assert publisher.expect(wire.SM, at8=publisher.session_id).i64(36) == -5
        # One session alone is asked for by its name.
        subscribe(client, f"{channel}|session-id=77")
        asked = publisher.expect(wire.SM, at8=77)
        assert (asked.flags, asked.i32(12), asked.i32(24), asked.i64(36)) == (0x80, 7, 0, -5)


def test_the_drivers_own_group_tag_is_in_every_answer() -> None:
    with MediaDriver.launch_embedded(**SHORT, receiver_group_tag=99) as driver:
        client = ProtocolClient(driver.aeron_dir)
        client.first_add()
        subscription = subscribe(client, "aeron:udp?endpoint=127.0.0.1:0")
        with RawPublisher(bound(client, subscription)) as publisher:
            publisher.heartbeat(0)
            assert publisher.expect(wire.SM).i64(36) == 99
            image = image_of(client, publisher)
            assert publisher.expect(wire.SM).i64(36) == 99
            client.reject(image.i64(0), 0, b"not wanted")
            client.expect(p.OPERATION_SUCCESS)
            refused = publisher.expect(wire.ERR)
            assert (refused.flags, refused.i64(24), refused.i32(32), refused.bytes[40:]) == (8, 99, 13, b"not wanted")
        client.close()


def test_a_multicast_group_is_joined_and_its_neighbour_answered(client: ProtocolClient) -> None:
    client.first_add()
    channel = "aeron:udp?endpoint=224.20.30.41:24377|interface=127.0.0.1"
    subscribe(client, channel)
    with RawPublisher(("224.20.30.41", 24377)) as publisher, GroupListener("224.20.30.42", 24377) as listener:
        lo = socket.inet_aton("127.0.0.1")
        publisher.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, lo)
        publisher.heartbeat(0)  # late: the SETUP is asked for
        asked = listener.expect(wire.SM)
        assert (asked.flags, asked.i32(8), asked.source[1]) == (0x80, publisher.session_id, 24377)
        image_of(client, publisher)
        assert listener.expect(wire.SM, at16=wire.INITIAL_TERM).flags == 0
        assert publisher.drain() == []  # nobody answers to the publisher itself


# --- congestion control ---


def test_cubic_starts_small_and_says_so(client: ProtocolClient) -> None:
    client.first_add()
    subscription = subscribe(client, "aeron:udp?endpoint=127.0.0.1:0|cc=cubic")
    with RawPublisher(bound(client, subscription)) as publisher:
        image = image_of(client, publisher)
        window = publisher.expect(wire.SM).i32(24)
        assert window % wire.MTU == 0
        assert window <= 32768
        labels = [c.label for c in client.counters().values() if c.type_id == 10]
        stem = f"{image.i64(0)} {publisher.session_id} 7 aeron:udp?endpoint=127.0.0.1:0|cc=cubic"
        owners = {c.owner_id for c in client.counters().values() if c.type_id == 10}
        assert owners == {-1}
        assert sorted(labels) == [f"rcv-cc-cubic-rtt: {stem}", f"rcv-cc-cubic-wnd: {stem}"]


def test_an_unknown_congestion_control_makes_no_image_and_an_error_now_and_then(
    client: ProtocolClient, driver: MediaDriver
) -> None:
    client.first_add()
    subscription = subscribe(client, "aeron:udp?endpoint=127.0.0.1:0|cc=reno")
    with RawPublisher(bound(client, subscription)) as publisher:
        publisher.setup()
        eventually(lambda: client.counter(15).value >= 1, "the failure is counted")
        for _ in range(20):
            publisher.setup()
        publisher.heartbeat(0)
        eventually(lambda: client.counter(15).value < 5, "not each attempt is news")
        assert client.receive() is None
        assert publisher.drain() == []


# --- response channels ---


def test_a_response_subscription_takes_nothing_until_it_is_told_its_session(client: ProtocolClient) -> None:
    client.first_add()
    with RawPublisher(("127.0.0.1", 0)) as server:
        channel = f"aeron:udp?control-mode=response|control={server.address}"
        response = subscribe(client, channel)
        asked = server.expect(wire.SM)
        assert (asked.flags, asked.i32(8), asked.i32(12)) == (0x80, 0, 0)
        server.to = asked.source
        server.setup()
        server.heartbeat(0)
        client.command(p.REMOVE_SUBSCRIPTION, "q", response)
        client.expect(p.OPERATION_SUCCESS)
        assert [frame for frame in server.drain() if frame.i32(8) != 0] == []


# --- what subscriptions may not disagree on ---


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("reliable=true", "reliable=false", "reliable=false"),
        ("rejoin=true", "rejoin=false", "rejoin=false"),
        ("media-rcv-ts-offset=0", "media-rcv-ts-offset=8", "media-rcv-ts-offset=8"),
        ("channel-rcv-ts-offset=0", "channel-rcv-ts-offset=reserved", "channel-rcv-ts-offset=reserved"),
    ],
)
def test_two_subscriptions_of_one_stream_must_agree(client: ProtocolClient, first: str, second: str, said: str) -> None:
    client.first_add()
    endpoint = "aeron:udp?endpoint=127.0.0.1:24378"
    subscribe(client, f"{endpoint}|{first}")

    text = client.expect_error(client.add_subscription(f"{endpoint}|{second}", 7), 11)

    assert f"option conflicts with existing subscription: {said} " in text
    subscribe(client, f"{endpoint}|{first}|tether=false|group=true|gtag=7")


def test_open_ports_are_taken_from_the_range_of_receivers() -> None:
    with MediaDriver.launch_embedded(**SHORT, receiver_wildcard_port_range="24380 24381") as driver:
        client = ProtocolClient(driver.aeron_dir)
        client.first_add()
        open_port = "aeron:udp?endpoint=127.0.0.1:0"
        first = subscribe(client, open_port)
        multi = subscribe(client, MULTI)
        add_destination(client, multi, open_port)
        assert [bound(client, one)[1] for one in (first, multi)] == [24380, 24381]

        text = client.expect_error(client.add_subscription(open_port, 7), 11)
        assert "no available ports in range 24380 24381" in text
        client.command(p.REMOVE_SUBSCRIPTION, "q", first)
        client.expect(p.OPERATION_SUCCESS)
        eventually(lambda: not [c for c in client.counters().values() if ":24380" in c.label], "the socket is closed")
        assert bound(client, subscribe(client, open_port))[1] == 24380
        client.close()


def test_a_tag_alone_is_a_channel_to_receive_on(client: ProtocolClient) -> None:
    client.first_add()
    first, second = subscribe(client, "aeron:udp?tags=77"), subscribe(client, "aeron:udp?tags=77", 8)
    host, port = bound(client, first)
    assert host == "0.0.0.0"
    assert [c.registration_id for c in client.counters().values() if c.type_id == 7] == [first]
    with RawPublisher(("127.0.0.1", port), stream_id=8) as publisher:
        assert image_of(client, publisher).i64(16) == second
