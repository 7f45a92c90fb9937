"""All channel types at once, for minutes, with loss and kills: ``python -m tests.soak.run [--seconds 600] [--seed N]``.

Two media drivers lose datagrams of every type at random. Over them run IPC, UDP unicast, multicast, multi-destination
cast (dynamic and manual), a multi-destination subscription and a spy, each with a publisher and subscribers in
processes of their own that check every byte and every position. Every few seconds one of these processes is killed and
started again, and now and then a driver with all that hangs on it. What a subscriber sees of a session must be
without a gap from where it joined, up to at least what a killed publisher was known to have offered, and at the end of
all up to the last message of each publisher. Ends with ``OK`` and what was moved, or with what went wrong, and exit
code 1; told to end by a signal it takes everything away that it made, and its exit code is the signal's.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from aeronpy.observe.errors import read_errors
from tests.interop.leftovers import Room
from tests.interop.lines import Process
from tests.interop.programs.flow import PROGRESS_MESSAGES
from tests.interop.stage import SETTINGS, await_driver, free_port

LOSS = 0.02
# Long enough that a busy machine looks like no death; a linger that many lost datagrams in a row fit into.
DRIVER_SETTINGS = SETTINGS | {
    "AERON_CLIENT_LIVENESS_TIMEOUT": "8s",
    "AERON_IMAGE_LIVENESS_TIMEOUT": "8s",
    "AERON_PUBLICATION_CONNECTION_TIMEOUT": "8s",
    "AERON_PUBLICATION_UNBLOCK_TIMEOUT": "10s",
    "AERON_PUBLICATION_LINGER_TIMEOUT": "5s",
    "AERON_FLOW_CONTROL_RECEIVER_TIMEOUT": "8s",
    "AERON_MIN_MULTICAST_FLOW_CONTROL_RECEIVER_TIMEOUT": "8s",
    "AERON_THREADING_MODE": "SHARED",
    "AERON_DIR_DELETE_ON_START": "true",
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": f"rate={LOSS}|recv-msg-mask=0xff",
}
KILL_EVERY_S = 3.0
DRIVER_KILL_EVERY_S = 60.0
STALL_S = 60.0
END_S = 60.0
TERM = "term-length=64k"
# Of a group only those are waited for whom the sender has heard: so it begins, and goes on, with both.
BOTH = "fc=min,g:/2"


class Program(Process):
    """A process whose lines are taken without waiting."""

    def news(self) -> list[str]:
        """What it said since the last time."""
        found = []
        while not self._lines.empty():
            line = self._lines.get()
            self._ended = self._ended or line is None
            if line is not None:
                found.append(line)
                self.said.append(line)
        del self.said[:-50]
        return found

    def kill_and_hear(self) -> None:
        """End it as a crash would; what it had said is there to be taken."""
        self.kill()
        self._reader.join(5)

    @property
    def is_over(self) -> bool:
        """Whether it has said its last word."""
        return self._ended


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
    # The publisher of now: its session, which subscribers saw it come and go, and what it offered until it was closed.
    session: str = ""
    images: dict[str, set[str]] = field(default_factory=dict)
    heard_out: dict[str, int] = field(default_factory=dict)
    left: int = -1
    # Messages that a session must bring at least, since its killed publisher was known to have offered them.
    owed: dict[str, int] = field(default_factory=dict)
    tails: int = 0

    def place(self, who: str) -> tuple[str, str]:
        """Driver and channel of the publisher, or of a subscriber by its number."""
        return self.publisher if who == "publisher" else self.subscribers[int(who.split()[1])]

    def progress(self, who: str, count: int) -> None:
        """It is at so many messages of some session; it says so each time there are 64 more."""
        if who != "publisher":
            self.messages += PROGRESS_MESSAGES
        self.heard[who] = count
        self.last_progress[who] = time.monotonic()

    def gone(self, who: str, told: dict[str, str]) -> None:
        """A subscriber saw the end of a session: nothing may lack before it."""
        if "count" not in told:
            return
        session, until = told["session"], int(told["first"]) + int(told["count"])
        if session in self.owed:
            self.tails += 1
            if until < self.owed[session]:
                raise AssertionError(f"{self.name}, {who}: {until} of {self.owed[session]} messages: {told}")
        if session == self.session:
            self.heard_out[who] = until

    def is_whole(self) -> bool:
        """Whether the publisher of now runs, and every subscriber has its image and progress."""
        return self.session != "" and all(
            self.heard[who] > 0 and (who == "publisher" or self.session in self.images[who]) for who in self.processes
        )

    def is_heard_out(self) -> bool:
        """Whether every subscriber has seen the end of the closed publisher's session."""
        if any(until != self.left for until in self.heard_out.values()):
            raise AssertionError(f"{self.name}: of {self.left} messages only {self.heard_out}")
        return len(self.heard_out) == len(self.subscribers)


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
            ("a", f"aeron:udp?endpoint={group}|interface=127.0.0.1|{BOTH}|{TERM}"),
            [(driver, f"aeron:udp?endpoint={group}|interface=127.0.0.1") for driver in ("a", "b")],
        ),
        Line(
            "dynamic",
            ("a", f"aeron:udp?control=127.0.0.1:{control}|control-mode=dynamic|{BOTH}|{TERM}"),
            [
                (driver, f"aeron:udp?endpoint=127.0.0.1:{port}|control=127.0.0.1:{control}")
                for driver, port in zip(("a", "b"), many, strict=True)
            ],
        ),
        Line(
            "manual",
            ("b", f"aeron:udp?control-mode=manual|{BOTH}|{TERM};" + ";".join(_endpoint(port) for port in manual)),
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


class Told(Exception):
    """A signal asked for the end; its number is the argument."""


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
        self.pause_s = 0.0
        self._listened = time.monotonic()
        self._told = 0

    def tell_end(self, number: int, _frame: FrameType | None) -> None:
        """A signal's handler: nothing is cut off in the middle."""
        self._told = number

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
        programs = [process for line in self.lines for process in line.processes.values()]
        for process in [*programs, *self.drivers.values()]:
            process.kill()

    def account(self) -> str:
        """What each line moved, what the drivers that live now have noted, how long this process had to wait."""
        lines = [
            f"{line.name:32} {line.messages:>12,} messages, {line.tails} ends of killed publishers heard out"
            for line in self.lines
        ]
        lines += [f"{name}: {each.text}" for name in self.drivers for each in read_errors(self.base / name)]
        lines.append(f"kills={self.kills} driver_kills={self.driver_kills} longest_pause={self.pause_s:.1f}s")
        return "\n".join(lines)

    def _program(self, name: str, command: list[str], env: dict[str, str]) -> Program:
        if self._told:
            raise Told(self._told)
        self._count += 1
        return Program(name, [sys.executable, "-m", *command], env, self.base / f"{self._count}.stderr")

    def _driver(self, name: str) -> Program:
        aeron_dir = self.base / name
        program = self._program(name, ["aeronpy.cli.driver"], DRIVER_SETTINGS | {"AERON_DIR": str(aeron_dir)})
        self.drivers[name] = program
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
            line.session = ""
        command = ["tests.interop.programs.flow_ours", role, *where, *how]
        line.processes[who] = self._program(f"{line.name} {who}", command, {})
        line.heard[who] = 0
        line.images[who] = set()
        line.heard_out.pop(who, None)
        if not is_again:
            line.last_progress[who] = time.monotonic()

    def kill_one(self) -> None:
        """End one program as a crash would, and start it again."""
        number = self.random.randrange(len(self.lines))
        line = self.lines[number]
        who = self.random.choice(sorted(line.processes))
        line.processes[who].kill_and_hear()
        self._hear(number, line, who)
        if who == "publisher" and line.session:
            line.owed[line.session] = line.heard[who]
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
            if line.publisher[0] == name:
                line.owed.clear()  # what the driver had not yet sent nobody will
        self.drivers[name].kill()
        shutil.rmtree(self.base / name)  # so that nobody takes what it left for the one that comes
        self._driver(name)
        self.driver_kills += 1
        for number, line in enumerate(self.lines):
            for who in list(line.processes):
                if line.place(who)[0] == name:
                    self._start(number, line, who)
                line.last_progress[who] = time.monotonic()

    def listen(self) -> None:
        """Take what the programs said; raise where one failed, ended or stands still."""
        if self._told:
            raise Told(self._told)
        now = time.monotonic()
        self.pause_s, self._listened = max(self.pause_s, now - self._listened), now
        for name, driver in self.drivers.items():
            if driver.process.poll() is not None:
                raise AssertionError(f"driver {name} ended: {driver.tail()}")
        for number, line in enumerate(self.lines):
            for who in list(line.processes):
                self._hear(number, line, who)
                process = line.processes[who]
                if process.is_over and process.process.poll() != 0:
                    raise AssertionError(f"{line.name}, {who}: ended without a word\n{process.tail()}")
                if time.monotonic() - line.last_progress[who] > STALL_S:
                    raise AssertionError(f"{line.name}, {who}: nothing for {STALL_S:.0f} s\n{process.tail()}")

    def _hear(self, number: int, line: Line, who: str) -> None:
        process = line.processes[who]
        for said in process.news():
            word, *rest = said.split(" ")
            values = dict(each.split("=", 1) for each in rest if "=" in each)
            if word == "FAILED" and "Address already in use" in said:
                # The killed one's sockets are there until its time-outs are over.
                self._start(number, line, who, is_again=True)
                return
            if word == "FAILED":
                raise AssertionError(f"{line.name}, {who}: {said}\n{process.tail()}")
            if word == "READY" and who == "publisher":
                line.session = values["session"]
            elif word == "AT":
                line.progress(who, int(rest[0]))
            elif word == "IMAGE":
                line.images[who].add(values["session"])
            elif word == "GONE":
                line.gone(who, values)
            elif word == "LEFT":
                line.left = int(values["count"])

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

    def _until(self, condition: Callable[[Line], bool], what: str) -> None:
        """Listen until this is so of each line."""
        deadline = time.monotonic() + END_S
        while late := [line.name for line in self.lines if not condition(line)]:
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {END_S:.0f} s with {', '.join(late)}")
            self.listen()
            time.sleep(0.05)

    def finish(self) -> None:
        """Publishers come to their end, and each subscriber has heard the last message of each."""
        self._until(Line.is_whole, "everybody hears the publisher of now")
        for line in self.lines:
            line.processes["publisher"].tell("close")
        self._until(lambda line: line.left >= 0, "the publisher says how much it sent")
        self._until(Line.is_heard_out, "every subscriber sees the end of the stream")


def main() -> int:
    """Run, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=20260101)
    options = parser.parse_args()
    room = Room("aeronpy-soak-")
    soak = Soak(room.path, options.seed)
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, soak.tell_end)
    try:
        soak.start()
        soak.run(options.seconds)
        soak.finish()
        account = soak.account()
    except Told as told:
        print(f"ended by signal {told}")
        return 128 + int(told.args[0])
    except AssertionError as failure:
        print(f"FAILED (seed {options.seed}): {failure}\n{soak.account()}")
        return 1
    finally:
        soak.end()
        room.close()
    print(f"{account}\nOK seconds={options.seconds:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
