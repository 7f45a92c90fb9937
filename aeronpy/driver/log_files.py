"""Log files, made and let go of on another thread (spec: client/driver protocol, 16.2 and 21.3)."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from aeronpy._core import native
from aeronpy._core.native import DriverLog
from aeronpy.driver import directory
from aeronpy.driver.context import MediaDriverContext
from aeronpy.driver.error_code import ErrorCode, refuse
from aeronpy.driver.resource_agent import Job, Lane, ResourceAgent
from aeronpy.driver.tasks import Task

PUBLICATION: Final = directory.PUBLICATIONS
IMAGE: Final = directory.IMAGES


class LogFiles:
    """Those of one driver. The decision thread asks; `make` and `free` do their work elsewhere."""

    def __init__(
        self, context: MediaDriverContext, path: str, agent: ResourceAgent, warn: Callable[[str], None]
    ) -> None:
        self._context = context
        self._directory = path
        self._agent = agent
        self._warn = warn
        self._lock = threading.Lock()
        self._in_making: dict[str, int] = {}
        self._lengths: dict[str, int] = {}
        self._length_of_all = 0
        self._to_free: deque[tuple[Callable[[], None], str]] = deque()
        self._freeing = 0
        self._is_low = False

    def make(self, kind: str, settings: dict[str, Any]) -> Task[DriverLog]:
        """A log of `PUBLICATION` or `IMAGE` kind, named by its correlation id; error 12 where it does not fit."""
        path = directory.log_path(self._directory, kind, settings["correlation_id"])
        settings = settings | {"page_size": self._context.file_page_size}
        log, warning = yield Job(
            Lane.LOGS,
            run=lambda: self._make(path, settings),
            discard=lambda made: self._discard(made[0]),
        )
        if warning is not None:
            self._warn(warning)
        assert isinstance(log, DriverLog)
        return log

    def free(self, unmap: Callable[[], None], path: str) -> None:
        """Unmap what nobody runs any more, and delete it.

        At most ``resource.free.limit`` go at a time, so that many do not stand in the way of those that are made. One
        that cannot be deleted is counted, and tried again with the next.
        """
        with self._lock:
            self._to_free.append((unmap, path))
            if self._freeing >= self._context.driver_resource_free_limit:
                return
            self._freeing += 1
        self._agent.submit(Job(Lane.LOGS, self._free_some))

    def _free_some(self) -> None:
        failed: list[str] = []
        errors: list[OSError] = []
        while (found := self._next_to_free(failed)) is not None:
            unmap, path = found
            try:
                unmap()
                directory.remove_log(path)
                self._is_gone(path)
            except OSError as error:
                failed.append(path)
                errors.append(error)
        if errors:
            raise errors[0]

    def _next_to_free(self, failed: list[str]) -> tuple[Callable[[], None], str] | None:
        with self._lock:
            if self._to_free:
                return self._to_free.popleft()
            self._to_free.extend((_unmapped_already, path) for path in failed)
            self._freeing -= 1
            return None

    def discard(self, log: DriverLog) -> None:
        """Let go of one that nobody took over."""
        self._agent.submit(Job(Lane.LOGS, lambda: self._discard(log)))

    def _discard(self, log: DriverLog) -> None:
        path = log.path
        log.discard()
        self._is_gone(path)

    def _is_gone(self, path: str) -> None:
        with self._lock:
            self._length_of_all -= self._lengths.pop(path, 0)

    def _make(self, path: str, settings: dict[str, Any]) -> tuple[DriverLog, str | None]:
        length = native.log_file_length(settings["term_length"], self._context.file_page_size)
        try:
            with self._lock:  # two that fit one at a time may not fit both
                warning = self._check_storage(length) if self._context.perform_storage_checks else None
                self._in_making[path] = self._lengths[path] = length
                self._length_of_all += length
            return DriverLog(path, settings), warning
        except BaseException:
            self._is_gone(path)
            raise
        finally:
            with self._lock:
                self._in_making.pop(path, None)

    def _check_storage(self, needed: int) -> str | None:
        """Refuse a log that would not fit, before anything is mapped; a warning when little is left since now.

        What sparse logs were promised counts as taken: whoever writes into a page that cannot be had dies of SIGBUS.
        """
        found = os.statvfs(self._directory)
        free = found.f_bavail * found.f_frsize
        promised = self._length_of_all  # no more than that: each file is looked at only where that is too much
        if free - promised < needed:
            promised = directory.promised_bytes(self._directory) + self._not_there_yet()
        if free - promised < needed:
            raise refuse(
                ErrorCode.STORAGE_SPACE,
                f"insufficient usable storage for new log of length={needed} usable={free}, of which {promised} are "
                f"promised to other logs, in {self._directory}: give it more (--shm-size of a container) or set a "
                "smaller term-length",
            )
        threshold = self._context.low_file_store_warning_threshold
        was_low, self._is_low = self._is_low, free <= threshold
        if self._is_low and not was_low:
            return f"space is running low in {self._directory}: threshold={threshold} usable={free}"
        return None

    def _not_there_yet(self) -> int:
        """What logs that other threads make right now will take, but for what their files show already."""
        missing = 0
        for path, length in self._in_making.items():
            try:
                missing += length - os.stat(path).st_size
            except FileNotFoundError:
                missing += length
        return missing


def _unmapped_already() -> None:
    pass
