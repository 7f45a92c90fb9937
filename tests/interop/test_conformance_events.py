"""Events byte by byte: what a driver broadcasts for the same commands, ours and the reference's."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from ipaddress import ip_address
from pathlib import Path

import pytest

from tests.interop.house import House
from tests.interop.stage import Make, free_port
from tests.system import protocol_client as wire
from tests.system.protocol_client import DEADLINE_S, Event, ProtocolClient

ADD_RCV_DESTINATION, REMOVE_RCV_DESTINATION = 0x0C, 0x0D
IPC = "aeron:ipc?term-length=64k|session-id=55"
TYPE_ID, HEARTBEAT = 4321, 11

# Every field in order: a name ending in a star is different in each run; the kinds are below, in Reader.
LAYOUTS: dict[int, str] = {
    wire.ERROR: "id:correlation i32:code text:message*",
    wire.AVAILABLE_IMAGE: (
        "id:image i32:session i32:stream id:subscription counter:position path:log source:source_identity"
    ),
    wire.PUBLICATION_READY: "id:correlation id:original i32:session i32:stream counter:limit counter:status path:log",
    wire.OPERATION_SUCCESS: "id:correlation",
    wire.UNAVAILABLE_IMAGE: "id:image id:subscription i32:stream text:channel*",
    wire.SUBSCRIPTION_READY: "id:correlation counter:status",
    wire.COUNTER_READY: "id:correlation counter:counter",
    wire.UNAVAILABLE_COUNTER: "id:registration counter:counter",
    wire.CLIENT_TIMEOUT: "id:client",
    wire.STATIC_COUNTER: "id:correlation counter:counter",
    wire.PUBLICATION_ERROR: (
        "id:registration id:destination i32:session i32:stream i64:receiver* i64:group_tag i16:address_type i16:port*"
        " address:address i32:code text:message"
    ),
    wire.NEXT_AVAILABLE_SESSION_ID: "id:correlation i32:session*",
}
LAYOUTS[wire.EXCLUSIVE_PUBLICATION_READY] = LAYOUTS[wire.PUBLICATION_READY]

Seen = list[dict[str, object]]


class Reader:
    """Names ids and counters by the order in which they appear, so that two runs can be the same."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], str] = {}

    def _ordinal(self, kind: str, value: int) -> object:
        if value < 0:
            return value
        return self._known.setdefault((kind, value), f"{kind} {len(self._known)}")

    def read(self, event: Event) -> dict[str, object]:
        found: dict[str, object] = {"type": hex(event.type)}
        at = 0
        for field in LAYOUTS[event.type].split():
            kind, _, name = field.partition(":")
            value, at = self._value(kind, event.body, at)
            found[name] = "any" if name.endswith("*") else value
        # The reference's structures end in a character and what aligns it.
        found["rest"] = event.body[at:].rstrip(b"\0").hex()
        return found

    def _value(self, kind: str, body: bytes, at: int) -> tuple[object, int]:
        if kind in ("text", "path", "source"):
            (length,) = struct.unpack_from("<i", body, at)
            text, after = body[at + 4 : at + 4 + length].decode(), at + 4 + length
            if kind == "path":
                path = Path(text)
                return f"{path.is_absolute()} {path.parent.name}/*{path.suffix}", at + 4 + (length + 3 & ~3)
            if kind == "source" and text != "aeron:ipc":  # an address may be written in more than one way
                return str(ip_address(text.rpartition(":")[0].strip("[]"))), after
            return text, after
        if kind == "address":
            # For IPC the reference turns the loopback address round.
            found = body[at : at + 16]
            return (found[3::-1] + found[4:] if found[0] == 1 else found).hex(), at + 16
        layout = {"id": "<q", "i64": "<q", "i32": "<i", "counter": "<i", "i16": "<h"}[kind]
        (number,) = struct.unpack_from(layout, body, at)
        value = self._ordinal(kind, number) if kind in ("id", "counter") else number
        return value, at + struct.calcsize(layout)


