"""Our tools on directories of the real drivers: the same numbers as Aeron's own tools print there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from aeronpy.observe import (
    ChannelKey,
    CncFile,
    Counter,
    CounterFilter,
    CounterType,
    HeartbeatKey,
    StreamKey,
    SystemKey,
    local_addresses,
    read_counters,
)
from aeronpy.observe.logs import log_paths
from tests.interop import peers
from tests.interop.lines import JavaHost
from tests.interop.stage import IPC, SETTINGS, Driver, Make, Stage, await_driver, free_port, java_properties, udp
from tests.unit.log_files import busy_log

MESSAGES = 120
LOSS_RATE = "0.1"
C_LOSS = {
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": f"rate={LOSS_RATE}|seed=7|recv-msg-mask=0x2",
}
JAVA_LOSS = [
    "aeron.ReceiveChannelEndpoint.supplier=io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier",
    f"aeron.debug.receive.data.loss.rate={LOSS_RATE}",
    "aeron.debug.receive.data.loss.seed=7",
]
ATTEMPTS = 5


@dataclass
class Scene:
    """A driver with an IPC stream, a lossy UDP stream and a refused command, all come to rest."""

    aeron_dir: Path
    sessions: list[int]
    channel: str

    def java(self, tool: str, *arguments: str) -> list[str]:
        """What Aeron's own tool prints."""
        command = [*peers.java_command(f"io.aeron.samples.{tool}", f"aeron.dir={self.aeron_dir}"), *arguments]
        return run(command)

    def ours(self, tool: str, *arguments: str) -> list[str]:
        """What our tool prints."""
        return run([sys.executable, "-m", "aeronpy.cli.main", tool, *arguments, "-d", str(self.aeron_dir)])


