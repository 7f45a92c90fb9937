"""A stage for one test: drivers and programs of any make, each in its place, all gone afterwards."""

from __future__ import annotations

import itertools
import os
import random
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.interop import peers
from tests.interop.leftovers import Room
from tests.interop.lines import DEADLINE_S, Hosted, JavaHost, Lines, Process

Make = Literal["ours", "c", "java"]
Threading = Literal["DEDICATED", "SHARED_NETWORK", "SHARED", "INVOKER"]

# Aeron's time-outs, shortened so that a death is noticed while a test waits. The Java names are the same words.
SETTINGS = {
    "AERON_CLIENT_LIVENESS_TIMEOUT": "3s",
    "AERON_IMAGE_LIVENESS_TIMEOUT": "3s",
    "AERON_PUBLICATION_UNBLOCK_TIMEOUT": "4s",
    "AERON_PUBLICATION_CONNECTION_TIMEOUT": "3s",
    "AERON_PUBLICATION_LINGER_TIMEOUT": "500ms",
    "AERON_TIMER_INTERVAL": "100ms",
    "AERON_DRIVER_TIMEOUT": "5000",
}
TERM_LENGTH = "64k"


def java_properties(settings: dict[str, str]) -> list[str]:
    """The same settings as system properties; a name that is one already stays."""
    names = {each: each if "." in each else each.lower().replace("_", ".") for each in settings}
    return [f"{names[each]}={value}" for each, value in settings.items()]


PORTS_FROM, PORTS_EACH = 10_000, 3_000
_next_port = itertools.count(random.randrange(PORTS_EACH))


