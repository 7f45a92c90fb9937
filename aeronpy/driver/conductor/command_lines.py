"""Clients' commands in the order in which each client gave them: one client's never wait for another's."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from aeronpy.driver.conductor import commands
from aeronpy.driver.conductor.events import CommandEvent
from aeronpy.driver.conductor.tasks import RunningTask, Task, Tasks

WAITING_BYTES_MAX: Final = 8 << 20


class _Line:
    """What one client wants done: one command at work, the others behind it."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[CommandEvent, bool]] = deque()
        self.waiting_bytes = 0
        self.task: RunningTask | None = None

    def put(self, command: CommandEvent) -> None:
        is_served = self.waiting_bytes + len(command.message) <= WAITING_BYTES_MAX
        if not is_served:
            command = command._replace(message=command.message[: commands.PREFIX_LENGTH])
        self.waiting_bytes += len(command.message)
        self.waiting.append((command, is_served))

    def take(self) -> tuple[CommandEvent, bool]:
        command, is_served = self.waiting.popleft()
        self.waiting_bytes -= len(command.message)
        return command, is_served


class CommandLines:
    """All of them. ``execute`` does one command, or ``refuse`` says that it is too many; both answer, come what may."""

    def __init__(
        self, tasks: Tasks, execute: Callable[[CommandEvent], Task[None]], refuse: Callable[[CommandEvent], None]
    ) -> None:
        self._tasks = tasks
        self._execute = execute
        self._refuse = refuse
        self._lines: dict[int, _Line] = {}

    def put(self, client_id: int, command: CommandEvent) -> None:
        """Do it after what the client asked for before. A client that waits for too much is not served further."""
        line = self._lines.get(client_id)
        if line is not None:
            line.put(command)
            return
        line = self._lines[client_id] = _Line()
        line.put(command)
        line.task = self._tasks.start(self._serve(client_id, line))

    def drop(self, client_id: int) -> None:
        """The client is gone: what is at work for it is undone, the rest forgotten."""
        line = self._lines.pop(client_id, None)
        if line is not None and line.task is not None:
            self._tasks.cancel(line.task)

    def _serve(self, client_id: int, line: _Line) -> Task[None]:
        while line.waiting:
            command, is_served = line.take()
            if is_served:
                yield from self._execute(command)
            else:
                self._refuse(command)
        del self._lines[client_id]
