"""Our driver and a real one over the wire, where ours drops a fifth of what comes in."""

from __future__ import annotations

import pytest

from aeronpy._core.native import CncFile
from aeronpy.observe.counters import DriverSnapshot
from tests.interop import flows
from tests.interop.stage import Driver, Make, Stage, free_port, udp

NAKS_SENT, STATUS_MESSAGES_SENT, STATUS_MESSAGES_RECEIVED = 5, 7, 8

LOSS = {
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
    # Data, NAKs, status messages and SETUPs: bits 1, 2, 3 and 5.
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.2|recv-msg-mask=0x2E|seed=4242",
}


def system_counter(driver: Driver, counter_id: int) -> int:
    with CncFile(str(driver.aeron_dir)) as cnc:
        return DriverSnapshot.take(cnc).counters[counter_id].value


@pytest.mark.parametrize("theirs", ["c", "java"])
@pytest.mark.parametrize("sends", ["ours", "theirs"])
@pytest.mark.timeout(120)
def test_every_byte_crosses_although_a_fifth_is_dropped(stage: Stage, theirs: Make, sends: str) -> None:
    ours = stage.driver("ours", "ours", settings=LOSS)
    other = stage.driver(theirs, "theirs", alone=True)
    source, target = (ours, other) if sends == "ours" else (other, ours)
    channel = udp(free_port())

    flows.whole_flow(stage, flows.End(source.make, source, channel), flows.End(target.make, target, channel))

    if sends == "ours":
        assert system_counter(other, STATUS_MESSAGES_SENT) > system_counter(ours, STATUS_MESSAGES_RECEIVED)
    else:
        assert system_counter(ours, NAKS_SENT) > 0
