"""Processes that stand still for longer than their time-outs and wake up again: each learns what became of it.

The stage's time-outs: clients and images live 3 s, a driver 5 s.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.interop import flows
from tests.interop.lines import Lines, Process
from tests.interop.stage import IPC, Driver, Stage, Threading, free_port, udp

SHORTER_THAN_IMAGES_S = 2.0
LONGER_THAN_CLIENTS_S = 4.2
LONGER_THAN_DRIVERS_S = 6.5
# One threading mode for each medium: what is woken is one thread, or a thread for each agent.
MEDIA = pytest.mark.parametrize(("medium", "threading"), [("ipc", "SHARED"), ("udp", "DEDICATED")])


def one_driver(stage: Stage, medium: str, threading: Threading) -> flows.End:
    return flows.End("ours", stage.driver("ours", threading=threading), IPC if medium == "ipc" else udp(free_port()))


@contextmanager
def stopped(program: Lines) -> Iterator[None]:
    """The process stands still inside the block."""
    assert isinstance(program, Process)
    program.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        program.process.send_signal(signal.SIGCONT)


def lasting(seconds: float) -> None:
    """The fault itself: so long."""
    time.sleep(seconds)


def pair(stage: Stage, end: flows.End, **publishing: int) -> tuple[Process, Process, str]:
    """A publisher and a subscriber, and their session."""
    subscriber = stage.lone_program("ours", "subscribe", end.driver, end.channel, until=flows.MESSAGES)
    subscriber.expect("READY")
    publisher = stage.lone_program("ours", "publish", end.driver, end.channel, **publishing)
    return publisher, subscriber, publisher.expect("READY")["session"]


@MEDIA
def test_a_driver_stopped_for_less_than_its_timeout_loses_no_client_and_no_byte(
    stage: Stage, medium: str, threading: Threading
) -> None:
    end = one_driver(stage, medium, threading)
    publisher, subscriber, session = pair(stage, end, count=flows.MESSAGES, hold=flows.HELD_AT)
    publisher.expect("HELD")
    subscriber.expect("AT", value=str(flows.HELD_AT))
    with stopped(end.driver.program):
        lasting(LONGER_THAN_CLIENTS_S)

    # Its image exists after the driver's first look at its time-outs: what had to go and come back has.
    late = stage.program("ours", "subscribe", end.driver, end.channel, until=flows.MESSAGES - flows.HELD_AT)
    late.expect("IMAGE", session=session)
    publisher.tell("go")

    flows.same(publisher.expect("SENT"), 0, flows.MESSAGES)
    flows.same(subscriber.expect("DONE", session=session), 0, flows.MESSAGES)
    flows.same(
        late.expect("DONE", session=session),
        flows.HELD_AT,
        flows.MESSAGES - flows.HELD_AT,
    )


def two_drivers(stage: Stage, threading: Threading) -> tuple[dict[str, Driver], Process, Process]:
    """A stream in motion from one driver to another: the drivers, the publisher, the subscriber."""
    drivers = {name: stage.driver("ours", name, threading=threading) for name in ("publisher", "subscriber")}
    channel = udp(free_port())
    subscriber = stage.lone_program("ours", "subscribe", drivers["subscriber"], channel)
    subscriber.expect("READY")
    publisher = stage.lone_program("ours", "publish", drivers["publisher"], channel)
    publisher.expect("READY")
    subscriber.expect("AT", value=str(flows.HELD_AT))
    return drivers, publisher, subscriber


@pytest.mark.parametrize("whose", ["publisher", "subscriber"])
@pytest.mark.parametrize("threading", ["SHARED", "DEDICATED"])
def test_a_stream_in_motion_loses_nothing_to_a_stop_shorter_than_its_images_life(
    stage: Stage, whose: str, threading: Threading
) -> None:
    drivers, _, subscriber = two_drivers(stage, threading)
    with stopped(drivers[whose].program):
        lasting(SHORTER_THAN_IMAGES_S)

    subscriber.tail()
    more = int(subscriber.expect("AT")["value"])
    subscriber.tell("stop")
    end = subscriber.expect("END")
    assert int(end["count"]) >= more
    flows.same(end, 0, int(end["count"]))


@pytest.mark.parametrize("threading", ["SHARED", "DEDICATED"])
def test_the_image_of_a_driver_stopped_for_longer_than_it_lives_ends_right_and_begins_again(
    stage: Stage, threading: Threading
) -> None:
    drivers, _, subscriber = two_drivers(stage, threading)
    with stopped(drivers["publisher"].program):
        lasting(LONGER_THAN_CLIENTS_S)
        gone = subscriber.expect("GONE", flows.DEATH_S)
        flows.same(gone, 0, int(gone["count"]))

    # It is another image of the same session, which joins where the stream is by then.
    subscriber.expect("IMAGE", flows.DEATH_S, session=gone["session"])


@MEDIA
def test_clients_of_a_driver_stopped_for_too_long_say_so_and_it_serves_the_next(
    stage: Stage, medium: str, threading: Threading
) -> None:
    end = one_driver(stage, medium, threading)
    publisher, subscriber, _ = pair(stage, end)
    subscriber.expect("AT", value=str(flows.HELD_AT))
    with stopped(end.driver.program):
        lasting(LONGER_THAN_DRIVERS_S)
        assert "DriverTimeout" in publisher.expect_failure(flows.DEATH_S)
        assert "DriverTimeout" in subscriber.expect_failure(flows.DEATH_S)

    flows.whole_flow(stage, end, end)


@MEDIA
def test_a_publisher_stopped_for_too_long_is_told_and_the_others_go_on(
    stage: Stage, medium: str, threading: Threading
) -> None:
    end = one_driver(stage, medium, threading)
    victim, subscriber, session = pair(stage, end)
    subscriber.expect("AT", value=str(flows.HELD_AT))
    with stopped(victim):
        other = stage.program("ours", "publish", end.driver, end.channel, count=flows.MESSAGES, exclusive=True)
        others = other.expect("READY")["session"]
        assert others != session
        flows.same(other.expect("SENT"), 0, flows.MESSAGES)
        flows.same(subscriber.expect("DONE", session=others), 0, flows.MESSAGES)
        gone = subscriber.expect("GONE", flows.DEATH_S, session=session)
        flows.same(gone, 0, int(gone["count"]))

    # Its own gap, or where that was just short enough, what the driver said.
    said = victim.expect_failure(flows.DEATH_S)
    assert "ConductorServiceTimeout" in said or "ClientTimeout" in said


@MEDIA
def test_a_subscriber_stopped_for_too_long_is_told_and_holds_nobody_up(
    stage: Stage, medium: str, threading: Threading
) -> None:
    end = one_driver(stage, medium, threading)
    publisher, victim, session = pair(stage, end)
    victim.expect("AT", value=str(flows.HELD_AT))
    with stopped(victim):
        other = stage.program("ours", "subscribe", end.driver, end.channel, until=flows.MESSAGES)
        done = other.expect("DONE", flows.DEATH_S, session=session)
        flows.same(done, int(done["first"]), flows.MESSAGES)

    said = victim.expect_failure(flows.DEATH_S)
    assert "ConductorServiceTimeout" in said or "ClientTimeout" in said
    publisher.tell("close")
