"""Drivers and clients that a module of tests shares, and the two ends of a stream for a cell of the matrix."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aeronpy._core.native import CncFile
from aeronpy.observe.counters import DriverSnapshot
from tests.interop import ends
from tests.interop.lines import JavaHost, Lines
from tests.interop.ours import OurClient
from tests.interop.rows import Cell
from tests.interop.stage import TERM_LENGTH, Driver, Make, Stage, Threading, free_port

TIMEOUT_MS = 10_000


@dataclass
class Side:
    """A client on a driver. What it makes is closed with the test."""

    make: Make
    driver: Driver
    client: ends.Client
    stream_id: int = 1001
    made: list[Any] = field(default_factory=list)
    _events: list[list[Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        # What an earlier test left behind.
        self.client.events()

    def publication(self, channel: str, stream_id: int = 0, *, exclusive: bool = False) -> ends.Publication:
        """A publication on the pair's own stream, or on another."""
        return self._keep(self.client.publication(channel, stream_id or self.stream_id, exclusive=exclusive))

    def subscription(self, channel: str, stream_id: int = 0) -> ends.Subscription:
        """A subscription to the pair's own stream, or to another."""
        return self._keep(self.client.subscription(channel, stream_id or self.stream_id))

    def _keep(self, thing: Any) -> Any:
        self.made.append(thing)
        return thing

    def events(self, name: str, number: int | None = None) -> list[list[Any]]:
        """The events of a name that this client's handlers saw while the test ran, of a session or registration."""
        self._events += self.client.events()
        return [each[1:] for each in self._events if each[0] == name and number in (None, each[1])]

    def counter(self, number: int) -> int:
        """A system counter of the driver."""
        return system_counter(self.driver, number)

    def labels(self) -> dict[str, int]:
        """Every counter of the driver by its label; of equal labels the last."""
        with CncFile(str(self.driver.aeron_dir)) as cnc:
            return {each.label: each.value for each in DriverSnapshot.take(cnc).counters}

    def close(self) -> None:
        for thing in reversed(self.made):
            thing.close()
        self.made.clear()


def system_counter(driver: Driver, number: int) -> int:
    """A system counter by its id."""
    with CncFile(str(driver.aeron_dir)) as cnc:
        return DriverSnapshot.take(cnc).counters[number].value


@dataclass
class Ends:
    """Where a stream of a cell starts and where it ends."""

    source: Side
    target: Side


class House:
    """Starts drivers and clients when they are first asked for; a module shares them."""

    def __init__(self, java_host: Callable[[], JavaHost], settings: dict[str, str]) -> None:
        self._java_host = java_host
        self._settings = settings
        self.stage = Stage(java_host)
        self._drivers: dict[tuple[object, ...], Driver] = {}
        self._clients: dict[tuple[Make, Path], ends.Client] = {}
        self._agents: dict[Make, Lines] = {}
        self._sides: list[Side] = []
        self._streams = itertools.count(1001)

    def driver(self, make: Make, threading: Threading = "SHARED", **settings: str) -> Driver:
        """The driver of a make that is set up so."""
        key = (make, threading, *sorted(settings.items()))
        if key not in self._drivers:
            name = f"driver-{len(self._drivers)}-{make}"
            given = {**self._settings, **settings}
            self._drivers[key] = self.stage.driver(make, name, threading=threading, settings=given)
        return self._drivers[key]

    def client_on(self, make: Make, driver: Driver, name: str = "") -> ends.Client:
        """A new client of a make."""
        if make == "ours":
            client = OurClient(driver.aeron_dir, TIMEOUT_MS, name)
            self.stage.closing(client.close)
            return client
        return ends.ToldClient(self.agent(make), str(driver.aeron_dir), TIMEOUT_MS, name)

    def agent(self, make: Make) -> Lines:
        """The general client program of a peer."""
        if make not in self._agents:
            self._agents[make] = self.stage.agent(make)
        return self._agents[make]

    def side(self, make: Make, on: Driver | None = None) -> Side:
        """A client on the driver of its own make, or on another; its things are closed after the test."""
        driver = on or self.driver(make)
        key = (make, driver.aeron_dir)
        if key not in self._clients:
            self._clients[key] = self.client_on(make, driver)
        side = Side(make, driver, self._clients[key])
        self._sides.append(side)
        return side

    def ends(self, cell: Cell, threading: Threading = "SHARED", *, local: bool = False, **settings: str) -> Ends:
        """Both ends of a cell's stream.

        Our client and the peer's share the peer's driver; our driver and the peer's have a client of their own make;
        where the stream crosses no wire (local), the peer's client is on our driver. The driver under test, the peer's
        for our client and ours otherwise, is set up as given.
        """
        if cell.ours == "client":
            driver = self.driver(cell.peer, threading, **settings)
            ours, theirs = self.side("ours", driver), self.side(cell.peer, driver)
        else:
            driver = self.driver("ours", threading, **settings)
            ours, theirs = self.side("ours", driver), self.side(cell.peer, driver if local else None)
        # What lingers of an earlier test's stream must not be met again.
        ours.stream_id = theirs.stream_id = next(self._streams)
        return Ends(ours, theirs) if cell.direction == "out" else Ends(theirs, ours)

    def wire(self, cell: Cell, target_settings: Callable[[Make], dict[str, str]]) -> Ends:
        """Both ends of a cell's stream, on drivers of their own where the receiving one is set up as given."""
        ours: Make = cell.peer if cell.ours == "client" else "ours"
        source_make, target_make = (ours, cell.peer) if cell.direction == "out" else (cell.peer, ours)
        clients: tuple[Make, Make] = ("ours", cell.peer) if cell.direction == "out" else (cell.peer, "ours")
        source = self.side(clients[0], self.driver(source_make))
        target = self.side(clients[1], self.driver(target_make, **target_settings(target_make)))
        source.stream_id = target.stream_id = next(self._streams)
        return Ends(source, target)

    def tidy(self) -> None:
        """Close what a test made."""
        for side in self._sides:
            side.close()
        self._sides.clear()

    def close(self) -> None:
        self.stage.close()


def udp(*params: str, port: int | None = None) -> str:
    """A unicast channel with short terms on a free port."""
    endpoint = f"endpoint=127.0.0.1:{port or free_port()}"
    return "aeron:udp?" + "|".join([endpoint, f"term-length={TERM_LENGTH}", *params])


def ipc(*params: str) -> str:
    """An IPC channel with short terms."""
    return "aeron:ipc?" + "|".join([f"term-length={TERM_LENGTH}", *params])
