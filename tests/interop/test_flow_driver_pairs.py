"""Our driver and a real one over the wire, with real clients on both sides: only the driver is ours."""

from __future__ import annotations

import pytest

from tests.interop import flows
from tests.interop.stage import Make, Stage, free_port, udp

REAL: list[Make] = ["c", "java"]


@pytest.mark.parametrize("theirs", REAL)
@pytest.mark.parametrize("sends", ["ours", "theirs"])
def test_our_driver_and_a_real_one_agree_on_every_byte(stage: Stage, theirs: Make, sends: str) -> None:
    ours, other = stage.driver("ours", "ours"), stage.driver(theirs, "theirs", alone=True)
    source, target = (ours, other) if sends == "ours" else (other, ours)
    channel = udp(free_port())

    flows.whole_flow(stage, flows.End(theirs, source, channel), flows.End(theirs, target, channel))
