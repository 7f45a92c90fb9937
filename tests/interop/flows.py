"""The flows that every pair must pass, whoever is on either side."""

from __future__ import annotations

from dataclasses import dataclass

from tests.interop.lines import Lines
from tests.interop.programs.flow import FRAGMENTS_PER_POLL, PROGRESS_MESSAGES, Shape, tally
from tests.interop.stage import Driver, Make, Stage

SHAPE = Shape()
MESSAGES = 240
HELD_AT = 2 * PROGRESS_MESSAGES
ROTATIONS_MIN = 5
# A death is noticed within the shortened time-outs of the stage; this leaves room for a busy machine.
DEATH_S = 25.0


@dataclass(frozen=True)
class End:
    """One side of a flow: which client, on which driver, over which channel."""

    make: Make
    driver: Driver
    channel: str


def same(got: dict[str, str], first: int, count: int) -> None:
    """Every byte of these messages came, in order, once, and ended where arithmetic says."""
    expected = tally(SHAPE, first, count)
    assert {name: got[name] for name in expected} == expected


def finish(subscriber: Lines, first: int, count: int, session: str) -> None:
    """Stop a subscriber: nothing more came than what is expected."""
    subscriber.tell("stop")
    same(subscriber.expect("END", session=session), first, count)
    subscriber.expect("STOPPED")


def whole_flow(stage: Stage, source: End, target: End, *, exclusive: bool = False, messages: int = MESSAGES) -> None:
    """All sizes over more than five rotations, with a second subscriber that joins while the first has half."""
    assert int(tally(SHAPE, 0, messages)["position"]) > ROTATIONS_MIN * SHAPE.term_bytes
    early = stage.program(target.make, "subscribe", target.driver, target.channel, until=messages)
    early.expect("READY")
    publisher = stage.program(
        source.make,
        "publish",
        source.driver,
        source.channel,
        count=messages,
        hold=HELD_AT,
        exclusive=exclusive,
    )
    session = publisher.expect("READY")["session"]
    publisher.expect("HELD")
    early.expect("AT", value=str(HELD_AT))

    late = stage.program(target.make, "subscribe", target.driver, target.channel, until=messages - HELD_AT)
    late.expect("READY")
    late.expect("IMAGE", session=session)
    publisher.tell("go")

    same(publisher.expect("SENT"), 0, messages)
    same(early.expect("DONE", session=session), 0, messages)
    same(late.expect("DONE", session=session), HELD_AT, messages - HELD_AT)
    finish(early, 0, messages, session)
    finish(late, HELD_AT, messages - HELD_AT, session)
    publisher.close()


def publisher_killed_and_back(stage: Stage, source: End, target: End) -> None:
    """A publisher dies in the middle: what it sent is right, and the one that comes after it is read whole."""
    subscriber = stage.program(target.make, "subscribe", target.driver, target.channel, until=MESSAGES)
    subscriber.expect("READY")
    first = stage.lone_program(source.make, "publish", source.driver, source.channel)
    dead = first.expect("READY")["session"]
    subscriber.expect("AT", value=str(HELD_AT))
    first.kill()
    gone = subscriber.expect("GONE", DEATH_S, session=dead)
    same(gone, 0, int(gone["count"]))

    second = stage.program(source.make, "publish", source.driver, source.channel, count=MESSAGES)
    session = second.expect("READY")["session"]
    same(second.expect("SENT"), 0, MESSAGES)
    same(subscriber.expect("DONE", session=session), 0, MESSAGES)


def subscriber_killed_and_back(stage: Stage, source: End, target: End) -> None:
    """A subscriber dies in the middle: the publisher goes on, and the next one reads from where it joined."""
    first = stage.lone_program(target.make, "subscribe", target.driver, target.channel)
    first.expect("READY")
    publisher = stage.program(source.make, "publish", source.driver, source.channel)
    session = publisher.expect("READY")["session"]
    first.expect("AT", value=str(HELD_AT))
    first.kill()

    second = stage.program(target.make, "subscribe", target.driver, target.channel, until=MESSAGES)
    second.expect("READY")
    done = second.expect("DONE", DEATH_S, session=session)
    # What the dead one had polled, but not yet given free, may come again.
    assert int(done["first"]) >= HELD_AT - FRAGMENTS_PER_POLL
    same(done, int(done["first"]), MESSAGES)
