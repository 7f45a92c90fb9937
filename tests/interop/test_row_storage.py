"""The files of a driver's directory."""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from aeronpy.observe.errors import read_errors
from tests.interop import ends
from tests.interop.house import Ends, House, Side, ipc, udp
from tests.interop.matrix import cell, every
from tests.interop.rows import PEERS, Cell
from tests.interop.stage import Driver, Make, free_port

MESSAGES = ends.payloads(40)


def under_test(cell: Cell, pair: Ends) -> Driver:
    """The driver that is set up: the peer's for our client, else ours."""
    make: Make = cell.peer if cell.ours == "client" else "ours"
    return pair.source.driver if pair.source.driver.make == make else pair.target.driver


@every("storage.page_size")
def test_logs_are_whole_pages(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell, local=True, AERON_FILE_PAGE_SIZE="64k"), ipc()
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel, exclusive=True)
    ends.cross(publication, subscription, MESSAGES)

    number = publication.look()["original_registration_id"]
    log = under_test(cell, pair).aeron_dir / "publications" / f"{number}.logbuffer"
    # Three terms of 64k and the metadata, up to the next page.
    assert log.stat().st_size == 4 * 64 * 1024


def modes(house: House, make: Make, umask: str) -> dict[str, str]:
    """What a driver of this umask gives to itself and others, by the kind of file, once a stream went over it."""
    prefix = ("sh", "-c", f'umask {umask}; exec "$@"', "sh")
    driver = house.stage.driver(make, f"{make}-{umask}-{free_port()}", prefix=prefix)
    client = house.client_on("ours", driver)
    subscription, publication = client.subscription(channel := udp()), client.publication(channel, exclusive=True)
    ends.cross(publication, subscription, MESSAGES)
    found = {}
    for path in (driver.aeron_dir, *driver.aeron_dir.rglob("*")):
        name = path.relative_to(driver.aeron_dir)
        kind = f"{name.parent}/*" if name.suffix == ".logbuffer" else str(name)
        assert found.setdefault(kind, mode := oct(stat.S_IMODE(path.stat().st_mode))) == mode
    client.close()
    driver.close()
    return found


@pytest.mark.parametrize("umask", ["000", "027"])
@pytest.mark.parametrize(
    "peer", [pytest.param(each, marks=cell("storage.file_modes", "driver", each)) for each in PEERS]
)
def test_files_are_as_the_reference_makes_them(house: House, peer: Make, umask: str) -> None:
    ours = modes(house, "ours", umask)
    assert ours == modes(house, peer, umask)
    assert ours["cnc.dat"] == ("0o666" if umask == "000" else "0o640")
    assert set(ours) == {".", "cnc.dat", "loss-report.dat", "publications", "images", "publications/*", "images/*"}


@every("storage.file_modes", where=lambda each: each.ours == "client")
def test_our_client_needs_no_more_than_its_own_files(house: House, cell: Cell) -> None:
    """A driver keeps everything to its own user: ours reads and writes what it maps, and widens nothing."""
    prefix = ("sh", "-c", 'umask 077; exec "$@"', "sh")
    driver = house.stage.driver(cell.peer, f"private-{cell}", prefix=prefix)
    ours, theirs = (Side(each, driver, house.client_on(each, driver)) for each in ("ours", cell.peer))
    source, target = (ours, theirs) if cell.direction == "out" else (theirs, ours)
    subscription, publication = target.subscription(ipc()), source.publication(ipc())
    ends.cross(publication, subscription, MESSAGES)
    assert {stat.S_IMODE(each.stat().st_mode) & 0o077 for each in driver.aeron_dir.rglob("*")} == {0}
    for side in (ours, theirs):
        side.close()
        side.client.close()
    driver.close()


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A directory on another file system than /dev/shm."""
    folder = Path(tempfile.mkdtemp(prefix="aeronpy-elsewhere-", dir="/var/tmp"))
    yield folder
    shutil.rmtree(folder)


@every("storage.elsewhere")
def test_a_directory_elsewhere(house: House, cell: Cell, elsewhere: Path) -> None:
    make: Make = cell.peer if cell.ours == "client" else "ours"
    assert elsewhere.stat().st_dev != house.stage.base.stat().st_dev
    driver = house.stage.driver(make, str(elsewhere / "driver"))
    ours, theirs = (Side(each, driver, house.client_on(each, driver)) for each in ("ours", cell.peer))
    source, target = (ours, theirs) if cell.direction == "out" else (theirs, ours)
    subscription, publication = target.subscription(ipc()), source.publication(ipc())
    ends.cross(publication, subscription, MESSAGES)
    for side in (ours, theirs):
        side.close()
        side.client.close()
    driver.close()


@every("storage.low_storage")
def test_little_space_is_told_of(house: House, cell: Cell) -> None:
    pair = house.ends(cell, AERON_LOW_FILE_STORE_WARNING_THRESHOLD="4096g")
    subscription, publication = pair.target.subscription(channel := udp()), pair.source.publication(channel)
    ends.cross(publication, subscription, MESSAGES)

    assert any("space" in each.text for each in read_errors(under_test(cell, pair).aeron_dir))


@every("storage.clean_up")
def test_no_file_stays_behind(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell), udp()
    folder = under_test(cell, pair).aeron_dir
    before = set(folder.rglob("*.logbuffer"))
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel)
    ends.cross(publication, subscription, MESSAGES)
    assert set(folder.rglob("*.logbuffer")) > before
    publication.close()
    subscription.close()

    ends.until(lambda: set(folder.rglob("*.logbuffer")) <= before, "the logs' end")
