"""Programs that are spoken to in lines: processes, and programs inside the JVM that a module of tests shares."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.interop import peers
from tests.interop.leftovers import TIED

DEADLINE_S = 30.0


class Lines:
    """What a program says, and how it is told something."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.said: list[str] = []
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._ended = False

    def hear(self, line: str | None) -> None:
        """Take one line from the program; None is its end."""
        self._lines.put(line)

    def tell(self, line: str) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def _next(self, deadline: float) -> str | None:
        if self._ended:
            return None
        try:
            line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.001))
        except queue.Empty:
            raise AssertionError(f"{self.name}: nothing more in time; it said:\n{self.tail()}") from None
        if line is None:
            self._ended = True
        else:
            self.said.append(line)
        return line

    def tail(self) -> str:
        """The last lines it said."""
        while not self._lines.empty():
            line = self._lines.get()
            self._ended = self._ended or line is None
            self.said += [] if line is None else [line]
        return "\n".join(self.said[-20:])

    def next_line(self, timeout_s: float = DEADLINE_S) -> str:
        """The next line; raises when there is none in time."""
        line = self._next(time.monotonic() + timeout_s)
        assert line is not None, f"{self.name} ended; it said:\n{self.tail()}"
        return line

    def expect(self, word: str, timeout_s: float = DEADLINE_S, **fields: str) -> dict[str, str]:
        """The fields of the next line that starts with word and has these fields; a failure before it raises."""
        deadline = time.monotonic() + timeout_s
        while (line := self._next(deadline)) is not None:
            first, *rest = line.split(" ")
            if first == "FAILED" and word != "FAILED":
                raise AssertionError(f"{self.name}: {line}; before:\n{self.tail()}")
            if first == word:
                found = dict(each.split("=", 1) for each in rest if "=" in each)
                found.setdefault("value", rest[0] if rest else "")
                if all(found.get(name) == value for name, value in fields.items()):
                    return found
        raise AssertionError(f"{self.name} ended before it said {word}; it said:\n{self.tail()}")

    def expect_failure(self, timeout_s: float = DEADLINE_S) -> str:
        """Why the program gave up, or an empty text when it ended without a reason."""
        deadline = time.monotonic() + timeout_s
        while (line := self._next(deadline)) is not None:
            if line.startswith("FAILED"):
                return line
        return ""


class Process(Lines):
    """A program of its own. It ends with its input, or where that is said, by SIGTERM and with exit code 0."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        env: Mapping[str, str],
        log: Path,
        *,
        ends_by_signal: bool = False,
    ) -> None:
        super().__init__(name)
        self._log = log
        self._ends_by_signal = ends_by_signal
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [*TIED, *(str(each) for each in command)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **env},
                cwd=peers.ROOT,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.hear(line.decode(errors="replace").rstrip("\n"))
        self.hear(None)

    def tail(self) -> str:
        errors = self._log.read_text(errors="replace") if self._log.exists() else ""
        return super().tail() + ("\nand on stderr:\n" + errors[-4000:] if errors else "")

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise AssertionError(f"{self.name} is gone; it said:\n{self.tail()}") from None

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def close(self) -> None:
        """End it gently, or else not."""
        code = int(signal.SIGTERM)
        if self.process.poll() is None:
            assert self.process.stdin is not None
            try:
                if self._ends_by_signal:
                    self.process.send_signal(signal.SIGTERM)
                else:
                    self.process.stdin.close()
                code = self.process.wait(10)
            except (subprocess.TimeoutExpired, BrokenPipeError):
                self.kill()
                code = -signal.SIGKILL
        self._reader.join(5)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        if self._ends_by_signal:
            assert code == signal.SIGTERM, f"{self.name} ended with {code}; it said:\n{self.tail()}"


class Hosted(Lines):
    """A program in the shared JVM."""

    def __init__(self, name: str, tell: Callable[[str], None]) -> None:
        super().__init__(name)
        self._tell = tell
        self._over = threading.Event()

    def hear(self, line: str | None) -> None:
        if line is None:
            self._over.set()
        super().hear(line)

    def tell(self, line: str) -> None:
        self._tell(line)

    def close(self) -> None:
        if not self._over.is_set():
            self.tell("close")
            assert self._over.wait(20), f"{self.name} does not end; it said:\n{self.tail()}"


class JavaHost:
    """One JVM that runs flow programs and drivers."""

    def __init__(self, properties: Sequence[str], log: Path, prefix: Sequence[str] = ()) -> None:
        peers.compile_java()
        command = [*prefix, *peers.java_command("FlowHost", *properties)]
        self.process = Process("java host", command, {}, log)
        self.process.expect("READY")
        self._programs: dict[str, Hosted] = {}
        self._count = 0
        threading.Thread(target=self._dispatch, daemon=True).start()

    def _dispatch(self) -> None:
        while (line := self.process._next(time.monotonic() + 1e6)) is not None:
            name, _, rest = line.partition(" ")
            program = self._programs.get(name)
            if program is not None:
                program.hear(None if rest.startswith("EXIT ") else rest)
        for program in self._programs.values():
            program.hear(None)

    def start(self, role: str, options: Sequence[str]) -> Hosted:
        """Start a program of FlowHost."""
        self._count += 1
        name = f"{role}-{self._count}"
        program = Hosted(f"java {name}", lambda line: self.process.tell(f"{name} {line}"))
        self._programs[name] = program
        self.process.tell(" ".join(["start", name, role, *options]))
        return program

    def kill(self) -> None:
        self.process.kill()

    def close(self) -> None:
        self.process.close()
