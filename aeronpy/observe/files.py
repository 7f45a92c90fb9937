"""Files that others wrote, opened so that nothing about them can hang or crash the reader.

A named pipe would block ``open`` for ever, and a read of a hole in a full tmpfs ends a process with SIGBUS, so both
are refused before a byte is touched.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Final

from aeronpy._core.native import CncFile
from aeronpy.errors import ArgumentError, CorruptError, NotFoundError, StorageError, SystemCallError

CNC_FILE: Final = "cnc.dat"
LOSS_REPORT_FILE: Final = "loss-report.dat"
PUBLICATIONS: Final = "publications"
IMAGES: Final = "images"
WAITERS: Final = "waiters"
BLOCK_BYTES: Final = 512  # what st_blocks counts, whatever the file system's own blocks are
_MEMORY_FILE_SYSTEMS: Final = frozenset({"tmpfs", "ramfs", "hugetlbfs"})


@contextmanager
def open_file(path: str | PathLike[str]) -> Iterator[int]:
    """A descriptor of a regular file, for reading. NotFoundError, CorruptError where it is something else."""
    name = os.fspath(path)
    try:
        file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"there is no {name}") from None
    except OSError as error:
        raise SystemCallError(f"{name} cannot be opened: {error.strerror}") from None
    except ValueError as error:
        raise ArgumentError(f"{name!r} is not a path: {error}") from None
    try:
        mode = os.fstat(file).st_mode
        if not stat.S_ISREG(mode):
            raise CorruptError(f"{name} is not a regular file (mode {stat.filemode(mode)})")
        yield file
    finally:
        os.close(file)


def hole_bytes(status: os.stat_result) -> int:
    """Bytes of a file that nothing was allocated for yet."""
    return max(status.st_size - status.st_blocks * BLOCK_BYTES, 0)


def _refuse_holes(name: str, file: int) -> None:
    """Reading a hole of a file in memory allocates it, and kills who reads when there is no room."""
    holes = hole_bytes(os.fstat(file))
    if holes == 0 or mount_of(name).kind not in _MEMORY_FILE_SYSTEMS:
        return
    system = os.fstatvfs(file)
    free = system.f_bavail * system.f_frsize
    if system.f_blocks > 0 and holes > free:
        raise StorageError(f"{name} has {holes} bytes of holes and its file system {free} bytes free: free some first")


def map_file(path: str | PathLike[str]) -> mmap.mmap:
    """A file mapped read-only; NotFoundError where it is missing, ArgumentError where it is empty."""
    with open_file(path) as file:
        _refuse_holes(os.fspath(path), file)
        try:
            return mmap.mmap(file, 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise ArgumentError(f"{os.fspath(path)} is empty") from None
        except OSError as error:
            raise SystemCallError(f"{os.fspath(path)} cannot be mapped: {error.strerror}") from None


def open_cnc(aeron_dir: str | PathLike[str]) -> CncFile:
    """The CnC file of a directory, whoever wrote it. Raises as `CncFile` does, and StorageError, SystemCallError."""
    path = os.path.join(os.fspath(aeron_dir), CNC_FILE)
    with open_file(path) as file:
        _refuse_holes(path, file)
        return CncFile(aeron_dir)


@dataclass(frozen=True, slots=True)
class Mount:
    """Where a file system is mounted, and which kind it is: ``tmpfs``, ``ext4``; empty where that is not known."""

    point: str
    kind: str


def mount_of(path: str) -> Mount:
    """The mount that a path lies on."""
    best = Mount("", "")
    real = os.path.realpath(path)
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                before, _, after = line.partition(" - ")
                point = _unescape(before.split(" ")[4])
                inside = real == point or real.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best.point):
                    best = Mount(point, after.split(" ")[0])
    except (OSError, IndexError):
        pass  # not Linux, or hidden: the kind stays unknown
    return best


def _unescape(text: str) -> str:
    """Spaces and the like stand in mountinfo as three octal digits."""
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")


def tree_bytes(directory: str, entries_max: int = 10_000) -> int:
    """Bytes that a driver's directory takes in its file system; 0 where it cannot be read."""
    total, folders = 0, [directory, os.path.join(directory, PUBLICATIONS), os.path.join(directory, IMAGES)]
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                for entry, _ in zip(entries, range(entries_max), strict=False):
                    if entry.is_file(follow_symlinks=False):
                        total += entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES
        except OSError:
            continue
    return total
