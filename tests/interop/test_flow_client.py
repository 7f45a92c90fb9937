"""Our client on a real driver, against itself and against the real client."""

from __future__ import annotations

import pytest

from tests.interop import flows
from tests.interop.stage import IPC, Make, Stage, free_port, udp

DRIVERS: list[Make] = ["c", "java"]


def channel_of(medium: str) -> str:
    return IPC if medium == "ipc" else udp(free_port())


@pytest.mark.parametrize("driver_make", DRIVERS)
@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("exclusive", [False, True], ids=["shared", "exclusive"])
def test_the_real_client_reads_what_ours_publishes(
    stage: Stage, driver_make: Make, medium: str, exclusive: bool
) -> None:
    driver, channel = stage.driver(driver_make), channel_of(medium)

    flows.whole_flow(
        stage, flows.End("ours", driver, channel), flows.End(driver_make, driver, channel), exclusive=exclusive
    )


@pytest.mark.parametrize("driver_make", DRIVERS)
@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_ours_reads_what_the_real_client_publishes(stage: Stage, driver_make: Make, medium: str) -> None:
    driver, channel = stage.driver(driver_make), channel_of(medium)

    flows.whole_flow(stage, flows.End(driver_make, driver, channel), flows.End("ours", driver, channel))


@pytest.mark.parametrize("driver_make", DRIVERS)
@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_ours_reads_what_ours_publishes(stage: Stage, driver_make: Make, medium: str) -> None:
    driver, channel = stage.driver(driver_make), channel_of(medium)
    end = flows.End("ours", driver, channel)

    flows.whole_flow(stage, end, end, exclusive=True)


@pytest.mark.parametrize("driver_make", DRIVERS)
@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_our_publisher_killed_and_back_under_a_real_driver(stage: Stage, driver_make: Make, medium: str) -> None:
    driver, channel = stage.driver(driver_make), channel_of(medium)

    flows.publisher_killed_and_back(stage, flows.End("ours", driver, channel), flows.End(driver_make, driver, channel))


@pytest.mark.parametrize("driver_make", DRIVERS)
def test_the_real_publisher_killed_and_back_before_our_subscriber(stage: Stage, driver_make: Make) -> None:
    driver = stage.driver(driver_make)

    flows.publisher_killed_and_back(stage, flows.End(driver_make, driver, IPC), flows.End("ours", driver, IPC))


@pytest.mark.parametrize("driver_make", DRIVERS)
def test_our_subscriber_killed_and_back_under_a_real_driver(stage: Stage, driver_make: Make) -> None:
    driver = stage.driver(driver_make)

    flows.subscriber_killed_and_back(stage, flows.End(driver_make, driver, IPC), flows.End("ours", driver, IPC))


@pytest.mark.parametrize("driver_make", DRIVERS)
def test_our_clients_say_so_when_the_real_driver_is_killed_and_work_with_the_next(
    stage: Stage, driver_make: Make
) -> None:
    first = stage.driver(driver_make, alone=True)
    subscriber = stage.program("ours", "subscribe", first, IPC)
    subscriber.expect("READY")
    publisher = stage.program("ours", "publish", first, IPC)
    publisher.expect("READY")
    subscriber.expect("AT", value=str(flows.HELD_AT))
    first.kill()

    assert "DriverTimeout" in publisher.expect_failure(flows.DEATH_S)
    assert "DriverTimeout" in subscriber.expect_failure(flows.DEATH_S)

    end = flows.End("ours", stage.driver(driver_make, alone=True), IPC)
    flows.whole_flow(stage, end, end)
