"""Our driver and a real one over the wire."""

from __future__ import annotations

import pytest

from tests.interop import flows
from tests.interop.stage import Driver, Make, Stage, free_port, udp

DRIVERS: list[Make] = ["c", "java"]
DIRECTIONS = pytest.mark.parametrize("sends", ["ours", "theirs"])


def pair(stage: Stage, theirs: Make, sends: str) -> tuple[Driver, Driver]:
    """The sending and the receiving driver."""
    ours, other = stage.driver("ours", "ours"), stage.driver(theirs, "theirs", alone=True)
    return (ours, other) if sends == "ours" else (other, ours)


@pytest.mark.parametrize("theirs", DRIVERS)
@DIRECTIONS
@pytest.mark.parametrize("exclusive", [False, True], ids=["shared", "exclusive"])
def test_every_byte_crosses_between_our_driver_and_a_real_one(
    stage: Stage, theirs: Make, sends: str, exclusive: bool
) -> None:
    source, target = pair(stage, theirs, sends)
    channel = udp(free_port())

    # The client of each side is its driver's own kind.
    flows.whole_flow(
        stage,
        flows.End(source.make, source, channel),
        flows.End(target.make, target, channel),
        exclusive=exclusive,
    )


@pytest.mark.parametrize("theirs", DRIVERS)
@DIRECTIONS
def test_a_publisher_killed_and_back_behind_the_other_driver(stage: Stage, theirs: Make, sends: str) -> None:
    source, target = pair(stage, theirs, sends)
    channel = udp(free_port())

    flows.publisher_killed_and_back(
        stage, flows.End(source.make, source, channel), flows.End(target.make, target, channel)
    )


@pytest.mark.parametrize("theirs", DRIVERS)
@DIRECTIONS
def test_the_receiving_driver_killed_and_back_joins_the_running_stream(stage: Stage, theirs: Make, sends: str) -> None:
    source, target = pair(stage, theirs, sends)
    channel = udp(free_port())
    first = stage.program(target.make, "subscribe", target, channel)
    first.expect("READY")
    publisher = stage.program(source.make, "publish", source, channel)
    session = publisher.expect("READY")["session"]
    first.expect("AT", value=str(flows.HELD_AT))
    target.kill()

    back = stage.driver(target.make, "back", alone=True)
    second = stage.program(target.make, "subscribe", back, channel, until=flows.MESSAGES)
    second.expect("READY")
    done = second.expect("DONE", flows.DEATH_S, session=session)
    assert int(done["first"]) >= flows.HELD_AT - flows.FRAGMENTS_PER_POLL
    flows.same(done, int(done["first"]), flows.MESSAGES)


@pytest.mark.parametrize("theirs", DRIVERS)
@DIRECTIONS
def test_the_sending_driver_killed_and_back_is_a_new_image(stage: Stage, theirs: Make, sends: str) -> None:
    source, target = pair(stage, theirs, sends)
    channel = udp(free_port())
    subscriber = stage.program(target.make, "subscribe", target, channel, until=flows.MESSAGES)
    subscriber.expect("READY")
    first = stage.program(source.make, "publish", source, channel)
    dead = first.expect("READY")["session"]
    subscriber.expect("AT", value=str(flows.HELD_AT))
    source.kill()
    gone = subscriber.expect("GONE", flows.DEATH_S, session=dead)
    flows.same(gone, 0, int(gone["count"]))

    back = stage.driver(source.make, "back", alone=True)
    second = stage.program(source.make, "publish", back, channel, count=flows.MESSAGES)
    session = second.expect("READY")["session"]
    flows.same(second.expect("SENT"), 0, flows.MESSAGES)
    flows.same(subscriber.expect("DONE", session=session), 0, flows.MESSAGES)
