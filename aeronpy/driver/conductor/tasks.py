"""Decisions that wait for something: a name, a log, another decision.

A task is a generator on the decision thread. It yields a `Job`, and is resumed with its result or its error, or it
yields `UNTIL_CHANGE`, and is resumed when another task has moved on. Between two yields nothing else decides.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Final, TypeVar

from aeronpy.driver.conductor.resource_agent import Finished, Job, Lane, ResourceAgent

T = TypeVar("T")

UNTIL_CHANGE: Final = None
Task = Generator[Job | None, Any, T]


class RunningTask:
    """One task on its way."""

    def __init__(self, steps: Task[None]) -> None:
        self.steps = steps
        self.is_over = False
        self.is_parked = False


class Tasks:
    """All of them. Belongs to the decision thread."""

    def __init__(self, agent: ResourceAgent, on_failure: Callable[[Exception], None]) -> None:
        self._agent = agent
        self._on_failure = on_failure  # of a job that nobody waits for
        self._running: list[RunningTask] = []

    def start(self, steps: Task[None]) -> RunningTask:
        """Run a task up to where it must wait; it handles its own errors."""
        task = RunningTask(steps)
        self._running.append(task)
        self._resume(task, None, None)
        return task

    def cancel(self, task: RunningTask) -> None:
        """End a task where it waits: it undoes what it did, and what its job makes is discarded."""
        if not task.is_over:
            self._end(task)
            task.steps.close()
            self._look_again()

    def advance(self) -> int:
        """Resume the tasks whose jobs are done, and those that wait for a change; how many jobs that were."""
        finished = self._agent.take_finished()
        for one in finished:
            if isinstance(one.owner, RunningTask) and not one.owner.is_over:
                self._resume(one.owner, one.result, one.error)
            else:
                self._discard(one)
        return len(finished)

    def _discard(self, finished: Finished) -> None:
        discard, result = finished.job.discard, finished.result
        if finished.error is not None:
            if finished.owner is None:
                self._on_failure(finished.error)
        elif discard is not None:
            self._agent.submit(Job(Lane.LOGS, lambda: discard(result)))

    def _resume(self, task: RunningTask, result: Any, error: Exception | None) -> None:
        self._step(task, result, error)
        if not task.is_parked:
            self._look_again()

    def _look_again(self) -> None:
        """Whoever waits for a change, as long as one of them moves."""
        moved = True
        while moved:
            moved = False
            for one in [parked for parked in self._running if parked.is_parked]:
                if one.is_parked:
                    self._step(one, None, None)
                    moved = moved or not one.is_parked

    def _step(self, task: RunningTask, result: Any, error: Exception | None) -> None:
        task.is_parked = False
        try:
            job = task.steps.send(result) if error is None else task.steps.throw(error)
        except StopIteration:
            self._end(task)
            return
        except BaseException:
            self._end(task)
            raise
        if job is UNTIL_CHANGE:
            task.is_parked = True
        else:
            self._agent.submit(job, task)

    def _end(self, task: RunningTask) -> None:
        task.is_over = True
        task.is_parked = False
        self._running.remove(task)

    def close(self) -> None:
        """Cancel all, after the agent was closed."""
        for task in list(self._running):
            self.cancel(task)
        for one in self._agent.take_finished():
            if one.job.discard is not None and one.error is None:
                one.job.discard(one.result)
