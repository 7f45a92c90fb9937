"""Our driver under real clients, and under ours beside them."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.interop import flows
from tests.interop.matrix import cell
from tests.interop.rows import PEERS
from tests.interop.stage import IPC, Make, Stage, free_port, udp

CLIENTS: list[Make] = ["c", "java"]


def channel_of(medium: str) -> str:
    return IPC if medium == "ipc" else udp(free_port())


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("threading", ["SHARED", "DEDICATED"])
def test_a_real_client_reads_what_it_publishes_through_our_driver(
    stage: Stage, client: Make, medium: str, threading: Literal["SHARED", "DEDICATED"]
) -> None:
    driver = stage.driver("ours", threading=threading)
    end = flows.End(client, driver, channel_of(medium))

    flows.whole_flow(stage, end, end, exclusive=threading == "SHARED")


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("publishes", ["ours", "theirs"])
def test_real_clients_and_ours_meet_on_our_driver(stage: Stage, client: Make, medium: str, publishes: str) -> None:
    driver, channel = stage.driver("ours"), channel_of(medium)
    ours, theirs = flows.End("ours", driver, channel), flows.End(client, driver, channel)

    flows.whole_flow(stage, *((ours, theirs) if publishes == "ours" else (theirs, ours)))


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_our_driver_cleans_up_after_a_killed_publisher(stage: Stage, client: Make, medium: str) -> None:
    end = flows.End(client, stage.driver("ours"), channel_of(medium))

    flows.publisher_killed_and_back(stage, end, end)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_our_driver_cleans_up_after_a_killed_subscriber(stage: Stage, client: Make, medium: str) -> None:
    end = flows.End(client, stage.driver("ours"), channel_of(medium))

    flows.subscriber_killed_and_back(stage, end, end)


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(
            each, marks=[cell("client.driver.dies", "driver", each), cell("client.driver.restarts", "driver", each)]
        )
        for each in PEERS
    ],
)
def test_our_driver_killed_and_back_serves_real_clients_again(stage: Stage, client: Make) -> None:
    first = stage.driver("ours")
    subscriber = stage.program(client, "subscribe", first, IPC)
    subscriber.expect("READY")
    publisher = stage.program(client, "publish", first, IPC)
    publisher.expect("READY")
    subscriber.expect("AT", value=str(flows.HELD_AT))
    first.kill()
    # The C client ends the process, the Java one reports: either way the flow is over.
    publisher.expect_failure(flows.DEATH_S)
    subscriber.expect_failure(flows.DEATH_S)

    end = flows.End(client, stage.driver("ours"), IPC)
    flows.whole_flow(stage, end, end)
