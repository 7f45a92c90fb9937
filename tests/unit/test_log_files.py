"""Logs are freed so many at a time, and one that cannot be deleted is tried again."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from aeronpy.driver import MediaDriverContext
from aeronpy.driver.conductor.log_files import LogFiles
from aeronpy.driver.conductor.resource_agent import ResourceAgent


def files(tmp_path: Path, agent: ResourceAgent, limit: int = 1) -> LogFiles:
    context = MediaDriverContext(environment={}, driver_resource_free_limit=limit)
    return LogFiles(context, str(tmp_path), agent, lambda _: None)


def test_what_cannot_be_deleted_is_an_error_and_goes_with_the_next(tmp_path: Path) -> None:
    agent = ResourceAgent(lambda: None, is_threaded=False)
    logs = files(tmp_path, agent)
    stubborn, next_one = tmp_path / "1.logbuffer", tmp_path / "2.logbuffer"
    stubborn.mkdir()
    next_one.touch()
    unmapped: list[int] = []

    logs.free(lambda: unmapped.append(1), str(stubborn))
    (finished,) = agent.take_finished()
    assert isinstance(finished.error, OSError)
    stubborn.rmdir()
    stubborn.touch()
    logs.free(lambda: unmapped.append(2), str(next_one))

    assert agent.take_finished() == []
    assert (stubborn.exists(), next_one.exists(), unmapped) == (False, False, [1, 2])
    agent.close()


@pytest.mark.parametrize("limit", [1, 3])
def test_only_so_many_are_freed_at_a_time(tmp_path: Path, limit: int) -> None:
    agent = ResourceAgent(lambda: None, is_threaded=True)
    logs = files(tmp_path, agent, limit)
    lock, at_once, most = threading.Lock(), [0], [0]
    together, done = threading.Barrier(limit), threading.Semaphore(0)

    def unmap() -> None:
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        together.wait(20)  # as many as may come are here at once
        with lock:
            at_once[0] -= 1
        done.release()

    for number in range(4 * limit):
        logs.free(unmap, str(tmp_path / f"{number}.logbuffer"))
    for _ in range(4 * limit):
        assert done.acquire(timeout=20)

    assert most[0] == limit
    agent.close()
