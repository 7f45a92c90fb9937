"""Work that may take long, done by other threads than the one that decides (spec: client/driver protocol, 16.2).

Threads are called ``aeron-md-nra``, as the real driver calls its native resource agent. They start when there is
work and none of their lane is free, and end after a while without any.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, NamedTuple

from aeronpy._core import native
from aeronpy.loggers import logger_of

THREAD_NAME: Final = "aeron-md-nra"
_IDLE_S: Final = 5.0
_GRACE_S: Final = 2.0

_log: Final = logger_of(__name__)


class Lane(Enum):
    """Kinds of work that do not wait for one another; the value is how many threads one has at most."""

    NAMES = 64
    """Resolves names for clients: many, since each may wait for a name server that does not answer."""
    LOGS = 16
    """Makes and frees logs."""
    UPKEEP = 2
    """Resolves names again, which nobody waits for."""


class Job(NamedTuple):
    """What to do. It may touch nothing that belongs to the thread that decides."""

    lane: Lane
    run: Callable[[], Any]
    discard: Callable[[Any], object] | None = None
    """What to do with a result that nobody wants any more; runs on a thread of `Lane.LOGS`."""


class Finished(NamedTuple):
    """What came of a job: a result, or an error. ``owner`` is who asked for it, None for nobody."""

    owner: Any
    job: Job
    result: Any
    error: Exception | None


class _Threads:
    """Those of one lane."""

    def __init__(self, lane: Lane, on_finished: Callable[[Finished], None], cpu: int) -> None:
        self._lane = lane
        self._on_finished = on_finished
        self._cpu = cpu
        self._condition = threading.Condition()
        self._queue: deque[tuple[Any, Job]] = deque()
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._is_closed = False

    def submit(self, owner: Any, job: Job) -> None:
        with self._condition:
            self._queue.append((owner, job))
            if self._idle >= len(self._queue):
                self._condition.notify()
            elif len(self._threads) < self._lane.value:
                thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
                self._threads.add(thread)
                thread.start()

    def take(self, timeout_s: float = 0.0) -> tuple[Any, Job] | None:
        """The next job, waited for; None when there is none by then, or no more will be."""
        with self._condition:
            self._idle += 1
            try:
                self._condition.wait_for(lambda: self._queue or self._is_closed, timeout_s)
            finally:
                self._idle -= 1
            return self._queue.popleft() if self._queue else None

    def _run(self) -> None:
        native.name_thread(THREAD_NAME)
        if self._cpu >= 0:
            try:
                os.sched_setaffinity(0, {self._cpu})
            except OSError as error:
                _log.warning("%s cannot run on cpu %d: %s", THREAD_NAME, self._cpu, error)
        while (taken := self._take_or_leave()) is not None:
            self._on_finished(perform(*taken))

    def _take_or_leave(self) -> tuple[Any, Job] | None:
        taken = self.take(_IDLE_S)
        if taken is None:
            with self._condition:
                if self._queue:  # came while nobody was idle, so nobody else will take it
                    return self._queue.popleft()
                self._threads.discard(threading.current_thread())
        return taken

    def close(self, deadline: float | None) -> bool:
        """No more jobs that somebody waits for; False when a thread still works after the deadline."""
        with self._condition:
            self._is_closed = True
            self._queue = deque((owner, job) for owner, job in self._queue if owner is None)
            self._condition.notify_all()
            threads = list(self._threads)
        for thread in threads:
            thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)


def perform(owner: Any, job: Job) -> Finished:
    """Do it here and now."""
    try:
        return Finished(owner, job, job.run(), None)
    except Exception as error:
        return Finished(owner, job, None, error)


class ResourceAgent:
    """Takes jobs and says when they are done. ``wake`` is called, on any thread, when `take_finished` has something."""

    def __init__(self, wake: Callable[[], None], *, is_threaded: bool, cpu: int = -1) -> None:
        self._wake = wake
        self._is_threaded = is_threaded
        self._waking = threading.Lock()
        self._is_closed = False
        self._finished: deque[Finished] = deque()
        self._lanes = {lane: _Threads(lane, self._on_finished, cpu) for lane in Lane}

    def submit(self, job: Job, owner: Any = None) -> None:
        """Do it as soon as a thread is free. Without an owner it is done even while closing, and only errors return."""
        if self._is_threaded:
            self._lanes[job.lane].submit(owner, job)
        else:
            self._on_finished(perform(owner, job))

    def _on_finished(self, finished: Finished) -> None:
        if finished.owner is not None or finished.error is not None:
            self._finished.append(finished)
            with self._waking:
                if not self._is_closed:
                    self._wake()

    def take_finished(self) -> list[Finished]:
        """What was done since the last call."""
        taken = []
        while self._finished:
            taken.append(self._finished.popleft())
        return taken

    def close(self) -> None:
        """End the threads. Logs are finished, since files and memory hang on them; a name server that does not
        answer is not waited for: its thread ends by itself, and touches nothing of the driver."""
        with self._waking:
            self._is_closed = True
        deadline = time.monotonic() + _GRACE_S
        for lane in (Lane.NAMES, Lane.UPKEEP):
            if not self._lanes[lane].close(deadline):
                _log.warning("the system is still resolving a name: its thread is left behind")
        self._lanes[Lane.LOGS].close(None)
