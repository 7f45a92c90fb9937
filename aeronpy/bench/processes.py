"""Processes that are spoken to in lines, and what the kernel knows of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

STOP_S: Final = 10.0


class Line:
    """A process that is spoken to in lines; it ends when its input does."""

    def __init__(self, command: list[str], env: dict[str, str] | None = None, cwd: Path | None = None) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={**os.environ, **(env or {})},
        )

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def ask(self, line: str) -> None:
        """Write a line. Raises BrokenPipeError when the process has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        """Wait for a line. Raises RuntimeError when the process ended instead."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended with {self._process.wait()}")
        return line.strip()

    def close(self) -> None:
        """End it, by force where it does not end within ten seconds. Twice is fine."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def cpu_ns(pid: int) -> int:
    """Processor time of all threads that a process has, in nanoseconds. Raises OSError when it ended."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        total += int((thread / "schedstat").read_text().split()[0])
    return total


def own_memory_bytes(pid: int) -> int:
    """Resident memory of a process without mapped files, so without its logs. Raises OSError when it ended."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"the kernel does not say RssAnon of process {pid}")
