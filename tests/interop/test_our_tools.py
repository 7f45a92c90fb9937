"""Our tools show of a directory, theirs or ours, what Java's tools show of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.interop import flows, peers
from tests.interop.lines import JavaHost
from tests.interop.scene import BAD_PORT, Scene, parse_counters, play
from tests.interop.stage import Make, Stage


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
