"""Every byte arrives, in order, once, whatever the link does to the datagrams."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.faults.links import LossyLink
from tests.faults.relay import Faults, Relay
from tests.interop import flows
from tests.interop.stage import TERM_LENGTH, Stage, free_port, udp

MESSAGES = 1200
LOSS_PERCENT = 10


@pytest.mark.parametrize("threading", ["SHARED", "DEDICATED"])
@pytest.mark.timeout(120)
def test_a_link_that_loses_a_tenth_each_way(stage: Stage, threading: Literal["SHARED", "DEDICATED"]) -> None:
    link = LossyLink(LOSS_PERCENT)
    try:
        drivers = [stage.driver("ours", name, threading=threading, prefix=link.inside(name)) for name in link.names]
        channel = f"aeron:udp?endpoint={link.addresses[1]}:40456|term-length={TERM_LENGTH}"
        source, target = (flows.End("ours", driver, channel) for driver in drivers)

        flows.whole_flow(stage, source, target, messages=MESSAGES)

        assert all(link.dropped(name) > 0 for name in link.names)
    finally:
        link.close()


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.timeout(120)
def test_a_link_that_loses_repeats_and_reorders(stage: Stage, seed: int) -> None:
    port = free_port()
    relay = Relay(port, Faults(loss=0.05, duplication=0.05, reordering=0.1), seed)
    try:
        source = flows.End("ours", stage.driver("ours", "a"), udp(relay.port))
        target = flows.End("ours", stage.driver("ours", "b"), udp(port))

        flows.whole_flow(stage, source, target, messages=MESSAGES)

        assert min(relay.lost, relay.duplicated, relay.reordered) > 0
    finally:
        relay.close()


@pytest.mark.timeout(120)
def test_drivers_that_drop_a_tenth_of_all_frames_themselves(stage: Stage) -> None:
    loss = {
        "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
        # Data, NAKs, status messages and SETUPs: bits 1, 2, 3 and 5.
        "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.1|recv-msg-mask=0x2E|seed=99",
    }
    channel = udp(free_port())
    source = flows.End("ours", stage.driver("ours", "a", settings=loss), channel)
    target = flows.End("ours", stage.driver("ours", "b", settings=loss), channel)

    flows.whole_flow(stage, source, target, messages=MESSAGES)
