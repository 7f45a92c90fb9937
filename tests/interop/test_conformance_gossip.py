"""Frames of the gossip resolver byte by byte: what a driver tells of itself, and of those whom it has heard."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable

import pytest

from tests.interop.stage import Make, Stage, free_port
from tests.system.protocol_client import DEADLINE_S
from tests.system.wire import RawSocket

RES, SELF = 7, 0x80
NAME_TO_IP4, NAME_TO_IP6 = 1, 2
# The captures of the protocol's description, of real C drivers.
SELF_BRAVO = "20 00 00 00 00 00 07 00 01 80 73 1f 00 00 00 00 7f 00 00 01 05 00 62 72 61 76 6f 00 00 00 00 00"
TWO_NEIGHBOURS = (
    "38 00 00 00 00 00 07 00"
    " 01 00 73 1f 78 01 00 00 7f 00 00 01 05 00 62 72 61 76 6f 69 65 00 00 00"
    " 01 00 74 1f 58 00 00 00 7f 00 00 01 07 00 63 68 61 72 6c 69 65 00 00 00"
)
PORT_AT = 2
Entry = tuple[int, int, int, bytes, bytes]  # type, flags, port, address, name
MAKES = pytest.mark.parametrize("make", ["c", "java", "ours"])


class Neighbour(RawSocket):
    """Another resolver: a socket that tells its name, and hears."""

    def __init__(self, name: bytes, host: str = "127.0.0.1") -> None:
        self.name = name
        self.address = socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
        self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((host, 0))
        self.port = int(self.socket.getsockname()[1])

    def entry(self, flags: int = 0) -> Entry:
        return (NAME_TO_IP6 if len(self.address) == 16 else NAME_TO_IP4, flags, self.port, self.address, self.name)

    def tell(self, to: tuple[str, int]) -> None:
        """What a resolver says of itself."""
        datagram = frame([self.entry(SELF)])
        self.socket.sendto(datagram, to)

    def told(self, condition: Callable[[list[Entry]], bool]) -> bytes:
        """The next frame whose entries are so."""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            came = self.receive(0.3)
            if came is not None and condition(entries(came.bytes)):
                return came.bytes
        raise AssertionError("no such frame came")


def frame(told: list[Entry]) -> bytes:
    """A frame of these entries, each just heard."""
    body = b""
    for kind, flags, port, address, name in told:
        entry = struct.pack("<bBHi", kind, flags, port, 0) + address + struct.pack("<h", len(name)) + name
        body += entry + bytes(-len(entry) % 8)
    return struct.pack("<iBBH", 8 + len(body), 0, 0, RES) + body


def entries(datagram: bytes) -> list[Entry]:
    """The entries of a frame, ages left out; what the frame says of its length is checked."""
    length, version, flags, kind = struct.unpack_from("<iBBH", datagram)
    assert (length, version, flags, kind) == (len(datagram), 0, 0, RES)
    found, at = [], 8
    while at < length:
        res_type, entry_flags, port, age = struct.unpack_from("<bBHi", datagram, at)
        assert 0 <= age < 10_000
        address_end = at + 8 + (16 if res_type == NAME_TO_IP6 else 4)
        (name_length,) = struct.unpack_from("<h", datagram, address_end)
        name_end = address_end + 2 + name_length
        found.append(
            (res_type, entry_flags, port, datagram[at + 8 : address_end], datagram[address_end + 2 : name_end])
        )
        at = (name_end + 7) // 8 * 8
    assert at == length
    return found


def resolver(stage: Stage, make: Make, name: str, interface: str, bootstrap: str) -> None:
    """A driver of this name."""
    settings = {
        "AERON_DRIVER_RESOLVER_NAME": name,
        "AERON_DRIVER_RESOLVER_INTERFACE": interface,
        "AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR": bootstrap,
    }
    if make != "java":
        settings["AERON_NAME_RESOLVER_SUPPLIER"] = "driver"
    stage.driver(make, settings=settings)


def plain(datagram: bytes) -> bytes:
    """A frame without its ages, and without what is behind names: it means nothing, and the C driver leaves in it what
    was there."""
    return frame(entries(datagram))


def with_ports(capture: str, *ports: int) -> bytes:
    """A capture with other ports in its entries, each of 24 bytes."""
    found = bytearray.fromhex(capture)
    for number, port in enumerate(ports):
        struct.pack_into("<H", found, 8 + 24 * number + PORT_AT, port)
    return bytes(found)


@MAKES
def test_a_resolver_tells_of_itself(stage: Stage, make: Make) -> None:
    port = free_port()
    with Neighbour(b"alpha") as alpha:
        resolver(stage, make, "bravo", f"127.0.0.1:{port}", f"127.0.0.1:{alpha.port}")
        came = [alpha.expect(RES) for _ in range(2)]

    assert [plain(each.bytes) for each in came] == [with_ports(SELF_BRAVO, port)] * 2
    assert {each.source for each in came} == {("127.0.0.1", port)}


@MAKES
def test_a_resolver_tells_of_two_neighbours_in_one_frame(stage: Stage, make: Make) -> None:
    port = free_port()
    with Neighbour(b"bravo") as bravo, Neighbour(b"charlie") as charlie:
        resolver(stage, make, "alpha", f"127.0.0.1:{port}", f"127.0.0.1:{bravo.port}")
        bravo.expect(RES)
        for each in (bravo, charlie):
            each.tell(("127.0.0.1", port))
        heard = charlie.told(lambda told: len(told) == 2)

    assert plain(heard) == plain(with_ports(TWO_NEIGHBOURS, bravo.port, charlie.port))


@pytest.mark.parametrize("make", ["c", "ours"])  # the Java driver's resolver knows IPv4 alone
def test_a_resolver_tells_of_ipv6(stage: Stage, make: Make) -> None:
    port = free_port()
    with Neighbour(b"bravo", "::1") as bravo, Neighbour(b"charlie", "::1") as charlie:
        resolver(stage, make, "alpha", f"[::1]:{port}", f"[::1]:{bravo.port}")
        own = (NAME_TO_IP6, SELF, port, bravo.address, b"alpha")
        assert entries(bravo.expect(RES).bytes) == [own]
        for each in (bravo, charlie):
            each.tell(("::1", port))
        heard = charlie.told(lambda told: len(told) == 2)

    told, expected = entries(heard), [bravo.entry(), charlie.entry()]
    if make == "c":
        # What it passes on as the address is now right, now zeros.
        assert [(*each[:3], each[4]) for each in told] == [(*each[:3], each[4]) for each in expected]
    else:
        assert told == expected
