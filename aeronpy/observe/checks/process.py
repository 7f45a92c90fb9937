"""Limits of the driver's process: descriptors and mappings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from aeronpy.observe.driver import Life
from aeronpy.observe.files import CNC_FILE
from aeronpy.observe.finding import Finding, Severity
from aeronpy.observe.patient import Patient
from aeronpy.observe.processes import Use, holds_file, memory_maps, open_files, own_file_limit, process_state

NEARLY: Final = 0.8
FILES_MIN: Final = 1024


def _driver_pid(patient: Patient) -> int | None:
    """The live driver's pid, where this process may look at it and it is the driver indeed."""
    if patient.life is not Life.ALIVE or patient.pid is None:
        return None
    return patient.pid if holds_file(patient.pid, os.path.join(patient.aeron_dir, CNC_FILE)) else None


def _used(check: str, what: str, use: Use, unit: str, remedy: str) -> Finding:
    if use.used >= NEARLY * use.limit:
        return Finding(
            check, Severity.WARNING, f"{what}, and has nearly all that it may", use.used, use.limit, unit, remedy
        )
    return Finding(check, Severity.OK, what, use.used, use.limit, unit)


def check_files(patient: Patient) -> Iterator[Finding]:
    """Open descriptors: each UDP channel and each log that is being made takes some."""
    pid = _driver_pid(patient)
    use = open_files(pid) if pid is not None else None
    if use is not None:
        remedy = "raise it: ulimit -n 65536 before its start, or LimitNOFILE= of its service"
        yield _used("process.files", f"the driver (pid {pid}) has descriptors open", use, "files", remedy)
    elif patient.life is not Life.ALIVE:
        limit = own_file_limit()
        if limit is not None and limit < FILES_MIN:
            what = "a driver started here may open few files: each UDP channel takes one or two"
            yield Finding("process.files", Severity.WARNING, what, limit, FILES_MIN, "files", "ulimit -n 65536", True)
    if patient.life is Life.ALIVE and patient.pid is not None and process_state(patient.pid) is None:
        what = f"the driver lives, but its process {patient.pid} is not to be seen: it is in another PID namespace"
        yield Finding("process.namespace", Severity.NOTE, what)


def check_maps(patient: Patient) -> Iterator[Finding]:
    """Mappings: each log takes one or more, in the driver and in each of its clients."""
    pid = _driver_pid(patient)
    use = memory_maps(pid) if pid is not None else None
    if use is not None:
        remedy = "raise it: sysctl -w vm.max_map_count=262144"
        yield _used("process.maps", f"the driver (pid {pid}) has mappings", use, "mappings", remedy)
