"""Room: in the driver's file system, for what was promised to sparse logs, and in memory below it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from aeronpy.observe.driver import Life
from aeronpy.observe.files import mount_of, tree_bytes
from aeronpy.observe.finding import Finding, Severity
from aeronpy.observe.patient import Patient
from aeronpy.observe.processes import memory_available

INODES_MIN: Final = 64
NEIGHBOUR_BYTES: Final = 16 << 20
NEIGHBOURS_MAX: Final = 64


def _existing(path: str) -> str:
    """The path, or the nearest directory above it that is there."""
    path = os.path.abspath(path)
    while not os.path.isdir(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


def _more_room(where: str) -> str:
    shorter = "use shorter terms (aeron.term.buffer.length)"
    if mount_of(where).kind == "tmpfs":
        return f"enlarge it (mount -o remount,size=4g, or --shm-size=4g in a container), or {shorter}"
    return f"free some, or {shorter}, or another aeron.dir"


def check_space(patient: Patient) -> Iterator[Finding]:
    """Free space against the warning threshold and against the next log; size; inodes."""
    where = _existing(patient.aeron_dir)
    system, mount = os.statvfs(where), mount_of(where)
    if system.f_blocks == 0:
        return  # without a limit
    free, total = system.f_bavail * system.f_frsize, system.f_blocks * system.f_frsize
    place, remedy = f"the file system of {patient.aeron_dir} ({mount.point or where})", _more_room(where)
    threshold, largest = patient.intent.low_storage_threshold, patient.intent.largest_log
    remedy += _neighbours(patient)
    if total < largest:
        what = f"{place} is smaller than one log of default terms"
        yield Finding("space.size", Severity.WARNING, what, total, largest, "bytes", remedy, True)
    elif free < largest:
        what = f"{place} has less free than a stream of default terms takes: adding one is refused"
        yield Finding("space.next-log", Severity.WARNING, what, free, largest, "bytes", remedy, True)
    elif free <= threshold:
        yield Finding("space.low", Severity.WARNING, f"{place} has little room", free, threshold, "bytes", remedy, True)
    else:
        yield Finding("space.free", Severity.OK, f"{place} has room", free, largest, "bytes", at_least=True)
    if system.f_files > 0 and system.f_favail < INODES_MIN:
        what = f"{place} has hardly a file left to give"
        yield Finding(
            "space.inodes", Severity.ERROR, what, system.f_favail, INODES_MIN, "files", "remove files there", True
        )
    if mount.kind and mount.kind not in ("tmpfs", "ramfs", "hugetlbfs"):
        what = f"{place} is not in memory: writing it back to its disk can stall publishers"
        yield Finding("space.disk", Severity.NOTE, what, mount.kind, remedy="use a directory in /dev/shm")


def _neighbours(patient: Patient) -> str:
    """Directories of other drivers beside this one that could be in the way."""
    parent, own = os.path.split(os.path.abspath(patient.aeron_dir))
    try:
        names = sorted(each for each in os.listdir(parent) if each.startswith("aeron-") and each != own)
    except OSError:
        return ""
    sizes = [(tree_bytes(os.path.join(parent, each)), each) for each in names[:NEIGHBOURS_MAX]]
    large = sorted((each for each in sizes if each[0] >= NEIGHBOUR_BYTES), reverse=True)[:3]
    if not large:
        return ""
    return "; beside it: " + ", ".join(f"{name} with {size >> 20} MiB" for size, name in large)


def check_promises(patient: Patient) -> Iterator[Finding]:
    """What sparse logs may still take, against what is free: writing beyond it ends the writer with SIGBUS."""
    promised = sum(each.promised for each in patient.logs)
    if not patient.logs or patient.life in (Life.SHUT_DOWN, Life.SILENT):
        return
    system = os.statvfs(patient.aeron_dir)
    free = system.f_bavail * system.f_frsize
    if system.f_blocks and promised > free:
        what = (
            f"{len(patient.logs)} logs were promised more than is free: a process that writes there can die of SIGBUS"
        )
        remedy = (
            f"{_more_room(patient.aeron_dir)}, or have terms allocated at once (aeron.term.buffer.sparse.file=false)"
        )
        yield Finding("space.promised", Severity.ERROR, what, promised, free, "bytes", remedy)
    else:
        what = f"what {len(patient.logs)} logs may still take is there"
        yield Finding("space.promised", Severity.OK, what, promised, free, "bytes")


def check_memory(patient: Patient) -> Iterator[Finding]:
    """Files in memory count against memory: the machine's, or the container's."""
    if mount_of(_existing(patient.aeron_dir)).kind != "tmpfs":
        return
    promised = sum(each.promised for each in patient.logs)
    available, where = memory_available()
    if available is not None and promised > available:
        what = f"the logs in memory may take more than {where} has: processes can be killed for it"
        remedy = "give it more memory, or use shorter terms (aeron.term.buffer.length)"
        yield Finding("space.memory", Severity.WARNING, what, promised, available, "bytes", remedy)
