"""Java's tools read our driver's directory as they read a real one's."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.interop import flows, peers
from tests.interop.lines import JavaHost
from tests.interop.stage import Driver, Make, Stage, free_port, udp

END_POSITION = int(flows.tally(flows.SHAPE, 0, flows.MESSAGES)["position"])
SYSTEM_COUNTERS = 46
LOSS = {
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.1|recv-msg-mask=0x2|seed=7",
}
BAD_PORT = 99999


@dataclass
class Scene:
    """A driver that carried one lossy flow, whose clients are still there, and refused one channel."""

    driver: Driver
    channel: str
    session: str

    def read(self, tool: str, *args: str) -> str:
        """What a tool of the samples prints."""
        command = peers.java_command(f"io.aeron.samples.{tool}", f"aeron.dir={self.driver.aeron_dir}")
        done = subprocess.run([*command, *args], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def counters(self) -> dict[int, tuple[str, int]]:
        """Label and value by counter id, as AeronStat shows them."""
        lines = re.findall(r"^ *(\d+): +(-?[\d,]+) - (.*)$", self.read("AeronStat", "watch=false"), re.MULTILINE)
        return {int(counter): (label, int(value.replace(",", ""))) for counter, value, label in lines}


def play(stage: Stage, make: Make) -> Scene:
    driver, channel = stage.driver(make, make, settings=LOSS), udp(free_port())
    subscriber = stage.program("c", "subscribe", driver, channel, until=flows.MESSAGES)
    subscriber.expect("READY")
    publisher = stage.program("c", "publish", driver, channel, count=flows.MESSAGES)
    session = publisher.expect("READY")["session"]
    publisher.expect("SENT")
    flows.same(subscriber.expect("DONE"), 0, flows.MESSAGES)
    refused = stage.program("c", "publish", driver, f"aeron:udp?endpoint=127.0.0.1:{BAD_PORT}")
    assert refused.expect_failure() != ""
    return Scene(driver, channel, session)


@pytest.fixture(scope="module")
def scenes(java_host: Callable[[], JavaHost]) -> Iterator[dict[Make, Scene]]:
    peers.compile_java()
    stage = Stage(java_host)
    try:
        yield {make: play(stage, make) for make in ("ours", "c")}
    finally:
        stage.close()


def system_labels(scene: Scene) -> dict[int, str]:
    """Labels of the system counters, without what a version says of itself."""
    return {
        counter: re.sub(r"version=.*", "version=", label)
        for counter, (label, _) in scene.counters().items()
        if counter < SYSTEM_COUNTERS
    }


def stream_labels(scene: Scene) -> list[str]:
    """Labels of all other counters, with the numbers of this run made alike."""
    alike = []
    for counter, (label, _) in scene.counters().items():
        if counter >= SYSTEM_COUNTERS:
            named = label.replace(scene.channel, "CHANNEL").replace(scene.session, "SESSION")
            located = re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", named)
            alike.append(re.sub(r"(?<=[:=] )\d+|(?<=id=)\d+", "N", located))
    return sorted(alike)


def test_aeron_stat_shows_the_system_counters_of_the_real_driver(scenes: dict[Make, Scene]) -> None:
    assert system_labels(scenes["ours"]) == system_labels(scenes["c"])


def test_aeron_stat_shows_the_channel_stream_and_client_counters_of_the_real_driver(
    scenes: dict[Make, Scene],
) -> None:
    assert stream_labels(scenes["ours"]) == stream_labels(scenes["c"])


@pytest.mark.parametrize("name", ["pub-pos (concurrent)", "snd-pos", "rcv-hwm", "rcv-pos", "sub-pos"])
def test_positions_stand_where_the_flow_ended(scenes: dict[Make, Scene], name: str) -> None:
    values = [value for label, value in scenes["ours"].counters().values() if label.startswith(f"{name}: ")]

    assert values == [END_POSITION]


@pytest.mark.parametrize(
    "label", ["NAKs sent", "NAKs received", "Retransmits sent", "Retransmitted bytes", "Status Messages received"]
)
def test_the_loss_shows_in_the_system_counters(scenes: dict[Make, Scene], label: str) -> None:
    by_label = dict(scenes["ours"].counters().values())

    assert by_label[label] > 0


def test_error_stat_shows_the_refused_channel_once(scenes: dict[Make, Scene]) -> None:
    text = scenes["ours"].read("ErrorStat")

    assert "1 distinct errors observed." in text
    assert str(BAD_PORT) in text
    assert re.search(r"^1 observations from ", text, re.MULTILINE)


def test_loss_stat_shows_the_lossy_image(scenes: dict[Make, Scene]) -> None:
    scene = scenes["ours"]
    text = scene.read("LossStat")
    entry = re.search(r"^(\d+),(\d+),[^,]+,[^,]+,(-?\d+),(\d+),(aeron:[^,]+),(.+)$", text, re.MULTILINE)

    assert entry is not None, text
    assert int(entry[1]) > 0
    assert int(entry[2]) > 0
    assert (entry[3], entry[4], entry[5]) == (scene.session, "1001", scene.channel)
    assert re.fullmatch(r"127\.0\.0\.1:\d+", entry[6])
    assert "1 loss entries" in text


def test_stream_stat_groups_the_counters_of_the_stream(scenes: dict[Make, Scene]) -> None:
    names = {}
    for make, scene in scenes.items():
        text = scene.read("StreamStat")
        lines = [line for line in text.splitlines() if line.startswith(f"sessionId={scene.session} streamId=1001 ")]
        assert len(lines) == 1, text
        _, _, counters = lines[0].partition(" : ")
        names[make] = sorted(re.findall(r"([a-z][a-z-]*(?: \(\w+\))?):\d+:-?\d+", counters))

    assert names["ours"] == names["c"] != []
