"""A script that starts the reference driver's executable, set up only by environment variables, pointed at ours."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.interop import peers
from tests.interop.flows import End, whole_flow
from tests.interop.matrix import cell
from tests.interop.stage import IPC, Driver, Make, Stage, free_port, udp

SCRIPT = peers.ROOT / "tests" / "interop" / "programs" / "with_driver.sh"

# As harnesses write them: durations plain and with units, sizes plain and with letters, words in their own case.
VARIABLES = {
    "AERON_CLIENT_LIVENESS_TIMEOUT": "3000000000",
    "AERON_IMAGE_LIVENESS_TIMEOUT": "3s",
    "AERON_PUBLICATION_UNBLOCK_TIMEOUT": "4000ms",
    "AERON_PUBLICATION_LINGER_TIMEOUT": "500000us",
    "AERON_TIMER_INTERVAL": "100000000",
    "AERON_DRIVER_TIMEOUT": "5000",
    "AERON_TERM_BUFFER_LENGTH": "65536",
    "AERON_IPC_TERM_BUFFER_LENGTH": "64k",
    "AERON_SOCKET_SO_RCVBUF": "256k",
    "AERON_RCV_INITIAL_WINDOW_LENGTH": "128K",
    "AERON_FILE_PAGE_SIZE": "8k",
    "AERON_DIR_DELETE_ON_START": "1",
    "AERON_SPIES_SIMULATE_CONNECTION": "on",
    "AERON_TERM_BUFFER_SPARSE_FILE": "0",
    "AERON_CONDUCTOR_IDLE_STRATEGY": "sleep-ns",
    "AERON_CONDUCTOR_IDLE_STRATEGY_INIT_ARGS": "1ms",
    "AERON_SENDER_IDLE_STRATEGY": "yield",
    "AERON_RECEIVER_IDLE_STRATEGY": "backoff",
    "AERON_RECEIVER_IDLE_STRATEGY_INIT_ARGS": "1-1-1us-100us",
    "AERON_EVENT_LOG": "",
    "AERON_PRINT_CONFIGURATION": "true",
}

Run = Callable[..., Driver]


def executable(folder: Path, make: str) -> Path:
    """One file that is the driver, as scripts expect it."""
    python, module = sys.executable, "aeronpy.cli.driver"
    if make == "c":
        python, module = str(peers.need_pyaeron()), "tests.interop.programs.aeronmd_pyaeron"
    path = folder / f"aeronmd-{make}"
    path.write_text(f'#!/bin/sh\nexport PYTHONPATH={peers.ROOT}\nexec {python} -m {module} "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def run(stage: Stage) -> Run:
    """The script with a driver of some make; it ends, and is asked how that went, with its input."""

    def start(make: Make, mode: str) -> Driver:
        aeron_dir = stage.base / f"script-{make}"
        env = {**VARIABLES, "AERONMD": str(executable(stage.base, make)), "AERON_DIR": str(aeron_dir)}
        script = stage.process("the script", [SCRIPT, "cat"], {**env, "AERON_THREADING_MODE": mode})
        script.expect("READY")
        return Driver(make, aeron_dir, script, script.kill)

    return start


def end(driver: Driver) -> None:
    """Let the script come to its own end; it checks the driver's exit code and what it wrote."""
    process = driver.program.process  # type: ignore[attr-defined]
    process.stdin.close()
    assert process.wait(20) == 0, driver.program.tail()


def look_at(driver: Driver) -> None:
    """The variables had their effect where files show it."""
    with (driver.aeron_dir / "cnc.dat").open("rb") as file:
        head = file.read(64)
    assert struct.unpack_from("<q", head, 24)[0] == 3_000_000_000
    assert struct.unpack_from("<i", head, 48)[0] == 8192


@pytest.mark.parametrize("mode", ["DEDICATED", "INVOKER"])
@pytest.mark.parametrize(
    ("make", "client"),
    [
        pytest.param("ours", "c", marks=cell("executable.script", "driver", "c")),
        ("ours", "java"),
        ("c", "c"),
    ],
)
def test_a_script_for_the_reference_executable_works(
    stage: Stage, run: Run, make: Make, client: Make, mode: str
) -> None:
    driver = run(make, mode)
    look_at(driver)
    for channel in (IPC, udp(free_port())):
        whole_flow(stage, End(client, driver, channel), End(client, driver, channel))
    end(driver)
