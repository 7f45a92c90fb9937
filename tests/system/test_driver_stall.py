"""A driver whose interpreter stands still keeps its streams, heartbeats and clients."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.system import protocol_client as p
from tests.system.protocol_client import ProtocolClient

ROOT = Path(__file__).resolve().parents[2]
STALL_MS = 4000
LONG_STALL_MS = 30_000
# Each far below the stall: whatever of these needed Python would be over before it is awake again.
SETTINGS = (
    "timer_interval=50ms",
    "client_liveness_timeout=1500ms",
    "image_liveness_timeout=1s",
    "publication_connection_timeout=1s",
    "publication_unblock_timeout=2s",
    "term_buffer_length=64k",
    "ipc_term_buffer_length=64k",
)

IPC = "aeron:ipc"
Start = Callable[..., "subprocess.Popen[str]"]


def peer_python() -> Path:
    path = Path(os.environ.get("AERONPY_PEER_PYTHON", ROOT / ".peers" / "py312" / "bin" / "python"))
    if not path.exists():
        if os.environ.get("CI"):
            pytest.fail(f"pyaeron is not here ({path}): run `make peers`")
        pytest.skip(f"pyaeron is not here ({path}): run `make peers`")
    return path


@pytest.fixture
def start() -> Iterator[Start]:
    """Run a module in a process of its own; READY is awaited."""
    started: list[subprocess.Popen[str]] = []

    def run(python: object, module: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(python), "-m", f"tests.system.programs.{module}", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "READY\n"
        return process

    yield run
    for process in reversed(started):
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(20) == 0


def udp() -> str:
    """A channel with an endpoint of its own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return f"aeron:udp?endpoint=127.0.0.1:{probe.getsockname()[1]}"


def ask(process: subprocess.Popen[str], line: str = "") -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def awake(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED"])
@pytest.mark.parametrize("channel", ["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:24397"])
def test_streams_flow_on_while_the_interpreter_is_stalled(
    start: Start, aeron_dir: str, channel: str, mode: str
) -> None:
    driver = start(sys.executable, "stalled_driver", f"aeron_dir={aeron_dir}", f"threading_mode={mode}", *SETTINGS)
    flow = start(peer_python(), "peer_flow", aeron_dir, channel)
    ask(flow)

    assert ask(driver, str(STALL_MS)) == "STALLED"
    started = time.monotonic()
    assert awake(driver) == "AWAKE"
    assert time.monotonic() - started > STALL_MS / 1000 - 0.5

    messages, silence_ms, lost_images = map(int, ask(flow).split())
    assert lost_images == 0
    assert messages > 100
    assert silence_ms < 1000


def test_a_command_that_waited_for_the_interpreter_costs_its_client_nothing(start: Start, aeron_dir: str) -> None:
    driver = start(sys.executable, "stalled_driver", f"aeron_dir={aeron_dir}", *SETTINGS)
    client = ProtocolClient(aeron_dir)
    client.first_add()
    before = client.counter(27).value
    heartbeats = set()

    assert ask(driver, str(STALL_MS)) == "STALLED"
    registration = client.add_publication("aeron:ipc", 7)
    newcomer = client.next_id()
    added = client.command(p.ADD_COUNTER, "iii", 1001, 0, 0, client_id=newcomer)
    deadline = time.monotonic() + STALL_MS / 1000 - 0.3
    while time.monotonic() < deadline:
        client.heartbeat()
        heartbeats.add(client.driver_heartbeat_ms())
        assert client.receive() is None
        time.sleep(0.02)
    assert awake(driver) == "AWAKE"
    client.heartbeat()

    # each client's answers come in order; a log that is made holds up nobody else's
    answers = [client.expect(p.PUBLICATION_READY, p.COUNTER_READY) for _ in range(3)]
    assert [each.i64(0) for each in answers if each.type == p.PUBLICATION_READY] == [registration]
    assert [each.i64(0) for each in answers if each.type == p.COUNTER_READY] == [newcomer, added]
    assert len(heartbeats) > 30  # the driver's own, every 50 ms
    assert client.counter(24).value == 0
    assert client.counter(27).value > before  # the stall is counted
    client.close()


@pytest.mark.timeout(150)
def test_half_a_minute_without_an_interpreter_ends_no_stream_and_no_client(start: Start, aeron_dir: str) -> None:
    modes = ("DEDICATED", "SHARED")
    dirs = [f"{aeron_dir}-{mode}" for mode in modes]
    drivers = [
        start(sys.executable, "stalled_driver", f"aeron_dir={each}", f"threading_mode={mode}", *SETTINGS)
        for each, mode in zip(dirs, modes, strict=True)
    ]
    flows = [start(peer_python(), "peer_flow", each, channel) for each in dirs for channel in (IPC, udp())]
    stalled_clients = [start(sys.executable, "stalled_client", each) for each in dirs]
    askers = [ProtocolClient(each) for each in dirs]
    for asker in askers:
        asker.first_add()
    for flow in flows:
        ask(flow)

    # Two at once, and drivers with their clients: only what needs no Python goes on.
    for process in (*drivers, *stalled_clients):
        assert ask(process, str(LONG_STALL_MS)) == "STALLED"
    started = time.monotonic()
    waiting = [each.add_publication("aeron:ipc", 9) for each in askers]
    while time.monotonic() - started < LONG_STALL_MS / 1000 - 1:
        for asker in askers:
            asker.heartbeat()
            assert asker.receive() is None
        time.sleep(0.05)
    for process in drivers:
        assert awake(process) == "AWAKE"

    for asker, registration in zip(askers, waiting, strict=True):
        asker.heartbeat()
        assert asker.expect(p.PUBLICATION_READY).i64(0) == registration
        assert asker.counter(24).value == 0  # client timeouts
        asker.close()
    for stalled in stalled_clients:
        assert awake(stalled) == "WHOLE"
    for flow in flows:
        messages, silence_ms, lost_images = map(int, ask(flow).split())
        assert lost_images == 0
        assert messages > LONG_STALL_MS / 1000 * 20
        assert silence_ms < 5000  # far below the stall; other programs want the machine too


def test_a_client_that_died_in_the_stall_is_found_afterwards(start: Start, aeron_dir: str) -> None:
    driver = start(sys.executable, "stalled_driver", f"aeron_dir={aeron_dir}", *SETTINGS)
    client = ProtocolClient(aeron_dir)
    client.first_add()

    assert ask(driver, str(STALL_MS)) == "STALLED"
    assert awake(driver) == "AWAKE"

    assert client.expect(p.CLIENT_TIMEOUT).i64(0) == client.client_id
    client.close()
