"""One log, written by our publisher and the real C publisher at once, and read by both: nothing is lost or mixed."""

from __future__ import annotations

import sys

import pytest

from tests.interop.lines import Process
from tests.interop.peers import need_pyaeron
from tests.interop.programs.log_stress import MESSAGES
from tests.interop.stage import IPC, Make, Stage

STREAM = "1001"
PRODUCERS = 4


@pytest.mark.timeout(240)
@pytest.mark.parametrize("make", ["ours", "c"])
def test_two_implementations_write_one_log_at_once(stage: Stage, make: Make) -> None:
    driver = stage.driver(make, threading="SHARED")
    pythons = {"ours": sys.executable, "pyaeron": str(need_pyaeron())}

    def start(client: str, role: str, number: int) -> Process:
        module = "tests.interop.programs.log_stress"
        command = [pythons[client], "-m", module, client, role, str(driver.aeron_dir), IPC, STREAM, str(number)]
        process = stage.process(f"{client} {role}", list(command))
        process.expect("READY")
        return process

    readers = [start(client, "subscribe", PRODUCERS) for client in ("ours", "pyaeron")]
    writers = [start("ours", "publish", 0), start("pyaeron", "publish", 2)]
    assert len(list((driver.aeron_dir / "publications").glob("*.logbuffer"))) == 1
    for writer in writers:
        writer.tell("go")
    done = [reader.expect("DONE", timeout_s=200) for reader in readers]
    assert [int(each["messages"]) for each in done] == [PRODUCERS * MESSAGES] * 2
    assert done[0]["position"] == done[1]["position"]