def free_port() -> int:
    """A UDP port on 127.0.0.1 that nobody holds now, nor is given to others: below those that the system gives, and
    from a range of this worker's own where several run tests at once."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    while True:
        port = PORTS_FROM + worker * PORTS_EACH + next(_next_port) % PORTS_EACH
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def udp(port: int) -> str:
    """A channel with short terms."""
    return f"aeron:udp?endpoint=127.0.0.1:{port}|term-length={TERM_LENGTH}"


IPC = f"aeron:ipc?term-length={TERM_LENGTH}"


@dataclass
class Driver:
    """A media driver and its directory."""

    make: Make
    aeron_dir: Path
    program: Lines
    kill: Callable[[], None]
    process: Process | None = None  # a Java driver's is its JVM

    def close(self) -> None:
        self.program.close()


class Stage:
    """Starts what a test asks for."""

    def __init__(self, java_host: Callable[[], JavaHost]) -> None:
        self._java_host = java_host
        self._room = Room("aeronpy-stage-")
        self.base = self._room.path
        self._closers: list[Callable[[], None]] = []
        self._programs: list[Lines] = []
        self._count = 0

    def close(self) -> None:
        """End everything; what each program said is shown when the test failed."""
        for program in self._programs:
            print(f"--- {program.name} said:\n{program.tail()}")
        try:
            failures = []
            for close in reversed(self._closers):
                try:
                    close()
                except (AssertionError, OSError) as failure:
                    failures.append(failure)
            if failures:
                raise failures[0]
        finally:
            self._room.close()

    def closing(self, close: Callable[[], None]) -> None:
        """Call this when the stage closes, before what was started earlier ends."""
        self._closers.append(close)

    def agent(self, make: Make) -> Lines:
        """A general client program of a peer, ready to be told; see tests/interop/ends.py."""
        if make == "java":
            agent: Lines = self._hosted(self._java_host(), "agent", [])
        else:
            env = {"PYTHONPATH": str(peers.ROOT)}
            command: list[str | Path] = [peers.need_pyaeron(), "-m", "tests.interop.programs.agent_pyaeron"]
            agent = self.process(f"{make} agent", command, env)
        agent.expect("READY")
        return agent

    def _log(self) -> Path:
        self._count += 1
        return self.base / f"{self._count}.stderr"

    def process(
        self,
        name: str,
        command: list[str | Path],
        env: dict[str, str] | None = None,
        *,
        ends_by_signal: bool = False,
    ) -> Process:
        """Start a process that ends with the test."""
        process = Process(name, command, env or {}, self._log(), ends_by_signal=ends_by_signal)
        self._closers.append(process.close)
        self._programs.append(process)
        return process

    def driver(
        self,
        make: Make,
        name: str = "a",
        *,
        threading: Threading = "SHARED",
        alone: bool = False,
        settings: dict[str, str] | None = None,
        prefix: Sequence[str] = (),
        ends_by_signal: bool = True,
    ) -> Driver:
        """A driver that is ready. A Java one is in the shared JVM unless alone, or set up otherwise.

        prefix comes before the command: where the process is to run. One of ours that may end by itself does not
        end by signal.
        """
        aeron_dir = self.base / name
        settings = {**SETTINGS, **(settings or {})}
        if make == "ours":
            env = {**settings, "AERON_DIR": str(aeron_dir), "AERON_THREADING_MODE": threading}
            env["AERON_DIR_DELETE_ON_START"] = "true"
            command: list[str | Path] = [*prefix, sys.executable, "-m", "aeronpy.cli.driver"]
            process = self.process("our driver", command, env, ends_by_signal=ends_by_signal)
            await_driver(aeron_dir, process)
            return Driver(make, aeron_dir, process, process.kill, process)
        if make == "c":
            program = "tests.interop.programs.driver_pyaeron"
            python = peers.need_pyaeron()
            command = [*prefix, python, "-m", program, str(aeron_dir), threading.lower()]
            process = self.process("C driver", command, settings)
            process.expect("READY")
            return Driver(make, aeron_dir, process, process.kill, process)
        host = self._java_host()
        if alone or prefix or settings != SETTINGS:
            host = JavaHost(java_properties(settings), self._log(), prefix)
            self._closers.append(host.close)
        hosted = self._hosted(host, "driver", ["--dir", str(aeron_dir), "--threading", threading])
        hosted.expect("READY")
        return Driver(make, aeron_dir, hosted, host.kill, host.process)

    def hosted(self, role: str, options: list[str]) -> Hosted:
        """A program of the shared JVM; READY is left to the caller."""
        return self._hosted(self._java_host(), role, options)

    def _hosted(self, host: JavaHost, role: str, options: list[str]) -> Hosted:
        program = host.start(role, options)
        self._closers.append(program.close)
        self._programs.append(program)
        return program

    def program(
        self,
        make: Make,
        role: Literal["publish", "subscribe"],
        driver: Driver,
        channel: str,
        **options: int | bool | tuple[str, ...],
    ) -> Lines:
        """A flow program, in the shared JVM when it is Java's; READY is left to the caller."""
        args = arguments(driver, channel, options)
        if make == "java":
            return self._hosted(self._java_host(), role, args)
        return self.lone_program(make, role, driver, channel, **options)

    def lone_program(
        self,
        make: Make,
        role: Literal["publish", "subscribe"],
        driver: Driver,
        channel: str,
        **options: int | bool | tuple[str, ...],
    ) -> Process:
        """A flow program in a process of its own, which can be killed."""
        args = arguments(driver, channel, options)
        if make == "java":
            peers.compile_java()
            main = "FlowPublisher" if role == "publish" else "FlowSubscriber"
            return self.process(f"java {role}", [*peers.java_command(main), *args])
        python: str | Path = sys.executable if make == "ours" else peers.need_pyaeron()
        module = "flow_ours" if make == "ours" else "flow_pyaeron"
        env = {"PYTHONPATH": str(peers.ROOT), "AERON_DRIVER_TIMEOUT": SETTINGS["AERON_DRIVER_TIMEOUT"]}
        return self.process(f"{make} {role}", [python, "-m", f"tests.interop.programs.{module}", role, *args], env)


def arguments(driver: Driver, channel: str, options: dict[str, int | bool | tuple[str, ...]]) -> list[str]:
    """The command line of a flow program."""
    args = ["--dir", str(driver.aeron_dir), "--channel", channel]
    for name, value in options.items():
        if value is True:
            args.append(f"--{name}")
        elif isinstance(value, tuple):
            args += [word for each in value for word in (f"--{name}", each)]
        elif value is not False:
            args += [f"--{name}", str(value)]
    return args


def await_driver(aeron_dir: Path, process: Process) -> None:
    """Wait until the CnC file has a version: the driver serves."""
    cnc, deadline = aeron_dir / "cnc.dat", time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if process.process.poll() is not None:
            raise AssertionError(f"{process.name} ended at once:\n{process.tail()}")
        if cnc.exists() and cnc.stat().st_size > 4:
            with cnc.open("rb") as file:
                if struct.unpack("<i", file.read(4))[0] != 0:
                    return
        time.sleep(0.005)
    raise AssertionError(f"{process.name} made no CnC file:\n{process.tail()}")
