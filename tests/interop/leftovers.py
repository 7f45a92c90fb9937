"""Directories in /dev/shm that are held while their process lives, so that a run can tell what a killed one left.

A lock on the directory itself says that somebody is there: the kernel lets go of it with the process, however that
ended. Programs that were started are tied to their starter, so nothing writes into what is swept.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

SHM = Path("/dev/shm")
# Between being made and being locked a directory looks like one that was left.
YOUNG_S = 60.0
# What comes before a command whose program must end with the thread that started it.
TIED = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []

_swept: set[str] = set()


class Room:
    """A directory of this process's own; ``close`` takes it away."""

    def __init__(self, prefix: str, parent: Path = SHM) -> None:
        if prefix not in _swept:
            _swept.add(prefix)
            sweep(prefix, parent)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Closing twice is fine."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def sweep(prefix: str, parent: Path = SHM, young_s: float = YOUNG_S) -> list[Path]:
    """Remove what killed runs left; returns it. What a living process holds stays."""
    gone = []
    for path in sorted(parent.glob(f"{prefix}*")):
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            continue
        try:
            if time.time() - os.fstat(lock).st_ctime < young_s:
                continue
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
            gone.append(path)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)
    return gone
