"""A driver after hundreds of streams and thousands of senseless commands: it holds what it held, and works."""

from __future__ import annotations

import os
import random
import struct

import pytest

from aeronpy.driver import MediaDriver
from tests.system import protocol_client as p
from tests.system.conftest import SHORT
from tests.system.protocol_client import ProtocolClient, eventually

CYCLES = 500
COMMANDS = 10_000
QUICK = SHORT | {"timer_interval": "5ms", "publication_linger_timeout": "5ms", "image_liveness_timeout": "50ms"}
CLIENT_COMMANDS = [
    *(p.ADD_PUBLICATION, p.REMOVE_PUBLICATION, p.ADD_EXCLUSIVE_PUBLICATION, p.ADD_SUBSCRIPTION),
    *(p.REMOVE_SUBSCRIPTION, p.CLIENT_KEEPALIVE, p.ADD_DESTINATION, 0x08, p.ADD_COUNTER, p.REMOVE_COUNTER),
    *(0x0C, 0x0D, p.TERMINATE_DRIVER, p.ADD_STATIC_COUNTER, p.REJECT_IMAGE, p.REMOVE_DESTINATION_BY_ID),
    *(p.GET_NEXT_AVAILABLE_SESSION_ID, 0x13, 77),
]
PIECES = [
    *("aeron:ipc", "aeron:udp?", "aeron-spy:aeron:udp?", "endpoint=127.0.0.1:24443", "endpoint=127.0.0.1:0", "|"),
    *("control=127.0.0.1:24444", "control-mode=manual", "control-mode=dynamic", "tags=1,2", "session-id=7", "mtu=1408"),
    *("term-length=64k", "term-length=", "linger=0", "sparse=true", "endpoint=224.10.9.9:24445", "=", ":", "\x7f"),
]


def held(aeron_dir: str) -> tuple[int, list[str]]:
    """Descriptors of this process, and files of the driver."""
    files = [name for kind in ("publications", "images") for name in os.listdir(os.path.join(aeron_dir, kind))]
    return len(os.listdir("/proc/self/fd")), files


def add_when_possible(client: ProtocolClient, channel: str) -> int:
    """Add a publication, again while the endpoint of the one before is closing (error 10 asks for that)."""
    while True:
        publication = client.add_publication(channel, 7)
        answer = client.expect(p.PUBLICATION_READY, p.ERROR)
        if answer.type == p.PUBLICATION_READY:
            return publication
        assert answer.i32(8) == 10, answer.text(12)


@pytest.mark.parametrize("channel", ["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:24442"])
def test_streams_that_come_and_go_leave_nothing(channel: str) -> None:
    with MediaDriver.launch_embedded(**QUICK) as driver:
        client = ProtocolClient(driver.aeron_dir)
        client.first_add()
        before, counters_before = held(driver.aeron_dir), sorted(client.counters())
        for _ in range(CYCLES):
            subscription = client.add_subscription(channel, 7)
            client.expect(p.SUBSCRIPTION_READY)
            publication = add_when_possible(client, channel)
            client.expect(p.AVAILABLE_IMAGE)
            client.command(p.REMOVE_SUBSCRIPTION, "q", subscription)
            client.expect(p.OPERATION_SUCCESS)
            client.remove_publication(publication)
            client.expect(p.OPERATION_SUCCESS)
            client.heartbeat()

        eventually(lambda: held(driver.aeron_dir) == before, "descriptors and files are as before")
        eventually(lambda: sorted(client.counters()) == counters_before, "counters are as before")
        assert client.counter(15).value == 0
        client.close()


def senseless(rng: random.Random, client: ProtocolClient) -> tuple[int, bytes]:
    """A command with a right head, mostly, and what may or may not be a body."""
    type_id = rng.choice(CLIENT_COMMANDS)
    head = struct.pack("<qq", client.client_id, client.next_id())
    if rng.random() < 0.4 and type_id in (p.ADD_PUBLICATION, p.ADD_EXCLUSIVE_PUBLICATION, p.ADD_SUBSCRIPTION):
        channel = "".join(rng.choices(PIECES, k=rng.randint(1, 5))).encode()
        before_stream = struct.pack("<q", -1) if type_id == p.ADD_SUBSCRIPTION else b""
        return type_id, head + before_stream + struct.pack("<ii", rng.randint(1, 3), len(channel)) + channel
    if rng.random() < 0.3:
        return type_id, head + struct.pack("<q", rng.randrange(client.client_id, client.client_id + 2000))
    return type_id, (head + rng.randbytes(rng.randint(0, 120)))[: rng.randint(1, 140)]


@pytest.mark.timeout(120)
def test_thousands_of_senseless_commands_are_answered_and_survived() -> None:
    rng = random.Random(20260102)
    with MediaDriver.launch_embedded(**QUICK) as driver:
        client = ProtocolClient(driver.aeron_dir)
        client.first_add()
        refusals = []

        def answered(correlation_id: int) -> bool:
            while (event := client.receive()) is not None:
                if event.type == p.ERROR:
                    refusals.append(event.text(12))
                elif event.type == p.NEXT_AVAILABLE_SESSION_ID and event.i64(0) == correlation_id:
                    return True
            return False

        for sent in range(COMMANDS):
            client.send(*senseless(rng, client))
            if sent % 50 == 49:
                asked = client.command(p.GET_NEXT_AVAILABLE_SESSION_ID, "i", 7)
                eventually(lambda asked=asked: answered(asked), "the driver answers")
                client.heartbeat()

        assert len(refusals) > COMMANDS / 4
        assert all(text and "\n" not in text and "Traceback" not in text for text in refusals)
        unexpected = {text.split(":")[0] for text in refusals if text.split(":")[0].isidentifier()} & BUGS
        assert unexpected == set()

        client.command(p.CLIENT_CLOSE, "")
        other = ProtocolClient(driver.aeron_dir)
        other.first_add()
        eventually(lambda: held(driver.aeron_dir)[1] == [], "all logs of the closed client are gone")
        other.close()
        client.close()


# What Python calls a mistake in the driver itself rather than in the command.
BUGS = {"AttributeError", "KeyError", "IndexError", "TypeError", "AssertionError", "UnicodeDecodeError", "error"}
