"""Java's tools read our driver's directory as they read a real one's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from tests.interop import flows, peers
from tests.interop.lines import JavaHost
from tests.interop.scene import BAD_PORT, Scene, play
from tests.interop.stage import Make, Stage

END_POSITION = int(flows.tally(flows.SHAPE, 0, flows.MESSAGES)["position"])
SYSTEM_COUNTERS = 46


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
            # A client adds its name to its heartbeat's label when it comes to it.
            named = re.sub(r"(client-heartbeat: id=\d+) .*", r"\1", named)
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
