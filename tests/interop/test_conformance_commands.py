"""Commands byte by byte: what each client writes into the ring while no driver reads it."""

from __future__ import annotations

import os
import signal
import struct
import threading
from collections.abc import Callable

import pytest

from aeronpy import request_driver_termination
from tests.interop import ends
from tests.interop.conformance import stop
from tests.interop.house import House, Side
from tests.interop.lines import Process
from tests.interop.stage import Make, free_port
from tests.system import protocol_client as wire
from tests.system.protocol_client import ProtocolClient

ADD_RCV_DESTINATION, REMOVE_RCV_DESTINATION = 0x0C, 0x0D
IPC = b"aeron:ipc?term-length=64k"
TYPE_ID, HEARTBEAT = 4321, 11
MDC = "aeron:udp?control-mode=manual|control=127.0.0.1:{}|term-length=64k"
MDS = "aeron:udp?control-mode=manual"

Commands = list[tuple[int, bytes]]


@pytest.fixture(params=["c", "java", "ours"])
def side(request: pytest.FixtureRequest, house: House) -> Side:
    """A client of each make, on the C driver; the real ones show that the expectations are the reference's."""
    make: Make = request.param
    return house.side(make, house.driver("c"))


def written(side: Side, call: Callable[[], object], *types: int, every: bool = False) -> Commands:
    """What a call writes while the driver is stopped, of these types or everything once these are there; its answer is
    awaited when the driver goes on."""
    assert isinstance(side.driver.program, Process)
    number, ring = side.driver.program.process.pid, ProtocolClient(str(side.driver.aeron_dir))
    failures: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except (ends.Refused, OSError, RuntimeError) as failure:
            failures.append(failure)

    caller = threading.Thread(target=run, name="caller")
    wire.eventually(ring.is_read, "an empty ring")
    try:
        stop(number)
        caller.start()

        def found() -> Commands:
            return [each for each in ring.unread() if each[0] in types]

        commands: Commands = ends.until(lambda: found() if len(found()) >= len(types) else [], "the commands")
        commands = ring.unread() if every else commands
    finally:
        os.kill(number, signal.SIGCONT)
        if caller.ident is not None:
            caller.join(20)
        ring.close()
    assert not caller.is_alive()
    assert not failures, failures
    return commands


def body(command: tuple[int, bytes], client_id: int, correlated: bool = True) -> bytes:
    """What follows the prefix, which names this client and a correlation id."""
    owner, correlation_id = struct.unpack_from("<qq", command[1])
    assert owner == client_id
    assert (correlation_id >= 0) == correlated
    return command[1][16:]


def one(side: Side, type_id: int, call: Callable[[], object]) -> bytes:
    (command,) = written(side, call, type_id)
    return body(command, side.client.client_id)


def named(text: bytes) -> bytes:
    return struct.pack("<i", len(text)) + text


@pytest.mark.parametrize("exclusive", [False, True], ids=["shared", "exclusive"])
def test_add_and_remove_a_publication(side: Side, exclusive: bool) -> None:
    made: list[ends.Publication] = []
    add = wire.ADD_EXCLUSIVE_PUBLICATION if exclusive else wire.ADD_PUBLICATION
    found = one(side, add, lambda: made.append(side.publication(IPC.decode(), 77, exclusive=exclusive)))
    assert found == struct.pack("<i", 77) + named(IPC)

    number = made[0].look()["registration_id"]
    assert one(side, wire.REMOVE_PUBLICATION, made[0].close) == struct.pack("<qQ", number, 0)


def test_revoke_a_publication(side: Side) -> None:
    publication = side.publication(IPC.decode(), 78, exclusive=True)
    number = publication.look()["registration_id"]
    assert one(side, wire.REMOVE_PUBLICATION, publication.revoke) == struct.pack("<qQ", number, 1)


def test_add_and_remove_a_subscription(side: Side) -> None:
    made: list[ends.Subscription] = []
    found = one(side, wire.ADD_SUBSCRIPTION, lambda: made.append(side.subscription(IPC.decode(), 79)))
    # Unused: the C client leaves in it what was there.
    assert found[:8] == struct.pack("<q", -1) or side.make == "c"
    assert found[8:] == struct.pack("<i", 79) + named(IPC)

    number = made[0].look()["registration_id"]
    assert one(side, wire.REMOVE_SUBSCRIPTION, made[0].close) == struct.pack("<q", number)


def test_destinations_of_a_publication(side: Side) -> None:
    publication, numbers = side.publication(MDC.format(free_port())), []
    owner = publication.look()["original_registration_id"]
    uri = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    expected = struct.pack("<q", owner) + named(uri.encode())
    assert one(side, wire.ADD_DESTINATION, lambda: numbers.append(publication.add_destination(uri))) == expected
    assert one(side, wire.REMOVE_DESTINATION, lambda: publication.remove_destination(uri)) == expected


