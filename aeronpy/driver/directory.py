"""The life of a driver's directory: refused while alive, saved and replaced when dead (spec: shared memory, 4.1)."""

from __future__ import annotations

import os
from typing import Final

from aeronpy._core import native
from aeronpy.errors import ActiveError, AeronError, StateError, VersionError
from aeronpy.loggers import logger_of

CNC_FILE: Final = "cnc.dat"
LOSS_REPORT_FILE: Final = "loss-report.dat"
PUBLICATIONS: Final = "publications"
IMAGES: Final = "images"
WAITERS: Final = "waiters"  # sockets of clients that sleep; made by the first of them

_log: Final = logger_of(__name__)


def prepare(path: str, *, timeout_ms: int, delete_on_start: bool, warn_if_exists: bool, permissions: int) -> None:
    """Make an empty directory at ``path``; raises `ActiveError` when a live driver has it.

    It and those in it get the permissions, less the umask; files are no more open than their directory.
    """
    if os.path.isdir(path):
        _refuse_foreign(path)
        if warn_if_exists:
            _log.warning("aeron directory %s exists already", path)
        if not delete_on_start:
            _refuse_active(path, timeout_ms, warn_if_exists)
            _save_errors(path)
        import shutil

        shutil.rmtree(path)
    os.makedirs(path, mode=permissions)
    for name in (PUBLICATIONS, IMAGES):
        os.mkdir(os.path.join(path, name), mode=permissions)


def remove(path: str) -> None:
    """Delete a directory with all that is in it, as far as that can be done."""
    import shutil

    shutil.rmtree(path, ignore_errors=True)


def _refuse_foreign(path: str) -> None:
    """A directory without a CnC file that holds other things is somebody's mistake, and not ours to delete."""
    names = set(os.listdir(path))
    foreign = names - {LOSS_REPORT_FILE, PUBLICATIONS, IMAGES, WAITERS}
    if CNC_FILE not in names and foreign:
        raise StateError(
            f"{path} is no Aeron directory: it holds {', '.join(sorted(foreign)[:3])}; give another aeron_dir"
        )


def _refuse_active(path: str, timeout_ms: int, warn_if_exists: bool) -> None:
    if not os.path.exists(os.path.join(path, CNC_FILE)):
        return
    try:
        is_active, age_ms = native.driver_heartbeat_age_ms(path, timeout_ms)
    except VersionError as error:
        raise ActiveError(f"{path} holds files of another version, which are not ours to replace: {error}") from error
    except AeronError as error:
        _log.warning("%s: %s; it is replaced", path, error)
        return
    if warn_if_exists:
        _log.warning("heartbeat of the driver in %s is %d ms old", path, age_ms)
    if is_active:
        raise ActiveError(
            f"Active media driver detected in {path}: its heartbeat is {age_ms} ms old, younger than the driver "
            f"timeout of {timeout_ms} ms; stop it, or give this driver another aeron_dir"
        )


def _save_errors(path: str) -> None:
    """Keep the error log of the driver before us beside the directory, if it has entries."""
    try:
        with native.CncFile(path) as cnc:
            entries = list(cnc.errors())
    except AeronError:
        return  # no driver was ever ready here
    if not entries:
        return
    from datetime import datetime

    now = datetime.now().astimezone()
    stamp = f"{now:%Y-%m-%d %H-%M-%S}.{now.microsecond // 1000:03d}{now:%z}"
    target = f"{path.rstrip('/')}-{stamp}-error.log"
    with open(target, "w", encoding="utf-8") as file:
        for entry in entries:
            first, last = _local_time(entry.first_observation_ms), _local_time(entry.last_observation_ms)
            file.write(f"***\n{entry.observations} observations from {first} to {last} for:\n {entry.text}\n")
        file.write(f"\n{len(entries)} distinct errors observed.\n")
    _log.warning("the error log of the driver before was saved to %s", target)


def _local_time(epoch_ms: int) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(epoch_ms / 1000).astimezone().isoformat(timespec="milliseconds")


def promised_bytes(path: str) -> int:
    """Bytes that the sparse logs here may still take: their length less what they have."""
    promised = 0
    for kind in (PUBLICATIONS, IMAGES):
        with os.scandir(os.path.join(path, kind)) as entries:
            for entry in entries:
                try:
                    found = entry.stat()
                except FileNotFoundError:
                    continue
                promised += max(found.st_size - found.st_blocks * 512, 0)
    return promised


def log_path(path: str, kind: str, correlation_id: int) -> str:
    """Where a publication's or image's log lies."""
    return os.path.join(path, kind, f"{correlation_id}.logbuffer")


def remove_log(path: str) -> None:
    """Delete a log that nobody needs any more; it may be gone already."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
