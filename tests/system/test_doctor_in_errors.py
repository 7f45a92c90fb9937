"""Errors on connect and on start say what the doctor finds: why there is no driver, who has the directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aeronpy import Aeron, MediaDriver
from aeronpy.errors import ActiveError, ArgumentError, DriverTimeout, VersionError
from aeronpy.observe.doctor import findings
from tests.unit.cnc_files import CncBytes

TIMEOUT_MS = 100


def test_a_client_without_a_driver_hears_what_to_do(tmp_path: Path) -> None:
    nowhere = tmp_path / "aeron-none"
    with pytest.raises(DriverTimeout, match=f"there is no directory {nowhere}; start a media driver"):
        Aeron.connect(aeron_dir=str(nowhere), driver_timeout_ms=TIMEOUT_MS)
    CncBytes(heartbeat_ms=-1).write(tmp_path)
    with pytest.raises(DriverTimeout, match=r"the driver in .* \(pid 4711\) has shut down"):
        Aeron.connect(aeron_dir=str(tmp_path), driver_timeout_ms=TIMEOUT_MS)


def test_a_client_of_another_version_hears_which(tmp_path: Path) -> None:
    CncBytes(version=0x020100).write(tmp_path)
    with pytest.raises(VersionError, match=r"error: the CnC file of .* has version 2\.1\.0: 2\.1\.0 \(limit 0\.x\.x\)"):
        Aeron.connect(aeron_dir=str(tmp_path), driver_timeout_ms=TIMEOUT_MS)


def test_a_driver_whose_directory_is_taken_hears_by_whom(tmp_path: Path) -> None:
    with MediaDriver.launch(aeron_dir=str(tmp_path / "aeron")) as driver:
        with pytest.raises(
            ActiveError, match=rf"error: the driver with pid {os.getpid()} \(\S+\) has {driver.aeron_dir}"
        ):
            MediaDriver.launch(aeron_dir=driver.aeron_dir)
        assert [each for each in findings(driver.aeron_dir) if each.severity == "error"] == []
    with pytest.raises(ArgumentError) as raised:
        MediaDriver.launch(aeron_dir=str(tmp_path / "aeron"), no_such_option=1)
    assert "\n" not in str(raised.value)