def test_remove_a_destination_by_its_number(side: Side) -> None:
    publication = side.publication(MDC.format(free_port()))
    owner = publication.look()["original_registration_id"]
    number = publication.add_destination(f"aeron:udp?endpoint=127.0.0.1:{free_port()}")
    found = one(side, wire.REMOVE_DESTINATION_BY_ID, lambda: publication.remove_destination_by_id(number))
    # The C client names the publication twice.
    assert found == struct.pack("<qq", owner, owner if side.make == "c" else number)


def test_destinations_of_a_subscription(side: Side) -> None:
    subscription = side.subscription(MDS)
    owner = subscription.look()["registration_id"]
    uri = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    expected = struct.pack("<q", owner) + named(uri.encode())
    assert one(side, ADD_RCV_DESTINATION, lambda: subscription.add_destination(uri)) == expected
    assert one(side, REMOVE_RCV_DESTINATION, lambda: subscription.remove_destination(uri)) == expected


@pytest.mark.parametrize("key", [b"", b"12345", b"12345678"], ids=len)
def test_add_and_remove_a_counter(side: Side, key: bytes) -> None:
    made: list[ends.Counter] = []
    found = one(side, wire.ADD_COUNTER, lambda: made.append(side.client.counter(TYPE_ID, "label", key)))
    expected = struct.pack("<i", TYPE_ID) + named(key) + bytes(-len(key) % 4) + named(b"label")
    assert found[: len(expected)] == expected
    # The Java client claims four bytes more than it fills.
    assert len(found) - len(expected) in ((0, 4) if side.make == "java" else (0,))

    number = made[0].look()["registration_id"]
    assert one(side, wire.REMOVE_COUNTER, made[0].close) == struct.pack("<q", number)


def test_add_a_static_counter(side: Side) -> None:
    key, number = b"12345", 880_000 + free_port()
    found = one(side, wire.ADD_STATIC_COUNTER, lambda: side.client.counter(TYPE_ID, "label", key, number))
    expected = struct.pack("<qi", number, TYPE_ID) + named(key) + bytes(3) + named(b"label")
    assert found[: len(expected)] == expected
    assert len(found) - len(expected) in ((0, 4) if side.make == "java" else (0,))


def test_ask_for_a_session_id(side: Side) -> None:
    found = one(side, wire.GET_NEXT_AVAILABLE_SESSION_ID, lambda: side.client.next_session_id(1009))
    assert found == struct.pack("<i", 1009)


@pytest.mark.parametrize("reason", ["No longer valid", "no"])
def test_reject_an_image(side: Side, reason: str) -> None:
    # What the Java client writes for a shorter reason, the C driver does not answer.
    reason = reason.ljust(4, "!") if side.make == "java" else reason
    subscription = side.subscription(IPC.decode(), 81)
    publication = side.publication(IPC.decode(), 81, exclusive=True)
    ends.cross(publication, subscription, [b"taken"])
    image = ends.image_of(subscription)

    (command,) = written(side, lambda: subscription.reject(image["session_id"], reason), wire.REJECT_IMAGE)
    # The C client leaves the prefix as it is.
    if side.make != "c":
        body(command, side.client.client_id)
    expected = struct.pack("<qq", image["correlation_id"], image["position"]) + named(reason.encode())
    assert command[1][16:].rstrip(b"\0") == expected
    if side.make == "ours":
        assert len(command[1]) >= 40


def test_a_client_closes(house: House, side: Side) -> None:
    client = house.client_on(side.make, side.driver, "short-lived")
    client.publication(IPC.decode(), 82)
    commands = [each for each in written(side, client.close, wire.CLIENT_CLOSE) if each[0] == wire.CLIENT_CLOSE]
    assert [body(each, client.client_id, correlated=False) for each in commands] == [b""]


def test_a_client_that_lives_writes_no_keepalive(side: Side) -> None:
    """All keep alive by their counter; the command is left to clients of old."""
    side.publication(IPC.decode(), 83)
    ring = ProtocolClient(str(side.driver.aeron_dir))
    counter, _ = ring.counter_of(HEARTBEAT, side.client.client_id)

    def beats() -> None:
        for _ in range(2):
            before = ring.counter(counter).value
            wire.eventually(lambda before=before: ring.counter(counter).value > before, "a heartbeat")

    # The command after them is found, so would one between be.
    found = written(
        side, lambda: (beats(), side.client.next_session_id(1010)), wire.GET_NEXT_AVAILABLE_SESSION_ID, every=True
    )
    ring.close()
    assert found[-1][0] == wire.GET_NEXT_AVAILABLE_SESSION_ID
    assert wire.CLIENT_KEEPALIVE not in [kind for kind, _ in found]


@pytest.mark.parametrize("make", ["c", "java", "ours"])
def test_ask_a_driver_to_end(house: House, make: Make) -> None:
    side = house.side(make, house.driver("c"))
    directory = str(side.driver.aeron_dir)

    def ask() -> None:
        if make == "ours":
            request_driver_termination(directory, b"token")
        else:
            ends.ask(house.agent(make), "terminate", directory, b"token".hex())

    (command,) = written(side, ask, wire.TERMINATE_DRIVER)
    assert command[1][16:] == named(b"token")
