"""How the processes of the demo tell how far they are: one JSON object a line."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import Any


def say(**what: object) -> None:
    """Tell the parent."""
    print(json.dumps({"time": time.time(), **what}), flush=True)


class Worker:
    """A Python module in a process of its own, and what it said."""

    def __init__(self, name: str, module: str, *arguments: object) -> None:
        self.name = name
        self.said: list[dict[str, Any]] = []
        command = [sys.executable, "-m", module, *map(str, arguments)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self.said.append(json.loads(line))

    def last(self, key: str, default: int = 0) -> int:
        """The newest value that it gave for a key."""
        return next((int(line[key]) for line in reversed(self.said) if key in line), default)

    def is_running(self) -> bool:
        """Whether it runs; SystemExit when it failed."""
        code = self._process.poll()
        if code:
            raise SystemExit(f"the {self.name} failed with exit code {code}")
        return code is None

    def await_word(self, key: str, timeout_s: float = 30.0) -> None:
        """Wait until it said something."""
        deadline = time.monotonic() + timeout_s
        while not any(key in line for line in self.said):
            if not self.is_running() or time.monotonic() > deadline:
                raise SystemExit(f"the {self.name} did not say {key!r} in time")
            time.sleep(0.01)

    def finish(self, timeout_s: float = 60.0) -> None:
        """Wait for its end and its last words."""
        self._process.wait(timeout_s)
        self._reader.join(timeout_s)
        self.is_running()

    def stop(self) -> None:
        """End it now, if it runs."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(10)
