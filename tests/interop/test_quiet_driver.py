"""Our driver in its quiet profile under clients that do not ring."""

from __future__ import annotations

import pytest

from tests.interop import flows
from tests.interop.stage import IPC, Make, Stage, Threading, free_port, udp

pytestmark = pytest.mark.timeout(120)
QUIET = {"AERONPY_DRIVER_PROFILE": "quiet"}


@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("threading", ["DEDICATED", "SHARED"])
@pytest.mark.parametrize(("source", "target"), [("c", "c"), ("ours", "c"), ("c", "ours")])
def test_real_clients_flow_through_a_driver_that_sleeps(
    stage: Stage, source: Make, target: Make, threading: Threading, medium: str
) -> None:
    driver = stage.driver("ours", threading=threading, settings=QUIET)
    channel = IPC if medium == "ipc" else udp(free_port())
    flows.whole_flow(stage, flows.End(source, driver, channel), flows.End(target, driver, channel))