class Script:
    """Sends commands to one driver and notes what it says."""

    def __init__(self, driver_dir: Path, port: int) -> None:
        self.client = ProtocolClient(str(driver_dir))
        self.client.first_add()
        self.port = port
        self.seen: Seen = []
        self._reader = Reader()

    def told(self, count: int, timeout_s: float = DEADLINE_S) -> list[Event]:
        """The next events about what this client did; what an earlier one left behind has smaller numbers."""
        events: list[Event] = []
        deadline = time.monotonic() + timeout_s
        while len(events) < count:
            event = self.client.receive()
            if event is not None and (event.type == wire.ERROR or event.i64(0) >= self.client.client_id):
                events.append(event)
                self.seen.append(self._reader.read(event))
            elif event is None:
                assert time.monotonic() < deadline, f"{count} events did not come, but {self.seen}"
                time.sleep(0.001)
        return events

    def uri_command(self, kind: int, owner: int, uri: str) -> int:
        name = uri.encode()
        return self.client.command(kind, f"qi{len(name)}s", owner, len(name), name)


@contextmanager
def script(house: House, make: Make, port: int) -> Iterator[Script]:
    found = Script(house.driver(make).aeron_dir, port)
    try:
        yield found
    finally:
        client = found.client
        client.send(wire.CLIENT_CLOSE, struct.pack("<qq", client.client_id, -1))
        # What is told of its end comes before the next client begins.
        owners = {client.client_id}
        wire.eventually(lambda: not owners & {each.owner_id for each in client.counters().values()}, "its end")
        client.close()


def publications(s: Script) -> None:
    first = s.client.add_publication(IPC, 1001)
    s.told(1)
    second = s.client.add_publication(IPC, 1001)
    s.told(1)
    for each in (first, second):
        s.client.remove_publication(each)
        s.told(1)


def network_publications(s: Script) -> None:
    uri = f"aeron:udp?endpoint=127.0.0.1:{s.port}|term-length=64k|session-id=55"
    first = s.client.add_publication(uri, 1001)
    s.told(1)
    s.client.add_publication(uri, 1001)
    s.told(1)
    s.client.add_publication(uri, 1002, exclusive=True)
    s.told(1)
    s.client.remove_publication(first, 1)
    s.told(1)


def ipc_images(s: Script) -> None:
    subscription = s.client.add_subscription("aeron:ipc", 1002)
    s.told(1)
    publication = s.client.add_publication(IPC, 1002, exclusive=True)
    s.told(2)
    s.client.add_subscription("aeron:ipc", 1002)
    s.told(2)
    s.client.command(wire.REMOVE_SUBSCRIPTION, "q", subscription)
    s.told(1)
    s.client.remove_publication(publication)
    s.told(2)


def network_images(s: Script) -> None:
    s.client.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{s.port}", 1003)
    s.told(1)
    uri = f"aeron:udp?endpoint=127.0.0.1:{s.port}|term-length=64k|session-id=56"
    publication = s.client.add_publication(uri, 1003)
    s.told(2)
    s.client.remove_publication(publication)
    s.told(2)


def spies(s: Script) -> None:
    uri = f"aeron:udp?endpoint=127.0.0.1:{s.port}|term-length=64k|session-id=57"
    s.client.add_publication(uri, 1004)
    s.told(1)
    s.client.add_subscription(f"aeron-spy:aeron:udp?endpoint=127.0.0.1:{s.port}", 1004)
    s.told(2)


def destinations(s: Script) -> None:
    uri = f"aeron:udp?control-mode=manual|control=127.0.0.1:{s.port}|term-length=64k|session-id=58"
    publication = s.client.add_publication(uri, 1005)
    s.told(1)
    to = f"aeron:udp?endpoint=127.0.0.1:{s.port + 1}"
    s.uri_command(wire.ADD_DESTINATION, publication, to)
    s.told(1)
    s.uri_command(wire.REMOVE_DESTINATION, publication, to)
    s.told(1)
    destination = s.uri_command(wire.ADD_DESTINATION, publication, to)
    s.told(1)
    s.client.command(wire.REMOVE_DESTINATION_BY_ID, "qq", publication, destination)
    s.told(1)


def receive_destinations(s: Script) -> None:
    subscription = s.client.add_subscription("aeron:udp?control-mode=manual", 1006)
    s.told(1)
    at = f"aeron:udp?endpoint=127.0.0.1:{s.port}"
    for kind in (ADD_RCV_DESTINATION, REMOVE_RCV_DESTINATION):
        s.uri_command(kind, subscription, at)
        s.told(1)


def counters(s: Script) -> None:
    counter = s.client.add_counter(TYPE_ID, b"12345", b"label")
    s.told(1)
    s.client.command(wire.REMOVE_COUNTER, "q", counter)
    s.told(2)
    number = s.client.next_id()
    for _ in range(2):
        s.client.add_static_counter(TYPE_ID, number, b"12345", b"static")
        s.told(1)


