"""What publications send to whom: destinations, flow control of groups, tags, ports, time stamps, against bytes."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest

from aeronpy import Aeron
from aeronpy._core import native
from aeronpy.driver import MediaDriver
from aeronpy.errors import RegistrationError
from tests.system import protocol_client as p
from tests.system import wire as w
from tests.system.conftest import SHORT
from tests.system.protocol_client import ProtocolClient, eventually
from tests.system.wire_receiver import SEND_SETUP, RawReceiver

STREAM = 7
IFF_UP, IFF_MULTICAST = 0x1, 0x1000
PATIENT = SHORT | {"client_liveness_timeout": "60s", "publication_unblock_timeout": "61s"}


@pytest.fixture(scope="module")
def sending() -> Iterator[tuple[MediaDriver, ProtocolClient]]:
    """One driver and one client for the tests that leave nothing behind that others could meet."""
    with MediaDriver.launch_embedded(**PATIENT) as driver:
        client = ProtocolClient(driver.aeron_dir)
        client.first_add()
        yield driver, client
        client.close()


@pytest.fixture
def known(sending: tuple[MediaDriver, ProtocolClient]) -> ProtocolClient:
    """A client that the driver knows."""
    return sending[1]


def add(client: ProtocolClient, channel: str, *, exclusive: bool = True) -> tuple[int, p.Event]:
    registration_id = client.add_publication(channel, STREAM, exclusive=exclusive)
    ready = client.expect(p.EXCLUSIVE_PUBLICATION_READY if exclusive else p.PUBLICATION_READY)
    return registration_id, ready


def remove(client: ProtocolClient, *registration_ids: int) -> None:
    for registration_id in registration_ids:
        client.remove_publication(registration_id)
        client.expect(p.OPERATION_SUCCESS)


def destination(client: ProtocolClient, type_id: int, registration_id: int, channel: str) -> int:
    name = channel.encode()
    return client.command(type_id, f"qi{len(name)}s", registration_id, len(name), name)


def count_of(client: ProtocolClient, type_id: int, registration_id: int) -> int:
    return client.counter_of(type_id, registration_id)[1].value


def bound_port(client: ProtocolClient, registration_id: int) -> int:
    return int(client.counter_of(14, registration_id)[1].label.rsplit(":", 1)[1])


# --- many destinations ---


def test_who_asks_a_dynamic_publication_gets_its_setup(known: ProtocolClient) -> None:
    channel = "aeron:udp?control=127.0.0.1:0|control-mode=dynamic"
    publication, _ = add(known, channel)
    _, counter = known.counter_of(18, publication)
    assert (counter.value, counter.label, counter.owner_id) == (0, f"mdc-num-dest: {channel}", 0)
    assert counter.key[: 4 + len(channel)] == struct.pack("<i", len(channel)) + channel.encode()

    with RawReceiver() as receiver:
        control = ("127.0.0.1", bound_port(known, publication))
        receiver.sm(control, None, flags=SEND_SETUP)
        setup = receiver.expect(w.SETUP)
        assert setup.flags == w.GROUP
        assert count_of(known, 18, publication) == 1
        receiver.sm(control, setup)
        receiver.expect(w.DATA)
    remove(known, publication)


def test_clients_say_where_a_manual_publication_sends_to(known: ProtocolClient) -> None:
    publication, _ = add(known, "aeron:udp?control-mode=manual")
    with RawReceiver() as one, RawReceiver() as other:
        first = destination(known, p.ADD_DESTINATION, publication, f"aeron:udp?endpoint=127.0.0.1:{one.port}")
        assert known.expect(p.OPERATION_SUCCESS).i64(0) == first
        assert one.expect(w.SETUP).flags == w.GROUP
        again = destination(known, p.ADD_DESTINATION, publication, f"aeron:udp?endpoint=127.0.0.1:{one.port}")
        known.expect(p.OPERATION_SUCCESS)
        second = destination(known, p.ADD_DESTINATION, publication, f"aeron:udp?endpoint=localhost:{other.port}")
        known.expect(p.OPERATION_SUCCESS)
        other.expect(w.SETUP)
        eventually(lambda: count_of(known, 18, publication) == 3, "each add counts")
        assert len({first, again, second}) == 3

        destination(known, p.REMOVE_DESTINATION, publication, f"aeron:udp?endpoint=127.0.0.1:{one.port}")
        known.expect(p.OPERATION_SUCCESS)
        eventually(lambda: count_of(known, 18, publication) == 1, "all at the address are gone")
        assert one.is_silent_for(0.3)
        other.expect(w.SETUP)
        for _ in range(2):
            known.command(p.REMOVE_DESTINATION_BY_ID, "qq", publication, second)
            known.expect(p.OPERATION_SUCCESS)
        eventually(lambda: count_of(known, 18, publication) == 0, "removed by id")
        assert other.is_silent_for(0.3)
    remove(known, publication)


def test_destinations_that_cannot_be(known: ProtocolClient) -> None:
    manual, _ = add(known, "aeron:udp?control-mode=manual")
    dynamic, _ = add(known, "aeron:udp?control=127.0.0.1:0|control-mode=dynamic")
    ipc, _ = add(known, "aeron:ipc")
    endpoint = "aeron:udp?endpoint=127.0.0.1:24600"
    for registration_id, channel, code in (
        (manual + 100_000, endpoint, 3),
        (ipc, endpoint, 3),
        (dynamic, endpoint, 11),
        (manual, "aeron-spy:" + endpoint, 1),
        (manual, "aeron:ipc", 11),
        (manual, "aeron:udp?control=127.0.0.1:24600", 11),
        (manual, "aeron:udp?endpoint=127.0.0.1:0", 11),
        (manual, "aeron:udp?endpoint=[::1]:24600", 11),
        (manual, endpoint + "|mtu=4096", 1),
        (manual, endpoint + "|control-mode=response", 1),
    ):
        for type_id in (p.ADD_DESTINATION, p.REMOVE_DESTINATION):
            if "::1" in channel and type_id == p.REMOVE_DESTINATION:
                continue
            known.expect_error(destination(known, type_id, registration_id, channel), code)
    wanted = known.command(p.REMOVE_DESTINATION_BY_ID, "qq", manual + 100_000, 1)
    known.expect_error(wanted, 3)
    remove(known, manual, dynamic, ipc)


def test_an_error_says_which_destination_refused(known: ProtocolClient) -> None:
    publication, ready = add(known, "aeron:udp?control-mode=manual")
    with RawReceiver(receiver_id=77) as receiver:
        wanted = destination(known, p.ADD_DESTINATION, publication, f"aeron:udp?endpoint=127.0.0.1:{receiver.port}")
        known.expect(p.OPERATION_SUCCESS)
        setup = receiver.expect(w.SETUP)
        receiver.sm(setup.source, setup)
        receiver.expect(w.DATA)
        receiver.error(setup.source, setup, b"no longer")
        event = known.expect(p.PUBLICATION_ERROR)
    assert (event.i64(0), event.i64(8), event.i32(16), event.i64(24)) == (publication, wanted, ready.i32(16), 77)
    remove(known, publication)


def test_names_are_looked_up_again_when_nothing_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts: dict[str, str] = {}
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(host, str) and host.endswith(".moving.test"):
            if host not in hosts:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            host = hosts[host]
        return real(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    hosts["uni.moving.test"] = "127.0.0.1"
    with MediaDriver.launch_embedded(**PATIENT, reresolution_check_interval="50ms") as driver, RawReceiver() as one:
        client = ProtocolClient(driver.aeron_dir)
        client.first_add()
        with RawReceiver(host="127.0.0.2", port=one.port) as other:
            manual, _ = add(client, "aeron:udp?control-mode=manual")
            destination(client, p.ADD_DESTINATION, manual, f"aeron:udp?endpoint=multi.moving.test:{one.port}")
            client.expect(p.OPERATION_SUCCESS)
            eventually(lambda: count_of(client, 18, manual) == 1, "who is unknown yet is accepted")
            unicast, _ = add(client, f"aeron:udp?endpoint=uni.moving.test:{one.port}")
            one.expect(w.SETUP)
            hosts.update({"uni.moving.test": "127.0.0.2", "multi.moving.test": "127.0.0.2"})
            ports = {bound_port(client, manual), bound_port(client, unicast)}
            seen: set[int] = set()

            def has_moved() -> bool:
                frame = other.receive(0.02)
                if frame is not None:
                    seen.add(frame.source[1])
                return seen == ports

            eventually(has_moved, "both go to the new address", timeout_s=15.0)
        assert client.counter(25).value == 2
        client.close()


# --- flow control ---


def test_a_tagged_group_must_be_complete(known: ProtocolClient) -> None:
    channel = "aeron:udp?control=127.0.0.1:0|control-mode=dynamic|fc=tagged,g:99/2"
    publication, ready = add(known, channel)
    _, counter = known.counter_of(17, publication)
    assert counter.label == f"fc-receivers: {publication} {ready.i32(16)} {STREAM} {channel}"
    control = ("127.0.0.1", bound_port(known, publication))
    limit_id = ready.i32(24)
    with RawReceiver(1) as one, RawReceiver(2) as two, RawReceiver(3) as untagged:
        one.sm(control, None, flags=SEND_SETUP)
        setup = one.expect(w.SETUP)
        untagged.sm(control, setup)
        one.sm(control, setup, tag=99)
        eventually(lambda: count_of(known, 17, publication) == 1, "one of two")
        assert known.counter(limit_id).value == 0
        two.sm(control, setup, tag=99, window=16384)
        eventually(lambda: known.counter(limit_id).value > 0, "both are there")
        assert count_of(known, 17, publication) == 2
        assert count_of(known, 9, publication) == 16384
    remove(known, publication)


@pytest.mark.parametrize(
    "form", ["other", "max,g:9", "tagged,g:x", "min,t:never", "min,g:9/-1", "tagged,rrwm:0", "min,,", "tagged,g:"]
)
def test_flow_control_that_cannot_be(known: ProtocolClient, form: str) -> None:
    group = "aeron:udp?control=127.0.0.1:0|control-mode=dynamic|fc="
    known.expect_error(known.add_publication(group + form, STREAM), 11)
    publication, _ = add(known, f"aeron:udp?endpoint=127.0.0.1:24601|fc={form}")  # one receiver needs none
    remove(known, publication)


def test_a_mere_reference_by_tag_has_the_flow_control_of_a_group(known: ProtocolClient) -> None:
    first, _ = add(known, "aeron:udp?control=127.0.0.1:0|control-mode=dynamic|tags=1003")
    second, _ = add(known, "aeron:udp?tags=1003|fc=min")
    assert count_of(known, 17, second) == 0
    known.expect_error(known.add_publication("aeron:udp?tags=1003|fc=other", STREAM), 11)
    remove(known, first, second)


# --- groups ---


def _group_listener(group: str, port: int, interface: str) -> socket.socket:
    """A socket that hears a group, and sends to groups, on an interface."""
    is_v6 = ":" in group
    family = socket.AF_INET6 if is_v6 else socket.AF_INET
    index = socket.if_nametoindex(interface)
    listener = socket.socket(family, socket.SOCK_DGRAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("::" if is_v6 else "0.0.0.0", port))
    packed = socket.inet_pton(family, group)
    if is_v6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, packed + struct.pack("=I", index))
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
    else:
        on_interface = struct.pack("=4s4si", packed, bytes(4), index)
        listener.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, on_interface)
        listener.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, on_interface)
    listener.settimeout(5)
    return listener


def _v6_multicast_interface() -> str:
    """One that can do IPv6 multicast; the loopback cannot, since no route leads groups to it."""
    for name, host, _, _, flags in native.interfaces():
        if ":" in host and flags & IFF_UP and flags & IFF_MULTICAST:
            return name
    pytest.skip("no interface here does IPv6 multicast: give one an IPv6 address")


@pytest.mark.parametrize(("group", "control"), [("224.20.30.39", "224.20.30.40"), ("ff02::4711", "ff02::4712")])
@pytest.mark.parametrize("connect", [True, False])
def test_multicast_goes_to_the_data_group_and_listens_at_the_control_group(
    group: str, control: str, connect: bool
) -> None:
    is_v6 = ":" in group
    interface = _v6_multicast_interface() if is_v6 else "lo"
    with (
        MediaDriver.launch_embedded(**SHORT, driver_connect=connect) as driver,
        _group_listener(group, 24326, interface) as listener,
    ):
        client = ProtocolClient(driver.aeron_dir)
        client.first_add()
        endpoint = f"[{group}]:24326" if is_v6 else f"{group}:24326"
        publication, ready = add(client, f"aeron:udp?endpoint={endpoint}|interface={{{interface}}}|ttl=3")
        setup = listener.recv(100)
        assert (len(setup), setup[5], struct.unpack_from("<i", setup, 36)[0]) == (40, w.GROUP, 3)

        term = struct.unpack_from("<i", setup, 20)[0]
        status = struct.pack("<iBBH", 36, 0, 0, w.SM) + struct.pack("<iiiiiq", ready.i32(16), STREAM, term, 0, 32768, 5)
        listener.sendto(status, (control, 24326))
        eventually(lambda: count_of(client, 9, publication) == 32768, "the status message came through the group")
        client.close()


# --- tags and sessions ---


def test_a_session_is_adopted_by_the_tag_of_a_publication(known: ProtocolClient) -> None:
    channel = "aeron:udp?endpoint=127.0.0.1:24602|tags=1001,5001|mtu=2048|term-length=128k"
    first, ready = add(known, channel)
    second, adopted = add(known, "aeron:udp?endpoint=127.0.0.1:24603|session-id=tag:5001")
    assert adopted.i32(16) == ready.i32(16)
    assert [os.path.getsize(each.text(32)) for each in (ready, adopted)] == [3 * (128 << 10) + 4096] * 2

    text = known.expect_error(
        known.add_publication("aeron:udp?endpoint=127.0.0.1:24605|session-id=tag:5001|mtu=4096", STREAM), 11
    )
    assert "mtu" in text
    known.expect_error(known.add_publication("aeron:udp?endpoint=127.0.0.1:24605|session-id=tag:77", STREAM), 11)
    known.expect_error(known.add_publication("aeron:ipc?session-id=tag:5001", STREAM), 11)
    text = known.expect_error(
        known.add_publication("aeron:udp?tags=1001|session-id=tag:5001", STREAM, exclusive=True), 1
    )
    assert "clashing sessionId" in text
    remove(known, first, second)


def test_a_spy_finds_its_publication_by_tag(known: ProtocolClient) -> None:
    publication, _ = add(known, "aeron:udp?endpoint=127.0.0.1:24606|tags=1002")
    spy = known.add_subscription("aeron-spy:aeron:udp?tags=1002", STREAM)
    known.expect(p.SUBSCRIPTION_READY)
    image = known.expect(p.AVAILABLE_IMAGE)
    assert (image.i64(0), image.i64(16)) == (publication, spy)
    known.command(p.REMOVE_SUBSCRIPTION, "q", spy)
    known.expect(p.OPERATION_SUCCESS)
    remove(known, publication)


# --- ports, time stamps, responses ---


def test_open_control_ports_come_from_the_range() -> None:
    with MediaDriver.launch_embedded(**SHORT, sender_wildcard_port_range="24610 24611") as driver:
        client = ProtocolClient(driver.aeron_dir)
        client.first_add()
        channel = "aeron:udp?control=127.0.0.1:0|control-mode=dynamic"
        first, _ = add(client, channel)
        second, _ = add(client, channel)
        assert [bound_port(client, each) for each in (first, second)] == [24610, 24611]
        text = client.expect_error(client.add_publication(channel, STREAM), 11)
        assert "no available ports in range 24610 24611" in text
        remove(client, first)

        def finds_a_port() -> bool:
            wanted = client.add_publication(channel, STREAM)
            return client.expect(p.PUBLICATION_READY, p.ERROR).type == p.PUBLICATION_READY and wanted > 0

        eventually(finds_a_port, "the port of the removed one is free again")
        client.close()


def test_frames_say_when_they_were_sent(driver: MediaDriver) -> None:
    with RawReceiver() as receiver, Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        channel = f"aeron:udp?endpoint=127.0.0.1:{receiver.port}|channel-snd-ts-offset=reserved"
        publication = aeron.add_publication(channel, STREAM)
        setup = receiver.expect(w.SETUP)
        receiver.sm(setup.source, setup)
        eventually(lambda: publication.is_connected, "connected")
        before_ns = time.time_ns()
        eventually(lambda: publication.offer(b"when?") > 0, "sent")
        while (frame := receiver.expect(w.DATA)).i32(0) == 0:
            pass
        assert before_ns <= frame.i64(24) <= time.time_ns()
        with pytest.raises(RegistrationError, match="channel-snd-ts-offset"):
            aeron.add_publication(channel.replace("reserved", "0"), STREAM)


@pytest.mark.parametrize(
    ("channel", "phrase"),
    [
        (
            "aeron:udp?control-mode=response|control=127.0.0.1:24612",
            "control-mode=response was specified, but no response-correlation-id set",
        ),
        (
            "aeron:udp?control-mode=response|control=127.0.0.1:24612|response-correlation-id=123456",
            "image.correlationId=123456 not found",
        ),
        (
            "aeron:udp?endpoint=127.0.0.1:24613|response-correlation-id=123456",
            "unable to find response subscription for response-correlation-id=123456",
        ),
        ("aeron:udp?endpoint=127.0.0.1:24613|response-correlation-id=-9", "negative"),
    ],
)
def test_responses_that_cannot_be(known: ProtocolClient, channel: str, phrase: str) -> None:
    assert phrase in known.expect_error(known.add_publication(channel, STREAM), 11)


def test_a_prototype_holds_the_place_of_responses(known: ProtocolClient) -> None:
    channel = "aeron:udp?control-mode=response|control=127.0.0.1:24614|response-correlation-id=prototype"
    publication, ready = add(known, channel + "|term-length=1m")
    assert os.path.getsize(ready.text(32)) == 3 * (64 << 10) + 4096
    assert bound_port(known, publication) == 24614
    remove(known, publication)


def test_a_request_over_ipc_is_answered_in_a_session_of_its_own(driver: MediaDriver) -> None:
    with Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        answers = aeron.add_subscription("aeron:ipc?control-mode=response", 11)
        requests = aeron.add_subscription("aeron:ipc", 10)
        stranger = aeron.add_publication("aeron:ipc", 11)
        request = aeron.add_publication(f"aeron:ipc?response-correlation-id={answers.registration_id}", 10)
        eventually(lambda: requests.image_count == 1, "the request arrives")
        answer = aeron.add_publication(
            f"aeron:ipc?control-mode=response|response-correlation-id={requests.images[0].correlation_id}", 11
        )
        eventually(lambda: answers.image_count == 1, "the answer arrives")
        assert answers.images[0].session_id == answer.session_id != stranger.session_id
        assert request.is_connected
