"""Where a driver's files lie, what they take, and what becomes of them; and that every idle strategy serves."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from aeronpy import Aeron
from aeronpy._core.native import CncFile, ErrorRecord
from aeronpy.driver import MediaDriver, directory
from aeronpy.driver.option_values import IDLE_STRATEGIES
from aeronpy.errors import RegistrationError
from tests.system.conftest import SHORT
from tests.waiting import until

TERM = 65536
META = 4096
BYTES_MAPPED = 35


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, object]:
    """A directory that is not in /dev/shm."""
    return {**SHORT, "aeron_dir": str(tmp_path / "driver")}


def logs_of(driver: MediaDriver, kind: str) -> list[Path]:
    return sorted(Path(driver.aeron_dir, kind).iterdir())


def cross(aeron: Aeron, channel: str) -> None:
    """One message goes through and everything is closed."""
    subscription = aeron.add_subscription(channel, 7)
    publication = aeron.add_exclusive_publication(channel, 7)
    until(lambda: publication.is_connected and subscription.is_connected)
    publication.send(b"here")
    assert [message.payload for message in subscription.messages(limit=1)] == [b"here"]
    publication.close()
    subscription.close()


@pytest.mark.parametrize("sparse", [True, False])
def test_terms_are_sparse_or_touched(settings: dict[str, object], sparse: bool) -> None:
    with (
        MediaDriver.launch(**settings, term_buffer_sparse_file=sparse) as driver,
        Aeron.connect(aeron_dir=driver.aeron_dir) as aeron,
    ):
        channel = "aeron:udp?endpoint=localhost:24397"
        subscription, publication = aeron.add_subscription(channel, 7), aeron.add_publication(channel, 7)
        until(lambda: publication.is_connected and subscription.is_connected)
        found = [log.stat() for kind in ("publications", "images") for log in logs_of(driver, kind)]

    assert [stat.st_size for stat in found] == [3 * TERM + META] * 2
    assert all((stat.st_blocks * 512 < stat.st_size) == sparse for stat in found)


def test_files_are_multiples_of_the_page_size(settings: dict[str, object]) -> None:
    with (
        MediaDriver.launch(**settings, file_page_size="64k") as driver,
        Aeron.connect(aeron_dir=driver.aeron_dir) as aeron,
    ):
        aeron.add_publication("aeron:ipc", 7)
        (log,) = logs_of(driver, "publications")
        assert log.stat().st_size == 4 * 65536
        assert os.path.getsize(f"{driver.aeron_dir}/cnc.dat") % 65536 == 0
        cross(aeron, "aeron:ipc")


def test_little_space_is_one_warning_however_many_logs_are_made(settings: dict[str, object]) -> None:
    with (
        MediaDriver.launch(**settings, low_file_store_warning_threshold=1 << 60) as driver,
        Aeron.connect(aeron_dir=driver.aeron_dir) as aeron,
    ):
        for stream_id in range(3):
            aeron.add_publication("aeron:ipc", stream_id)
        entries = [entry for entry in errors_of(driver) if "space is running low" in entry.text]

    assert len(entries) == 1
    assert f"threshold={1 << 60}" in entries[0].text


def test_logs_are_looked_at_one_by_one_only_where_space_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    room = 3 * (3 * TERM + META)
    looks: list[str] = []
    real = directory.promised_bytes

    def watched(path: str) -> int:
        looks.append(path)
        return real(path)

    monkeypatch.setattr(directory, "promised_bytes", watched)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=room, f_frsize=1))
    with (
        MediaDriver.launch_embedded(**SHORT, low_file_store_warning_threshold=0) as driver,
        Aeron.connect(aeron_dir=driver.aeron_dir) as aeron,
    ):
        for _ in range(10):  # each gives back what it took
            aeron.add_exclusive_publication("aeron:ipc", 7).close()
            until(lambda: not logs_of(driver, "publications"))
        assert looks == []

        kept = [aeron.add_exclusive_publication("aeron:ipc", 7) for _ in range(3)]
        with pytest.raises(RegistrationError, match="insufficient usable storage") as refused:
            aeron.add_exclusive_publication("aeron:ipc", 7)
        assert (len(looks), len(kept), refused.value.error_code) == (1, 3, 12)


def errors_of(driver: MediaDriver) -> list[ErrorRecord]:
    with CncFile(driver.aeron_dir) as cnc:
        return list(cnc.errors())


def test_logs_go_with_their_streams_and_no_byte_stays_mapped() -> None:
    with MediaDriver.launch_embedded(**SHORT) as driver, Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        before = aeron.counters_reader.value(BYTES_MAPPED)
        files = sum(path.stat().st_size for path in Path(driver.aeron_dir).glob("*.dat"))
        assert before == files
        for _ in range(20):
            cross(aeron, "aeron:ipc")
        cross(aeron, "aeron:udp?endpoint=localhost:24398")
        assert aeron.counters_reader.value(BYTES_MAPPED) > files  # the last ones linger

        until(lambda: aeron.counters_reader.value(BYTES_MAPPED) == files)
        until(lambda: not logs_of(driver, "publications") and not logs_of(driver, "images"))


@pytest.mark.parametrize("strategy", [*IDLE_STRATEGIES, "busy-spin", "sleeping"])
def test_a_driver_serves_with_every_idle_strategy(strategy: str) -> None:
    idle = {f"{agent}_idle_strategy": strategy for agent in ("conductor", "sender", "receiver")}
    if strategy.startswith("sleep"):
        idle |= {f"{name}_init_args": "100us" for name in idle}
    with MediaDriver.launch_embedded(**SHORT, **idle) as driver, Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        cross(aeron, "aeron:ipc")