def refusals(s: Script) -> None:
    s.client.add_publication("aeron:ipc?term-length=1000", 1007)
    s.told(1)
    s.client.add_subscription("aeron:nothing", 1007)
    s.told(1)
    s.client.remove_publication(987654)
    s.told(1)
    for kind in (wire.REMOVE_SUBSCRIPTION, wire.REMOVE_COUNTER):
        s.client.command(kind, "q", 987654)
        s.told(1)
    for kind in (wire.ADD_DESTINATION, wire.REMOVE_DESTINATION, ADD_RCV_DESTINATION, REMOVE_RCV_DESTINATION):
        s.uri_command(kind, 987654, f"aeron:udp?endpoint=127.0.0.1:{s.port}")
        s.told(1)
    s.client.reject(987654, 0, b"why not")
    s.told(1)


def ipc_rejection(s: Script) -> None:
    s.client.add_subscription("aeron:ipc", 1008)
    s.told(1)
    s.client.add_publication(IPC, 1008, exclusive=True)
    _, image = s.told(2)
    s.client.reject(image.i64(0), 0, b"No longer valid")
    s.told(3)


def network_rejection(s: Script) -> None:
    s.client.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{s.port}", 1009)
    s.told(1)
    s.client.add_publication(f"aeron:udp?endpoint=127.0.0.1:{s.port}|term-length=64k|session-id=59", 1009)
    _, image = s.told(2)
    s.client.reject(image.i64(0), 0, b"No longer valid")
    s.told(2)


def network_rejection_over_ipv6(s: Script) -> None:
    s.client.add_subscription(f"aeron:udp?endpoint=[::1]:{s.port}", 1013)
    s.told(1)
    s.client.add_publication(f"aeron:udp?endpoint=[::1]:{s.port}|term-length=64k|session-id=60", 1013)
    _, image = s.told(2)
    s.client.reject(image.i64(0), 0, b"No longer valid")
    s.told(2)


def session_ids(s: Script) -> None:
    for _ in range(2):
        s.client.command(wire.GET_NEXT_AVAILABLE_SESSION_ID, "i", 1010)
        s.told(1)


def silence(s: Script) -> None:
    s.client.add_publication(IPC, 1011)
    s.told(1)
    s.told(2)


SCRIPTS = [
    *(publications, network_publications, ipc_images, network_images, spies, destinations, receive_destinations),
    *(counters, refusals, ipc_rejection, network_rejection, network_rejection_over_ipv6, session_ids, silence),
]


@cache
def played(house: House, make: Make, play: Callable[[Script], None]) -> Seen:
    """What a driver tells; a script's streams are on it once."""
    with script(house, make, free_port()) as run:
        play(run)
    return run.seen


def without_tag(seen: Seen) -> Seen:
    """The Java driver tells, where there is no tag, what was in the frame in its place."""
    return [{**event, "group_tag": "any"} if event["type"] == hex(wire.PUBLICATION_ERROR) else event for event in seen]


@pytest.mark.parametrize("make", ["c", "java"])
@pytest.mark.parametrize("play", SCRIPTS, ids=lambda play: play.__name__)
def test_our_driver_tells_what_a_real_driver_tells(house: House, play: Callable[[Script], None], make: Make) -> None:
    ours, theirs = (played(house, each, play) for each in ("ours", make))
    if make == "java":
        ours, theirs = without_tag(ours), without_tag(theirs)
    assert ours == theirs


@pytest.mark.parametrize("make", ["c", "java", "ours"])
def test_a_keepalive_is_taken_for_a_heartbeat(house: House, make: Make) -> None:
    with script(house, make, free_port()) as run:
        counter, _ = run.client.counter_of(HEARTBEAT, run.client.client_id)
        began_ms = time.time_ns() // 1_000_000
        run.client.set_counter(counter, began_ms - 1000)
        run.client.send(wire.CLIENT_KEEPALIVE, struct.pack("<qq", run.client.client_id, -1))
        # A driver looks at the clock now and then.
        wire.eventually(lambda: run.client.counter(counter).value > began_ms - 500, "a heartbeat of now")
        # And it is never answered: the next event is of the next command.
        run.client.command(wire.GET_NEXT_AVAILABLE_SESSION_ID, "i", 1012)
        assert run.told(1)[0].type == wire.NEXT_AVAILABLE_SESSION_ID
