"""All channel types at once, for minutes, with loss and kills: ``python -m tests.soak.run [--seconds 600] [--seed N]``.

Two media drivers lose datagrams of every type at random. Over them run IPC, UDP unicast, multicast, multi-destination
cast (dynamic and manual), a multi-destination subscription and a spy, each with a publisher and subscribers in
processes of their own that check every byte and every position. Every few seconds one of these processes is killed and
started again, and now and then a driver with all that hangs on it. What a subscriber sees of a session must be
without a gap from where it joined. Ends with ``OK`` and what was moved, or with what went wrong, and exit code 1.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.interop.lines import Process
from tests.interop.stage import SETTINGS, await_driver, free_port

LOSS = 0.02
DRIVER_SETTINGS = SETTINGS | {
    "AERON_THREADING_MODE": "SHARED",
    "AERON_DIR_DELETE_ON_START": "true",
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": f"rate={LOSS}|recv-msg-mask=0xff",
}
KILL_EVERY_S = 3.0
DRIVER_KILL_EVERY_S = 60.0
STALL_S = 45.0
TERM = "term-length=64k"


class Program(Process):
    """A process whose lines are taken without waiting."""

    def news(self) -> list[str]:
        """What it said since the last time."""
        found = []
        while not self._lines.empty():
            line = self._lines.get()
            if line is not None:
                found.append(line)
                self.said.append(line)
        return found


@dataclass
class Line:
    """One kind of channel: who publishes where, who reads where."""

    name: str
    publisher: tuple[str, str]  # driver, channel; destinations follow it behind semicolons
    subscribers: list[tuple[str, str]]
    processes: dict[str, Program] = field(default_factory=dict)
    heard: dict[str, int] = field(default_factory=dict)
    last_progress: dict[str, float] = field(default_factory=dict)
    messages: int = 0

    def place(self, who: str) -> tuple[str, str]:
        """Driver and channel of the publisher, or of a subscriber by its number."""
        return self.publisher if who == "publisher" else self.subscribers[int(who.split()[1])]


def lines_of(chance: random.Random) -> list[Line]:
    """What runs at once."""
    unicast, spied, control, multicast = (free_port() for _ in range(4))
    manual = [free_port(), free_port()]
    many = [free_port(), free_port()]
    group = f"224.20.30.{1 + 2 * chance.randrange(100)}:{multicast}"
    return [
        Line("ipc", ("a", f"aeron:ipc?{TERM}"), [("a", "aeron:ipc"), ("a", "aeron:ipc?tether=true")]),
        Line(
            "unicast",
            ("a", f"aeron:udp?endpoint=127.0.0.1:{unicast}|{TERM}"),
            [("b", f"aeron:udp?endpoint=127.0.0.1:{unicast}")],
        ),
        Line(
            "spy",
            ("a", f"aeron:udp?endpoint=127.0.0.1:{spied}|ssc=true|{TERM}"),
            [("a", f"aeron-spy:aeron:udp?endpoint=127.0.0.1:{spied}")],
        ),
        Line(
            "multicast",
            ("a", f"aeron:udp?endpoint={group}|interface=127.0.0.1|fc=min|{TERM}"),
            [(driver, f"aeron:udp?endpoint={group}|interface=127.0.0.1") for driver in ("a", "b")],
        ),
        Line(
            "dynamic",
            ("a", f"aeron:udp?control=127.0.0.1:{control}|control-mode=dynamic|fc=min|{TERM}"),
            [
                (driver, f"aeron:udp?endpoint=127.0.0.1:{port}|control=127.0.0.1:{control}")
                for driver, port in zip(("a", "b"), many, strict=True)
            ],
        ),
        Line(
            "manual",
            ("b", f"aeron:udp?control-mode=manual|fc=min|{TERM};" + ";".join(_endpoint(port) for port in manual)),
            [("a", _endpoint(manual[0])), ("b", _endpoint(manual[1]))],
        ),
        Line(
            "multi-destination subscription",
            ("b", f"aeron:udp?endpoint=127.0.0.1:{(port := free_port())}|{TERM}"),
            [("a", f"aeron:udp?control-mode=manual;{_endpoint(port)};{_endpoint(free_port())}")],
        ),
    ]


def _endpoint(port: int) -> str:
    return f"aeron:udp?endpoint=127.0.0.1:{port}"


class Soak:
    """Keeps everything running, kills, and listens."""

    def __init__(self, base: Path, seed: int) -> None:
        self.base = base
        self.random = random.Random(seed)
        self._count = 0
        self.drivers: dict[str, Program] = {}
        self.lines = lines_of(self.random)
        self.kills = 0
        self.driver_kills = 0

    def start(self) -> None:
        """Drivers, then everything on them."""
        for name in ("a", "b"):
            self.drivers[name] = self._driver(name)
        for number, line in enumerate(self.lines):
            for index in range(len(line.subscribers)):
                self._start(number, line, f"subscriber {index}")
            self._start(number, line, "publisher")

    def end(self) -> None:
        """Nothing of it goes on."""
        for line in self.lines:
            for process in line.processes.values():
                process.kill()
        for driver in self.drivers.values():
            driver.kill()

    def _program(self, name: str, command: list[str], env: dict[str, str]) -> Program:
        self._count += 1
        return Program(name, [sys.executable, "-m", *command], env, self.base / f"{self._count}.stderr")

    def _driver(self, name: str) -> Program:
        aeron_dir = self.base / name
        program = self._program(name, ["aeronpy.cli.driver"], DRIVER_SETTINGS | {"AERON_DIR": str(aeron_dir)})
        await_driver(aeron_dir, program)
        return program

    def _start(self, number: int, line: Line, who: str, *, is_again: bool = False) -> None:
        driver, channel = line.place(who)
        role = "publish" if who == "publisher" else "subscribe"
        channel, *destinations = channel.split(";")
        where = ["--dir", str(self.base / driver), "--channel", channel, "--stream", str(1000 + number)]
        where += [word for destination in destinations for word in ("--destination", destination)]
        how = ["--seed", str(number), "--driver-timeout-ms", "20000"]
        if role == "publish":
            how.append("--exclusive")  # who comes after a killed one starts a stream of its own
        command = ["tests.interop.programs.flow_ours", role, *where, *how]
        line.processes[who] = self._program(f"{line.name} {who}", command, {})
        line.heard[who] = 0
        if not is_again:
            line.last_progress[who] = time.monotonic()

    def kill_one(self) -> None:
        """End one program as a crash would, and start it again."""
        number = self.random.randrange(len(self.lines))
        line = self.lines[number]
        who = self.random.choice(sorted(line.processes))
        line.processes[who].kill()
        self.kills += 1
        self._start(number, line, who)
        for other in line.processes:  # a stream may stand still until its time-outs are over
            line.last_progress[other] = time.monotonic()

    def kill_driver(self) -> None:
        """End a driver and every client of it, and start them again."""
        name = self.random.choice(sorted(self.drivers))
        for line in self.lines:
            for who, process in line.processes.items():
                if line.place(who)[0] == name:
                    process.kill()
        self.drivers[name].kill()
        shutil.rmtree(self.base / name)  # so that nobody takes what it left for the one that comes
        self.drivers[name] = self._driver(name)
        self.driver_kills += 1
        for number, line in enumerate(self.lines):
            for who in list(line.processes):
                if line.place(who)[0] == name:
                    self._start(number, line, who)
                line.last_progress[who] = time.monotonic()

    def listen(self) -> None:
        """Take what the programs said; raise where one failed or stands still."""
        for number, line in enumerate(self.lines):
            for who, process in list(line.processes.items()):
                for said in process.news():
                    word, *rest = said.split(" ")
                    if word == "FAILED" and "Address already in use" in said:
                        # The killed one's sockets are there until its time-outs are over.
                        self._start(number, line, who, is_again=True)
                    elif word == "FAILED":
                        raise AssertionError(f"{line.name}, {who}: {said}\n{process.tail()}")
                    if word == "AT":
                        self._progress(line, who, int(rest[0]))
                if time.monotonic() - line.last_progress[who] > STALL_S:
                    raise AssertionError(f"{line.name}, {who}: nothing for {STALL_S:.0f} s\n{process.tail()}")

    @staticmethod
    def _progress(line: Line, who: str, count: int) -> None:
        if who != "publisher":
            line.messages += count - line.heard[who] if count > line.heard[who] else count
        line.heard[who] = count
        line.last_progress[who] = time.monotonic()

    def run(self, seconds: float) -> None:
        """Until the time is over."""
        end = time.monotonic() + seconds
        next_kill = time.monotonic() + KILL_EVERY_S
        next_driver_kill = time.monotonic() + DRIVER_KILL_EVERY_S
        while time.monotonic() < end:
            self.listen()
            if time.monotonic() > next_driver_kill:
                self.kill_driver()
                next_driver_kill = time.monotonic() + DRIVER_KILL_EVERY_S
            elif time.monotonic() > next_kill:
                self.kill_one()
                next_kill = time.monotonic() + KILL_EVERY_S
            time.sleep(0.05)


def main() -> int:
    """Run, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=20260101)
    options = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="aeronpy-soak-", dir="/dev/shm"))
    soak = Soak(base, options.seed)
    try:
        soak.start()
        soak.run(options.seconds)
    except AssertionError as failure:
        print(f"FAILED (seed {options.seed}): {failure}")
        return 1
    finally:
        soak.end()
        shutil.rmtree(base, ignore_errors=True)
    for line in soak.lines:
        print(f"{line.name:32} {line.messages:>12,} messages")
    print(f"OK seconds={options.seconds:.0f} kills={soak.kills} driver_kills={soak.driver_kills}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