def run(command: list[str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=peers.ROOT, check=True)
    return done.stdout.splitlines()


def lossy_java_driver(stage: Stage) -> Driver:
    aeron_dir = stage.base / "lossy"
    properties = [*java_properties(SETTINGS), *JAVA_LOSS, f"aeron.dir={aeron_dir}", "aeron.threading.mode=SHARED"]
    process = stage.process("java driver", [*peers.java_command("io.aeron.driver.MediaDriver", *properties)])
    await_driver(aeron_dir, process)
    return Driver("java", aeron_dir, process, process.kill)


@pytest.fixture(scope="module", params=["c", "java"])
def scene(request: pytest.FixtureRequest, java_host: Callable[[], JavaHost]) -> Iterator[Scene]:
    make: Make = request.param
    peers.need_jar()
    peers.need_pyaeron()
    stage = Stage(java_host)
    try:
        driver = stage.driver("c", settings=C_LOSS) if make == "c" else lossy_java_driver(stage)
        channel = udp(free_port())
        sessions = [play(stage, driver, each) for each in (IPC, channel)]
        refused = stage.program("c", "subscribe", driver, "aeron:udp?endpoint=127.0.0.1:no-port")
        assert "FAILED" in refused.expect_failure()
        yield Scene(driver.aeron_dir, sessions, channel)
        if make == "java":
            driver.kill()  # it would not end with its input
    finally:
        stage.close()


def play(stage: Stage, driver: Driver, channel: str) -> int:
    """Pass a flow on to two subscribers and leave everything open; the session."""
    subscribers = [stage.program("c", "subscribe", driver, channel, until=MESSAGES) for _ in range(2)]
    for each in subscribers:
        each.expect("READY")
    publisher = stage.program("c", "publish", driver, channel, count=MESSAGES)
    publisher.expect("SENT")
    done = [each.expect("DONE") for each in subscribers]
    return int(done[0]["session"])


def agreed(theirs: Callable[[], list[str]], ours: Callable[[], list[str]]) -> tuple[list[str], list[str]]:
    """Both outputs from a time when theirs did not change."""
    for _ in range(ATTEMPTS):
        before, found, after = theirs(), ours(), theirs()
        if before == after:
            return before, found
    raise AssertionError("the driver never came to rest")


def rows(lines: list[str]) -> dict[int, tuple[int, str]]:
    """Value and label by counter id."""
    found = {}
    for line in lines:
        number, colon, rest = line.partition(":")
        if colon and number.strip().isdigit() and " - " in rest and not line[0].isdigit():
            value, _, label = rest.partition(" - ")
            found[int(number)] = (int(value.replace(",", "")), label)
    return found


def test_stat_shows_the_counters_that_aeron_stat_shows(scene: Scene) -> None:
    before = scene.java("AeronStat", "watch=false")
    ours = scene.ours("stat")
    after = scene.java("AeronStat", "watch=false")

    first, found, last = rows(before), rows(ours), rows(after)
    assert len(found) > 60
    assert found.keys() == first.keys() == last.keys()
    # Some counters run on between the looks, none runs backwards; a label only ever grows (a client's by its name).
    for counter_id, (value, label) in found.items():
        assert label.startswith(first[counter_id][1])
        assert last[counter_id][1].startswith(label)
        assert first[counter_id][0] <= value <= last[counter_id][0], label
    at_rest = {each for each in found if first[each] == last[each]}
    assert {each for each, (_, label) in found.items() if "pub-pos" in label or "sub-pos" in label} <= at_rest
    unchanged = [line for line in before if line in after and line.startswith(" ")]
    assert set(unchanged) <= set(ours)  # to the space
    assert ours[0].split(", heartbeat")[0][8:] == before[0].split(", heartbeat")[0][8:]
    assert ours[1] == before[1]


@pytest.mark.parametrize(
    "filters",
    [
        ["type=^(1|2|4)$"],
        ["type=^0$", "identity=^(15|34)$"],
        ["type=^[1-5]$", "channel=ipc"],
        ["type=^[1-5]$", "stream=1001"],
        ["type=^[1-5]$", "stream=nothing"],
        ["type=^[67]$", "channel=no such channel"],
    ],
)
def test_stat_filters_as_aeron_stat_does(scene: Scene, filters: list[str]) -> None:
    theirs = rows(scene.java("AeronStat", "watch=false", *filters))
    ours = rows(scene.ours("stat", *filters))

    assert list(ours) == list(theirs)


def test_errors_shows_what_error_stat_shows(scene: Scene) -> None:
    theirs = [line for line in scene.java("ErrorStat") if line and not line.startswith("Command")]
    ours = [line for line in scene.ours("errors") if line]

    assert ours == theirs
    assert ours[-1] == "1 distinct errors observed."
    assert "no-port" in "".join(ours)


def test_loss_shows_what_loss_stat_shows(scene: Scene) -> None:
    theirs, ours = agreed(lambda: scene.java("LossStat"), lambda: scene.ours("loss"))

    assert ours == theirs
    assert ours[-1] == "1 loss entries"
    assert f"{scene.sessions[1]},1001,{scene.channel}," in ours[1]


def test_streams_shows_what_stream_stat_shows(scene: Scene) -> None:
    def theirs() -> list[str]:
        return [line for line in scene.java("StreamStat") if line.startswith("sessionId=")]

    expected, ours = agreed(theirs, lambda: scene.ours("streams"))

    assert sorted(ours) == sorted(expected)
    assert {int(line.split()[0].partition("=")[2]) for line in ours} == set(scene.sessions)


def test_backlog_shows_what_backlog_stat_shows(scene: Scene) -> None:
    def blocks(lines: list[str]) -> list[list[str]]:
        # Theirs come in the order of a hash, which also decides who gets the last corner.
        text = "\n".join(line for line in lines if not line.startswith("Command")).strip()
        return sorted(sorted(block.replace("├", "└").splitlines()) for block in text.split("\n\n"))

    theirs, ours = agreed(lambda: scene.java("BacklogStat"), lambda: scene.ours("backlog"))

    assert blocks(ours) == blocks(theirs)
    assert len(blocks(ours)) == 2


def test_driver_says_what_driver_tool_says(scene: Scene) -> None:
    report = scene.java("DriverTool")
    theirs = [re.sub(r"^\d\d:\d\d:\d\d|activity: .*", "", line) for line in report]
    ours = [re.sub(r"^\d\d:\d\d:\d\d|activity: .*", "", line) for line in scene.ours("driver", "describe")]

    assert ours[: len(theirs)] == theirs
    assert scene.ours("driver", "pid") == scene.java("DriverTool", "pid")
    facts = dict(line.split(": ", 1) for line in ours[len(theirs) :])
    assert facts["Driver"].startswith("alive")
    assert facts["Threading mode"] == "SHARED"
    assert facts["Publications"] == "2"
    assert facts["Images"] == "1"


@pytest.mark.parametrize(
    ("properties", "arguments"),
    [
        ([], []),
        ([], ["16"]),
        (["aeron.log.inspector.data.format=us-ascii", "aeron.log.inspector.skipDefaultHeader=true"], ["40"]),
        (["aeron.log.inspector.scanOverZeroes=true"], ["8"]),
    ],
)
def test_log_shows_what_log_inspector_shows(scene: Scene, properties: list[str], arguments: list[str]) -> None:
    options = {
        "aeron.log.inspector.data.format=us-ascii": ["-f", "ascii"],
        "aeron.log.inspector.skipDefaultHeader=true": ["--skip-default-header"],
        "aeron.log.inspector.scanOverZeroes=true": ["-z"],
    }
    logs = log_paths(scene.aeron_dir)
    assert len(logs) == 3
    for log in logs:
        command = [*peers.java_command("io.aeron.samples.LogInspector", *properties), log, *arguments]
        flags = [flag for each in properties for flag in options[each]]
        theirs = [line.rstrip() for line in run(command)]
        ours = [line.rstrip() for line in scene.ours("log", log, *arguments, *flags)]
        assert ours[1][-len(log) :] == theirs[1][-len(log) :] == log
        assert ours[2:] == theirs[2:]
        assert len(ours) > 30


@pytest.mark.parametrize(
    ("properties", "flags", "limit"),
    [([], [], "64"), (["aeron.log.inspector.scanOverZeroes=true"], ["-z"], "8"), ([], [], "100000")],
)
def test_log_shows_odd_frames_as_log_inspector_does(
    tmp_path: Path, properties: list[str], flags: list[str], limit: str
) -> None:
    log = busy_log()
    log.put(576, 64, kind=77, flags=0x21, reserved=-(1 << 63))
    path = str(log.write(tmp_path / "odd.logbuffer"))
    theirs = run([*peers.java_command("io.aeron.samples.LogInspector", *properties), path, limit])
    ours = run([sys.executable, "-m", "aeronpy.cli.main", "log", path, limit, *flags])

    assert ours[2:] == theirs[2:]


def counters_of(scene: Scene) -> list[Counter]:
    with CncFile(scene.aeron_dir) as cnc:
        return list(read_counters(cnc.counters))


def test_keys_say_what_the_drivers_labels_say(scene: Scene) -> None:
    seen = set()
    for each in counters_of(scene):
        words = each.label.split(": ", 1)[1].split(" ") if ": " in each.label else []
        match each.key:
            case SystemKey(system_counter_id):
                assert system_counter_id == each.counter_id
            case StreamKey(registration_id, session_id, stream_id, channel):
                assert [str(registration_id), str(session_id), str(stream_id), channel] == words[:4]
                assert registration_id == each.registration_id
            case ChannelKey(channel):
                assert channel == words[0]
            case HeartbeatKey(client_id):
                assert f"id={client_id}" == words[0]
                assert client_id == each.registration_id
        seen.add(type(each.key))
    assert seen >= {SystemKey, StreamKey, ChannelKey, HeartbeatKey}


def test_local_addresses_are_those_in_the_channels_labels(scene: Scene) -> None:
    counters = counters_of(scene)
    channels = list(filter(CounterFilter([f"type=^{CounterType.RECEIVE_CHANNEL_STATUS:d}$"]), counters))
    channels += filter(CounterFilter([f"type=^{CounterType.SEND_CHANNEL_STATUS:d}$"]), counters)

    assert len(channels) == 2
    for each in channels:
        assert local_addresses(counters, each.counter_id) == [each.label.rsplit(" ", 1)[1]]


def test_counters_are_found_by_what_they_belong_to(scene: Scene) -> None:
    with CncFile(scene.aeron_dir) as cnc:
        positions = [each for each in read_counters(cnc.counters) if each.type_id == CounterType.PUBLISHER_POSITION]
        assert len(positions) == 2
        for each in positions:
            assert cnc.counters.find_by_registration(each.type_id, each.registration_id) == each.counter_id
            assert cnc.counters.value(each.counter_id) == each.value
        heartbeat = next(each for each in read_counters(cnc.counters) if each.type_id == CounterType.CLIENT_HEARTBEAT)
        found = cnc.counters.find_by_key(CounterType.CLIENT_HEARTBEAT, heartbeat.registration_id)
        assert found == heartbeat.counter_id
