"""Wall clocks that are set forward and back by an hour while streams flow.

Aeron bases one thing on the wall clock: heartbeats, which are epoch milliseconds that another process compares with
its own clock. A clock that is set forward makes what others wrote look an hour old: Aeron's driver gives such clients
up, and Aeron's client such a driver. A clock that is set back makes nothing look old. The same is expected here: each
who was given up says why, streams of all others go on, and those who agree on the time are served. Everything within
streams is measured by the monotonic clock.
"""

from __future__ import annotations

import itertools
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

import pytest

from tests.interop import flows, peers
from tests.interop.lines import Process
from tests.interop.stage import IPC, SETTINGS, Driver, Stage, arguments, free_port, udp

HOUR_S = 3600
# Several looks of everybody at everybody: the driver's each 100 ms, the clients' each 500 ms.
LOOKS_S = 2.0
MEDIA = pytest.mark.parametrize("medium", ["ipc", "udp"])


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that steps a process's wall clock."""
    library = tmp_path_factory.mktemp("clock") / "clock_step.so"
    source = Path(__file__).parent / "programs" / "clock_step.c"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


class WallClock:
    """A wall clock that one process, or several, go by."""

    def __init__(self, stage: Stage, shim: Path, name: str) -> None:
        self._file = stage.base / f"{name}.clock"
        self._file.write_bytes(struct.pack("<q", 0))
        self.env = {"LD_PRELOAD": str(shim), "CLOCK_STEP_FILE": str(self._file)}

    def step(self, seconds: int) -> None:
        """Set it so far off the true time, at once."""
        with self._file.open("r+b", buffering=0) as file:
            file.write(struct.pack("<q", seconds * 1_000_000_000))


class Scene:
    """A driver, and pairs of programs; the driver and each program go by a clock that the test steps."""

    def __init__(self, stage: Stage, shim: Path, medium: str) -> None:
        self._stage = stage
        self._shim = shim
        self._medium = medium
        self._streams = itertools.count(2001)
        self.clock = self.new_clock("driver")
        self.driver: Driver = stage.driver("ours", settings=self.clock.env)

    def new_clock(self, name: str) -> WallClock:
        return WallClock(self._stage, self._shim, name)

    def program(
        self, role: Literal["publish", "subscribe"], channel: str, stream: int, clock: WallClock, count: int
    ) -> Process:
        options: dict[str, int | bool | tuple[str, ...]] = {
            "count" if role == "publish" else "until": count,
            "stream": stream,
        }
        env = {
            "PYTHONPATH": str(peers.ROOT),
            "AERON_DRIVER_TIMEOUT": SETTINGS["AERON_DRIVER_TIMEOUT"],
            **clock.env,
        }
        module = "tests.interop.programs.flow_ours"
        command: list[str | Path] = [sys.executable, "-m", module, role, *arguments(self.driver, channel, options)]
        return self._stage.process(f"our {role}", command, env)

    def pair(self, source: WallClock, target: WallClock, *, count: int = 0) -> tuple[Process, Process]:
        """A publisher and a subscriber whose stream flows."""
        channel = IPC if self._medium == "ipc" else udp(free_port())
        stream = next(self._streams)
        subscriber = self.program("subscribe", channel, stream, target, count)
        subscriber.expect("READY")
        publisher = self.program("publish", channel, stream, source, count)
        publisher.expect("READY")
        subscriber.expect("AT", value=str(flows.HELD_AT))
        return publisher, subscriber


def flows_on(subscriber: Process) -> None:
    """Its stream has brought more by now, all of it whole, and brings more still."""
    subscriber.tail()  # what it said until now is heard: the next line is news
    more = int(subscriber.expect("AT")["value"])
    subscriber.tell("stop")
    end = subscriber.expect("END")
    assert int(end["count"]) >= more
    flows.same(end, 0, int(end["count"]))
    subscriber.expect("STOPPED")


def serves(scene: Scene, clock: WallClock) -> None:
    """A new pair that goes by this clock is served whole."""
    publisher, subscriber = scene.pair(clock, clock, count=flows.MESSAGES)
    flows.same(publisher.expect("SENT"), 0, flows.MESSAGES)
    flows.same(subscriber.expect("DONE"), 0, flows.MESSAGES)


@MEDIA
def test_everybodys_clock_set_back_an_hour_ends_nothing(stage: Stage, shim: Path, medium: str) -> None:
    scene = Scene(stage, shim, medium)
    publisher, subscriber = scene.pair(scene.clock, scene.clock)
    scene.clock.step(-HOUR_S)
    time.sleep(LOOKS_S)
    # A heartbeat that was written before the step lies in the future: it is not old.
    assert "FAILED" not in publisher.tail()
    flows_on(subscriber)
    serves(scene, scene.clock)


@MEDIA
def test_everybodys_clock_set_forward_an_hour_ends_at_most_clients_which_say_so(
    stage: Stage, shim: Path, medium: str
) -> None:
    scene = Scene(stage, shim, medium)
    programs = scene.pair(scene.clock, scene.clock)
    scene.clock.step(HOUR_S)
    time.sleep(LOOKS_S)
    for program in programs:
        # Who looks first, before the other has written again, gives it up: with Aeron too.
        failure = program.tail().partition("FAILED ")[2]
        assert failure == "" or "ClientTimeout" in failure or "DriverTimeout" in failure
    serves(scene, scene.clock)


@MEDIA
def test_a_driver_alone_an_hour_ahead_gives_up_its_clients_and_serves_those_who_agree(
    stage: Stage, shim: Path, medium: str
) -> None:
    scene = Scene(stage, shim, medium)
    programs = scene.pair(mine := scene.new_clock("clients"), mine)
    scene.clock.step(HOUR_S)
    for program in programs:
        assert "ClientTimeout" in program.expect_failure(flows.DEATH_S)
    mine.step(HOUR_S)
    serves(scene, mine)


@MEDIA
def test_a_driver_alone_an_hour_behind_is_given_up_and_served_from_when_it_is_back(
    stage: Stage, shim: Path, medium: str
) -> None:
    scene = Scene(stage, shim, medium)
    programs = scene.pair(mine := scene.new_clock("clients"), mine)
    scene.clock.step(-HOUR_S)
    for program in programs:
        assert "DriverTimeout" in program.expect_failure(flows.DEATH_S)
    scene.clock.step(0)
    serves(scene, mine)


@MEDIA
@pytest.mark.parametrize(("step_s", "reason"), [(HOUR_S, "DriverTimeout"), (-HOUR_S, "ClientTimeout")])
def test_a_client_alone_an_hour_off_ends_alone(stage: Stage, shim: Path, medium: str, step_s: int, reason: str) -> None:
    scene = Scene(stage, shim, medium)
    _, living = scene.pair(scene.clock, scene.clock)
    off = scene.new_clock("off")
    victims = scene.pair(off, off)
    off.step(step_s)
    for victim in victims:
        assert reason in victim.expect_failure(flows.DEATH_S)
    flows_on(living)
