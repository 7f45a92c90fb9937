"""Mapped logs: shared between those who use one, and kept for a while after their image or publication is gone."""

from __future__ import annotations

import threading
import time
import weakref
from typing import Final, Protocol

from aeronpy._core.native import ClientCore, ClientLog


class LogHolder(Protocol):
    """What keeps a log mapped until told otherwise."""

    def _release_log(self) -> None: ...


class Logs:
    """The logs of one client. Methods may be called from any thread."""

    def __init__(self, core: ClientCore, pre_touch: bool) -> None:
        self._core: Final = core
        self._pre_touch: Final = pre_touch
        self._lock: Final = threading.RLock()
        self._open: Final[weakref.WeakValueDictionary[str, ClientLog]] = weakref.WeakValueDictionary()
        self._lingering: list[tuple[int, LogHolder]] = []

    def open(self, path: str) -> ClientLog:
        """Map a log, or share the mapping of it."""
        with self._lock:
            log = self._open.get(path)
            if log is None:
                log = self._open[path] = self._core.open_log(path, self._pre_touch)
            return log

    def linger(self, holder: LogHolder, duration_ns: int) -> None:
        """Let a holder keep its log for so long, since another thread may still be reading."""
        with self._lock:
            self._lingering.append((time.monotonic_ns() + duration_ns, holder))

    @property
    def has_lingering(self) -> bool:
        """Whether any log waits to be unmapped."""
        return bool(self._lingering)

    def unmap(self, everything: bool = False) -> None:
        """Unmap the logs whose time has come."""
        now = time.monotonic_ns()
        with self._lock:
            due = [holder for deadline, holder in self._lingering if everything or now >= deadline]
            if due:
                self._lingering = [each for each in self._lingering if not everything and now < each[0]]
        for holder in due:
            holder._release_log()
