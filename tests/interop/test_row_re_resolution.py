"""Names that get another address: publications follow them when nothing is heard from the old one."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.faults.links import need_root
from tests.interop import ends
from tests.interop.house import House
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import TERM_LENGTH, Driver, Make, free_port

NAME = "moving.aeronpy.test"
OLD, NEW = "127.0.0.1", "127.0.0.2"
_streams = itertools.count(5001)


class Moving:
    """Drivers that have a file of hosts of their own, in a mount namespace, and may be told that a name moved."""

    def __init__(self, house: House, folder: Path) -> None:
        need_root("unshare", "mount")
        self._house = house
        self._hosts = folder / "hosts"
        self._drivers: dict[Make, Driver] = {}

    def put(self, host: str) -> None:
        """The name stands for this address from now on. The file stays the same one, since it is mounted."""
        self._hosts.write_text(f"127.0.0.1 localhost\n{host} {NAME}\n")

    def driver(self, make: Make) -> Driver:
        if make not in self._drivers:
            inside = f'mount --bind {self._hosts} /etc/hosts && exec "$@"'
            prefix = ("unshare", "--mount", "sh", "-c", inside, "sh")
            # Java keeps what it has looked up, unless told otherwise.
            settings = {"SUN_NET_INETADDR_TTL": "0"} if make == "java" else {}
            self._drivers[make] = self._house.stage.driver(make, f"moving-{make}", settings=settings, prefix=prefix)
        return self._drivers[make]


@pytest.fixture(scope="module")
def moving(shared_house: House, tmp_path_factory: pytest.TempPathFactory) -> Moving:
    found = Moving(shared_house, tmp_path_factory.mktemp("hosts"))
    found.put(OLD)
    return found


@every("mdc.re_resolution", "names.re_resolution")
def test_publications_follow_a_name(house: House, moving: Moving, cell: Cell) -> None:
    moving.put(OLD)
    ours: Make = cell.peer if cell.ours == "client" else "ours"
    source_make: Make = ours if cell.direction == "out" else cell.peer
    client_makes: tuple[Make, Make] = ("ours", cell.peer) if cell.direction == "out" else (cell.peer, "ours")
    source = house.side(client_makes[0], moving.driver(source_make))
    target = house.side(client_makes[1])
    streams = next(_streams), next(_streams)
    ports = free_port(), free_port()
    cast = source.publication(f"aeron:udp?control-mode=manual|term-length={TERM_LENGTH}", streams[0], exclusive=True)
    cast.add_destination(f"aeron:udp?endpoint={NAME}:{ports[0]}")
    unicast = source.publication(
        f"aeron:udp?endpoint={NAME}:{ports[1]}|term-length={TERM_LENGTH}", streams[1], exclusive=True
    )

    def receive_at(host: str) -> list[ends.Subscription]:
        found = [
            target.subscription(f"aeron:udp?endpoint={host}:{port}", stream)
            for port, stream in zip(ports, streams, strict=True)
        ]
        for publication, subscription in zip((cast, unicast), found, strict=True):
            ends.image_of(subscription)
            ends.connected(publication)
            ends.cross(publication, subscription, ends.payloads(9))
        return found

    changes = source.counter(25)
    for subscription in receive_at(OLD):
        subscription.close()
    moving.put(NEW)
    receive_at(NEW)
    assert source.counter(25) == changes + 2
