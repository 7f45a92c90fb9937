"""Our tools show of a directory, theirs or ours, what Java's tools show of it."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from aeronpy.observe.cnc import read_cnc_report
from aeronpy.observe.logs import log_paths
from tests.interop import flows, peers
from tests.interop.lines import JavaHost, Process
from tests.interop.scene import BAD_PORT, Scene, parse_counters, play
from tests.interop.stage import SETTINGS, Driver, Make, Stage, await_driver, java_properties


@pytest.fixture(scope="module", params=["c", "java", "ours"])
def scene(request: pytest.FixtureRequest, java_host: Callable[[], JavaHost]) -> Iterator[Scene]:
    peers.compile_java()
    stage = Stage(java_host)
    try:
        make: Make = request.param
        yield play(stage, make)
    finally:
        stage.close()


def body(text: str) -> list[str]:
    """The lines that carry something."""
    return [line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("Command `n Control")]


def test_stat_shows_every_counter_with_label_and_value(scene: Scene) -> None:
    before = scene.counters()
    ours = parse_counters(scene.read_ours("stat"))
    after = scene.counters()

    # Clients add their name to their heartbeat's label when they come to it, and some counters go on.
    still = {counter for counter in before if before[counter] == after[counter]}
    assert len(still) > len(before) // 2
    assert ours.keys() == before.keys() == after.keys()
    assert {counter: ours[counter] for counter in still} == {counter: before[counter] for counter in still}


def test_errors_shows_the_refused_channel(scene: Scene) -> None:
    ours = body(scene.read_ours("errors"))

    assert ours == body(scene.read("ErrorStat"))
    assert str(BAD_PORT) in "\n".join(ours)


def test_loss_shows_the_report(scene: Scene) -> None:
    ours = body(scene.read_ours("loss"))

    assert ours == body(scene.read("LossStat"))
    assert len(ours) == (2 if scene.driver.make == "java" else 3)


def test_streams_shows_the_stream_with_its_positions(scene: Scene) -> None:
    def streams(text: str) -> list[tuple[str, list[str]]]:
        parts = (line.partition(" : ") for line in body(text))
        return sorted((head, sorted(counters.replace(" (", "(").split())) for head, _, counters in parts)

    ours = streams(scene.read_ours("streams"))

    assert ours == streams(scene.read("StreamStat"))
    assert [head.split()[0] for head, _ in ours] == [f"sessionId={scene.session}"]
    end = flows.tally(flows.SHAPE, 0, flows.MESSAGES)["position"]
    assert any(counter.startswith("rcv-pos:") and counter.endswith(f":{end}") for counter in ours[0][1])


def test_backlog_shows_the_stations_of_the_stream(scene: Scene) -> None:
    def blocks(text: str) -> list[list[str]]:
        # Theirs come in the order of a hash, which also decides who gets the last corner.
        lines = [line.rstrip() for line in text.splitlines() if not line.startswith("Command")]
        found = "\n".join(lines).strip().replace("├", "└").split("\n\n")
        return sorted(sorted(block.splitlines()) for block in found)

    ours = blocks(scene.read_ours("backlog"))

    assert ours == blocks(scene.read("BacklogStat"))
    assert len(ours) == 1
    assert len(ours[0]) == 5


def test_driver_says_who_and_since_when(scene: Scene) -> None:
    def steady(text: str) -> list[str]:
        return [re.sub(r"^[\d:]{8}|activity: .*", "", line) for line in text.splitlines()]

    theirs = steady(scene.read("DriverTool"))
    assert steady(scene.read_ours("driver", "describe"))[: len(theirs)] == theirs
    assert len(theirs) == 3
    assert scene.read_ours("driver", "pid") == scene.read("DriverTool", "pid")


def test_log_shows_the_frames_of_publication_and_image(scene: Scene) -> None:
    logs = log_paths(scene.driver.aeron_dir)
    assert len(logs) == 2
    for log in logs:
        theirs = inspect(log, "100").splitlines()
        ours = scene.read_ours("log", log, "100").splitlines()
        assert ours[2:] == theirs[2:]
        assert sum("frame-length=1408" in line for line in ours) > 5


def inspect(log: str, limit: str) -> str:
    command = [*peers.java_command("io.aeron.samples.LogInspector"), log, limit]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def test_cnc_finds_all_parts_in_order(scene: Scene) -> None:
    report = read_cnc_report(scene.driver.aeron_dir)

    assert report.problems == []
    assert report.header is not None
    end = max(each.offset + each.length for each in report.sections)
    page = report.header.file_page_size or 4096
    assert report.file_length == -(-end // page) * page
    assert report.to_driver is not None
    assert report.to_driver.heartbeat_timestamp_ms >= report.header.start_timestamp_ms
    assert report.counters is not None
    assert report.counters.allocated == len(scene.counters())
    assert report.error_log is not None
    assert report.error_log.distinct_errors == 1
    assert report.to_clients is not None
    assert report.to_clients.latest_message is not None
    assert report.to_clients.latest_message.name.startswith("ON_")


def willing_driver(stage: Stage, make: Make) -> Driver:
    """A driver on its own that ends when it is asked to. (The C one would, but ``pyaeron`` gives it nothing to end.)"""
    if make == "ours":
        return stage.driver(make, settings={"AERON_DRIVER_TERMINATION_VALIDATOR": "allow"})
    aeron_dir = stage.base / "willing"
    validator = "aeron.driver.termination.validator=io.aeron.driver.DefaultAllowTerminationValidator"
    properties = [*java_properties(SETTINGS), validator, f"aeron.dir={aeron_dir}", "aeron.threading.mode=SHARED"]
    process = stage.process("java driver", [*peers.java_command("io.aeron.driver.MediaDriver", *properties)])
    await_driver(aeron_dir, process)
    return Driver(make, aeron_dir, process, process.kill)


@pytest.mark.parametrize(("make", "tool"), [("java", "ours"), ("ours", "ours"), ("ours", "java")])
def test_a_driver_ends_when_it_is_asked_to_and_allows_it(
    java_host: Callable[[], JavaHost], make: Make, tool: str
) -> None:
    stage = Stage(java_host)
    try:
        driver = willing_driver(stage, make)
        scene = Scene(driver, "", "")
        if tool == "ours":
            told = json.loads(scene.read_ours("driver", "terminate", "--wait", "20", "--json"))
            assert (told["requested"], told["ended"]) == (True, True)
        else:
            scene.read("DriverTool", "terminate")
        assert isinstance(driver.program, Process)
        assert driver.program.process.wait(20) == 0
        report = read_cnc_report(driver.aeron_dir)
        assert report.to_driver is not None
        assert report.to_driver.heartbeat_timestamp_ms == -1
    finally:
        with contextlib.suppress(AssertionError):  # what has ended cannot be ended by its signal
            stage.close()


@pytest.mark.parametrize("make", ["c", "ours"])
def test_a_driver_that_denies_to_end_is_said_to_be_there(java_host: Callable[[], JavaHost], make: Make) -> None:
    stage = Stage(java_host)
    try:
        driver = stage.driver(make)
        command = [sys.executable, "-m", "aeronpy.cli.main", "driver", "terminate", "--wait", "0.5"]
        done = subprocess.run(
            [*command, "-d", str(driver.aeron_dir)], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 1
        assert "termination validator" in done.stderr
    finally:
        stage.close()
