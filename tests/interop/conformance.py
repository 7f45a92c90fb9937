"""The scene of the tests that compare frames: a publisher and a subscriber of any make, with a relay between them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.interop import ends
from tests.interop.capture import Fields, Relay, Sent, common
from tests.interop.house import House, Side
from tests.interop.stage import Driver, Make, Threading, free_port
from tests.system.wire import DATA, PAD

Role = tuple[Make, Make]
REAL: Role = ("c", "c")
ROLES: tuple[Role, ...] = (REAL, ("ours", "c"), ("c", "ours"))
JAVA: tuple[Role, ...] = (("ours", "java"), ("java", "ours"))
SESSION, STREAM, TERM = 0x1234, 1001, 7

RECEIVER = "78 3e ed ab da 33 2f bb"

# The captures of the protocol's description, of real C drivers.
SETUP_UNICAST = (
    "28 00 00 00 00 00 05 00 00 00 00 00 34 12 00 00 e9 03 00 00 07 00 00 00 07 00 00 00 00 00 01 00 80 05 00 00"
    " 00 00 00 00"
)
SETUP_MULTICAST = (
    "28 00 00 00 00 40 05 00 00 00 00 00 fe ff ff ff ea 03 00 00 00 00 00 00 00 00 00 00 00 00 01 00 80 05 00 00"
    " 03 00 00 00"
)
SM_PLAIN = f"24 00 00 00 00 00 03 00 34 12 00 00 e9 03 00 00 07 00 00 00 00 00 00 00 00 80 00 00 {RECEIVER}"
SM_TAGGED = (
    "2c 00 00 00 00 00 03 00 34 12 00 00 e9 03 00 00 07 00 00 00 00 00 00 00 00 80 00 00 10 4b c5 af f6 4c c9 1e"
    " 63 00 00 00 00 00 00 00"
)
HELLO = (
    "2c 00 00 00 00 c0 01 00 00 00 00 00 34 12 00 00 e9 03 00 00 07 00 00 00 00 00 00 00 00 00 00 00"
    " 48 65 6c 6c 6f 20 41 65 72 6f 6e 21" + " 00" * 20
)
PAD_AT_END = "40 00 00 00 00 c0 00 00 c0 ff 00 00 34 12 00 00 e9 03 00 00 07 00 00 00" + " 00" * 8
HEARTBEAT = "00 00 00 00 00 c0 01 00 00 00 00 00 34 12 00 00 e9 03 00 00 07 00 00 00" + " 00" * 8
SETUP_FOR_RESPONSES = (
    "28 00 00 00 00 80 05 00 00 00 00 00 6f 00 00 00 d1 07 00 00 00 01 00 00 00 01 00 00 00 00 01 00 80 05 00 00"
    " 00 00 00 00"
)
RESPONSE_SETUP = "14 00 00 00 00 00 0b 00 6f 00 00 00 d1 07 00 00 de 00 00 00"
REJECTED = (
    "37 00 00 00 00 00 04 00 34 12 00 00 e9 03 00 00 dd 51 43 26 96 a8 f1 6c ff ff ff ff ff ff ff ff 0d 00 00 00"
    " 0f 00 00 00" + b"No longer valid".hex()
)

# Who publishes and who subscribes; both real shows that the expectations are the reference's.
with_java = pytest.mark.parametrize("role", [*ROLES, *JAVA], ids=lambda role: f"{role[0]}-to-{role[1]}")


@dataclass
class Scene:
    """A publisher and a subscriber with the relay between them."""

    relay: Relay
    source: Side
    target: Side
    target_port: int
    host: str

    def publish(self, *params: str, offset: int = 0) -> ends.Publication:
        start = f"init-term-id={TERM}|term-id={TERM}|term-offset={offset}|session-id={SESSION}"
        channel = f"aeron:udp?endpoint={self.host}:{self.relay.port}|term-length=64k|mtu=1408|{start}"
        return self.source.publication("|".join([channel, *params]), STREAM, exclusive=True)

    def subscribe(self, *params: str) -> ends.Subscription:
        channel = f"aeron:udp?endpoint={self.host}:{self.target_port}"
        return self.target.subscription("|".join([channel, *params]), STREAM)

    def wait(self, condition: Callable[[Sent], bool], count: int = 1, after: float = 0.0) -> list[Sent]:
        """The first frames that are so, once there are as many."""

        def found() -> list[Sent]:
            frames = [each for each in self.relay.seen() if each.time > after and condition(each)]
            return frames if len(frames) >= count else []

        came: list[Sent] = ends.until(found, f"{count} such frames")
        return came[:count]

    def data(self) -> list[bytes]:
        return [each.bytes for each in self.relay.seen(DATA, PAD) if not each.is_heartbeat]


@contextmanager
def scene(house: House, role: Role, host: str = "127.0.0.1", **target_settings: str) -> Iterator[Scene]:
    source = house.side(role[0], house.driver(role[0]))
    # Where both are real, each is a driver of its own too.
    mode: Threading = "SHARED_NETWORK" if role == REAL else "SHARED"
    target = house.side(role[1], house.driver(role[1], mode, **target_settings))
    port = free_port()
    with Relay(port, host.strip("[]")) as relay:
        yield Scene(relay, source, target, port, host)


def stop(number: int) -> None:
    """Stop a process, and return when it has: its threads run on for a moment behind the signal."""
    os.kill(number, signal.SIGSTOP)
    threads = [*Path(f"/proc/{number}/task").iterdir()]
    ends.until(lambda: all((each / "stat").read_text().rpartition(") ")[2][0] == "T" for each in threads), "the stop")


@contextmanager
def stopped(driver: Driver) -> Iterator[None]:
    """The driver sees what happens meanwhile all at once afterwards."""
    assert driver.process is not None
    number = driver.process.process.pid
    try:
        stop(number)
        yield
    finally:
        os.kill(number, signal.SIGCONT)


def vector(text: str) -> Fields:
    return common(bytes.fromhex(text))


def moved(text: str, **changed: int | str) -> Fields:
    """A capture with other values in some fields."""
    return {**vector(text), **changed}
