"""Frames over IPv6: the same bytes as over IPv4, from and to addresses that are longer."""

from __future__ import annotations

import socket
import struct
from ipaddress import IPv6Address
from pathlib import Path

from tests.interop import ends
from tests.interop.capture import EOS, SM_EOS, common, distinct
from tests.interop.conformance import (
    HEARTBEAT,
    HELLO,
    REJECTED,
    SESSION,
    SETUP_MULTICAST,
    SETUP_UNICAST,
    SM_PLAIN,
    Role,
    moved,
    scene,
    vector,
    with_java,
)
from tests.interop.house import House
from tests.interop.stage import free_port
from tests.interop.test_row_groups import v6_address
from tests.system.wire import DATA, ERR, SETUP, SM, RawSocket

LOOPBACK = "[::1]"


@with_java
def test_a_stream_from_its_setup_to_its_end(house: House, role: Role) -> None:
    with scene(house, role, LOOPBACK) as wire:
        publication = wire.publish()
        setup = wire.wait(lambda each: each.type == SETUP)[0]
        assert common(setup.bytes) == vector(SETUP_UNICAST)
        subscription = wire.subscribe()
        ends.connected(publication)
        source = ends.image_of(subscription)["source_identity"]
        assert source.startswith("0:0:0:0:0:0:0:1:" if role[1] == "java" else "[::1]:")
        assert distinct([each.bytes for each in wire.relay.seen(SM)]) == [vector(SM_PLAIN)]
        assert common(wire.wait(lambda each: each.is_heartbeat)[0].bytes) == vector(HEARTBEAT)

        ends.cross(publication, subscription, [b"Hello Aeron!"])
        assert wire.data() == [bytes.fromhex(HELLO)]
        publication.close()
        ended = wire.wait(lambda each: each.is_heartbeat and each.flags & EOS != 0)[0]
        assert common(ended.bytes) == moved(HEARTBEAT, term_offset=64, flags=0xE0)
        last = wire.wait(lambda each: each.type == SM and each.flags & SM_EOS != 0)[0]
        assert common(last.bytes) in [moved(SM_PLAIN, flags=0x40, term_offset=at) for at in (0, 64)]


@with_java
def test_a_rejection(house: House, role: Role) -> None:
    with scene(house, role, LOOPBACK) as wire:
        publication, subscription = wire.publish(), wire.subscribe()
        ends.connected(publication)
        ends.image_of(subscription)
        subscription.reject(SESSION, "No longer valid")
        error = wire.wait(lambda each: each.type == ERR)[0]
        # Without a tag the Java driver leaves in its place what was there.
        tag = common(error.bytes)["group_tag"]
        assert tag == -1 or role[1] == "java"
        assert common(error.bytes) == moved(REJECTED, group_tag=tag)
        number = publication.look()["original_registration_id"]
        ends.until(lambda: wire.source.events("publication error", number), "the publisher is told")


def interface_index(address: str) -> int:
    """The index of the interface that has this address."""
    lines = Path("/proc/net/if_inet6").read_text().splitlines()
    return next(int(line.split()[1], 16) for line in lines if bytes.fromhex(line[:32]) == IPv6Address(address).packed)


class GroupListener(RawSocket):
    """Hears what is sent to a group of IPv6 on the interface of an address."""

    def __init__(self, group: str, port: int, address: str) -> None:
        index = interface_index(address)
        self.socket = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((group, port, 0, index))
        membership = socket.inet_pton(socket.AF_INET6, group) + struct.pack("@I", index)
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, membership)


@with_java
def test_a_group(house: House, role: Role) -> None:
    (source, target), port = (house.side(each) for each in role), free_port()
    address = v6_address()
    group = f"aeron:udp?endpoint=[ff02::1:39]:{port}|interface=[{address}]"
    # What receivers say goes to the next address.
    with GroupListener("ff02::1:39", port, address) as data, GroupListener("ff02::1:3a", port, address) as control:
        start = "session-id=-2|init-term-id=0|term-id=0|term-offset=0|term-length=64k|mtu=1408"
        publication = source.publication(f"{group}|{start}", 1002, exclusive=True)
        # The C driver cannot set a TTL for IPv6.
        assert common(data.expect(SETUP).bytes) == moved(SETUP_MULTICAST, ttl=0)
        subscription = target.subscription(group, 1002)
        ends.connected(publication)
        assert common(control.expect(SM).bytes) == moved(SM_PLAIN, session_id=-2, stream_id=1002, term_id=0)
        ends.image_of(subscription)
        ends.cross(publication, subscription, [b"to whom it may concern"])
        assert len(data.expect(DATA, at0=54, at8=0).bytes) == 64
