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
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import Driver, Make

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


@every("storage.file_modes")
def test_files_are_as_the_reference_makes_them(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell, local=True), ipc()
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel, exclusive=True)
    ends.cross(publication, subscription, MESSAGES)

    folder = under_test(cell, pair).aeron_dir
    files = [folder / "cnc.dat", folder / "loss-report.dat", *(folder / "publications").glob("*.logbuffer")]
    for each in files:
        # Readable and writable by the owner at least, and nothing to execute.
        mode = stat.S_IMODE(each.stat().st_mode)
        assert mode & 0o600 == 0o600
        assert mode & 0o111 == 0


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
