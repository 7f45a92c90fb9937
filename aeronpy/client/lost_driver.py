"""What became of a driver that is gone: dead, shut down, restarted, or replaced by another version."""

from __future__ import annotations

import re
import time

from aeronpy._core.native import CncFile, CncMapping
from aeronpy.errors import AeronError, DriverRestarted, DriverTimeout, DriverUpgraded, VersionError

# The system counter whose label carries the driver's version: "Errors: version=1.2.3 commit=abc".
_ERRORS_COUNTER = 15


def _version_in(label: str) -> str:
    found = re.search(r"version=(\S+)", label)
    return found[1] if found else ""


def driver_version(file: CncFile | CncMapping) -> str:
    """The version that a driver gives itself, empty where it gives none."""
    info = file.counters.info(_ERRORS_COUNTER)
    return _version_in(info.label) if info is not None and info.type_id == 0 else ""


def _is_live(file: CncFile, timeout_ms: int) -> bool:
    heartbeat_ms = file.heartbeat_timestamp_ms
    return heartbeat_ms > 0 and time.time() * 1e3 - heartbeat_ms <= timeout_ms


def _dead(text: str, lost: CncMapping) -> DriverTimeout:
    return DriverTimeout(
        f"{text}; aeronpy doctor --aeron-dir {lost.directory} says what became of it: start it again, and connect again"
    )


def diagnose(text: str, lost: CncMapping, timeout_ms: int) -> DriverTimeout:
    """The error that ends a client of a lost driver, by what lies in its directory now."""
    try:
        file = CncFile(lost.directory)
    except VersionError as error:
        return DriverUpgraded(f"{text}; {error}")
    except (AeronError, OSError):
        return _dead(text, lost)
    with file:
        is_same = (file.pid, file.start_timestamp_ms) == (lost.pid, lost.start_timestamp_ms)
        if is_same or not _is_live(file, timeout_ms):
            return _dead(text, lost)
        before, now = driver_version(lost), driver_version(file)
        who = f"process {lost.pid} was replaced by process {file.pid}"
        if before != now:
            return DriverUpgraded(f"{text}; {who}, version {before or '?'} by {now or '?'}: connect again")
        return DriverRestarted(f"{text}; {who}: connect again")
