"""Processes that die without a word: the others notice, clean up and go on."""

from __future__ import annotations

import pytest

from tests.interop import flows
from tests.interop.stage import IPC, Stage, free_port, udp

MEDIA = pytest.mark.parametrize("medium", ["ipc", "udp"])


def one_driver(stage: Stage, medium: str) -> flows.End:
    return flows.End("ours", stage.driver("ours"), IPC if medium == "ipc" else udp(free_port()))


@MEDIA
def test_a_killed_publisher_leaves_a_right_prefix_and_room_for_the_next(stage: Stage, medium: str) -> None:
    end = one_driver(stage, medium)

    flows.publisher_killed_and_back(stage, end, end)


@MEDIA
def test_a_killed_subscriber_holds_nobody_up_for_longer_than_its_liveness(stage: Stage, medium: str) -> None:
    end = one_driver(stage, medium)

    flows.subscriber_killed_and_back(stage, end, end)


@MEDIA
def test_clients_of_a_killed_driver_say_so_and_the_next_driver_serves(stage: Stage, medium: str) -> None:
    end = one_driver(stage, medium)
    subscriber = stage.program("ours", "subscribe", end.driver, end.channel)
    subscriber.expect("READY")
    publisher = stage.program("ours", "publish", end.driver, end.channel)
    publisher.expect("READY")
    subscriber.expect("AT", value=str(flows.HELD_AT))
    end.driver.kill()

    assert "DriverTimeout" in publisher.expect_failure(flows.DEATH_S)
    assert "DriverTimeout" in subscriber.expect_failure(flows.DEATH_S)

    again = flows.End("ours", stage.driver("ours"), end.channel)
    flows.whole_flow(stage, again, again)
