"""Real Aeron against real Aeron: the flow programs themselves are right."""

from __future__ import annotations

import pytest

from tests.interop import flows
from tests.interop.stage import IPC, Make, Stage, free_port, udp


@pytest.mark.parametrize(("driver_make", "source", "target"), [("c", "c", "java"), ("java", "java", "c")])
@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_the_real_clients_agree_on_every_byte(
    stage: Stage, driver_make: Make, source: Make, target: Make, medium: str
) -> None:
    driver = stage.driver(driver_make)
    channel = IPC if medium == "ipc" else udp(free_port())

    flows.whole_flow(
        stage, flows.End(source, driver, channel), flows.End(target, driver, channel), exclusive=medium == "udp"
    )


def test_the_real_drivers_agree_on_every_byte(stage: Stage) -> None:
    channel = udp(free_port())

    flows.whole_flow(
        stage,
        flows.End("c", stage.driver("c", "a"), channel),
        flows.End("java", stage.driver("java", "b"), channel),
    )


def test_a_real_publisher_killed_and_back(stage: Stage) -> None:
    driver = stage.driver("c")

    flows.publisher_killed_and_back(stage, flows.End("c", driver, IPC), flows.End("java", driver, IPC))


def test_a_real_subscriber_killed_and_back(stage: Stage) -> None:
    driver = stage.driver("java")
    channel = udp(free_port())

    flows.subscriber_killed_and_back(stage, flows.End("java", driver, channel), flows.End("c", driver, channel))
