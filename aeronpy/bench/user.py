"""What ``aeronpy bench`` measures: our client and driver on this machine, beside pyaeron's where that is installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from aeronpy.bench.flow import Flow, turn_over_messages
from aeronpy.bench.machine import describe
from aeronpy.bench.processes import Line
from aeronpy.bench.rounds import Trial, interleave
from aeronpy.bench.statistics import line_alone, line_of
from aeronpy.errors import DriverTimeout

TERM: Final = "1m"
TERM_BYTES: Final = 1 << 20
START_S: Final = 20.0
IPC_TRIPS_PER_S: Final = 10_000
UDP_TRIPS_PER_S: Final = 2_000
PYAERON: Final = "pyaeron"
_WARM_TRIPS: Final = 500


@dataclass(frozen=True)
class Plan:
    """How much is measured: rounds of round_s each, for messages of these sizes."""

    rounds: int = 15
    round_s: float = 0.3
    sizes: tuple[int, ...] = (32, 288, 1344)


QUICK: Final = Plan(rounds=5, round_s=0.1, sizes=(32, 1344))


@dataclass(frozen=True)
class _Scene:
    """One flow: the client of ours that drives it, and whether pyaeron has its like."""

    figure: str
    client: Literal["ours", "ours_batch"]
    medium: Literal["ipc", "udp"]
    per_second: int | None = None

    @property
    def metrics(self) -> tuple[tuple[str, str, str], ...]:
        """Name behind the figure, metric, unit."""
        if self.per_second is None:
            return (("", "rate", "messages/s"),)
        return (" p50", "p50", "ns"), (" p99", "p99", "ns")


_SCENES: Final = (
    _Scene("ipc throughput callback", "ours", "ipc"),
    _Scene("ipc throughput batch", "ours_batch", "ipc"),
    _Scene("ipc round trip callback", "ours", "ipc", IPC_TRIPS_PER_S),
    _Scene("udp throughput callback", "ours", "udp"),
    _Scene("udp throughput batch", "ours_batch", "udp"),
    _Scene("udp round trip callback", "ours", "udp", UDP_TRIPS_PER_S),
)


def _start_driver(stack: ExitStack, make: str) -> str:
    """A SHARED driver in a directory of its own below /dev/shm; ends with the stack. Raises DriverTimeout."""
    base = Path(tempfile.mkdtemp(prefix="aeronpy-bench-", dir="/dev/shm"))
    stack.callback(shutil.rmtree, base, ignore_errors=True)
    aeron_dir = base / "aeron"
    environment = {"AERON_DIR": str(aeron_dir), "AERON_THREADING_MODE": "SHARED"}
    if make == PYAERON:
        command = [sys.executable, "-m", "aeronpy.bench.peer_driver", str(aeron_dir)]
        stack.enter_context(Line(command, environment)).answer()
        return str(aeron_dir)
    process = subprocess.Popen(
        [sys.executable, "-m", "aeronpy.cli.driver"], env={**os.environ, **environment}, stdout=subprocess.DEVNULL
    )
    stack.callback(process.wait, START_S)
    stack.callback(process.terminate)
    deadline = time.monotonic() + START_S
    while not (aeron_dir / "cnc.dat").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise DriverTimeout(f"the driver did not start within {START_S:.0f} s: run `aeronpy driver` to see why")
        time.sleep(0.01)
    return str(aeron_dir)


def _channels(medium: str) -> tuple[str, str]:
    if medium == "ipc":
        return (f"aeron:ipc?term-length={TERM}",) * 2
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as a, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as b:
        a.bind(("127.0.0.1", 0))
        b.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in (a, b)]
    first, second = (f"aeron:udp?endpoint=127.0.0.1:{port}|term-length={TERM}" for port in ports)
    return first, second


def _open_trial(stack: ExitStack, scene: _Scene, side: tuple[str, str], size: int, plan: Plan) -> Trial:
    """The trial of a side: client and directory."""
    client, aeron_dir = side
    channel, back = _channels(scene.medium)
    is_round_trip = scene.per_second is not None

    def end(role: str) -> Line:
        command = [sys.executable, "-m", "aeronpy.bench.ends", client, role, aeron_dir, channel, str(size), back]
        line = stack.enter_context(Line(command))
        line.answer()
        return line

    receiver = end("pong" if is_round_trip else "receive")
    sender = end("ping" if is_round_trip else "publish")
    sender.ask("connected")
    sender.answer()
    flow = Flow(sender, receiver, is_round_trip)
    if scene.per_second is None:
        return flow.capacity_trial(plan.round_s, turn_over_messages(size, TERM_BYTES))
    flow.round(_WARM_TRIPS)
    return flow.latency_trial(plan.round_s, scene.per_second)


def has_pyaeron() -> bool:
    """Whether pyaeron is installed beside us."""
    return importlib.util.find_spec(PYAERON) is not None


def measure(plan: Plan, tell: Callable[[str], None] = lambda _: None) -> Iterator[dict[str, object]]:
    """The machine, then a line for each figure; ``tell`` hears what is measured next.

    Lines beside pyaeron are of paired rounds; alone they have our value with the interval of its median. Takes a few
    seconds for each figure. Raises DriverTimeout, StateError where HdrHistogram is missing, RuntimeError where an end
    failed.
    """
    yield describe(rounds=plan.rounds, round_s=plan.round_s, sizes=list(plan.sizes), term=TERM)
    with ExitStack() as drivers:
        ours_dir = _start_driver(drivers, "ours")
        peer_dir = _start_driver(drivers, PYAERON) if has_pyaeron() else None
        for scene in _SCENES:
            for size in plan.sizes:
                tell(f"{scene.figure}, {size} bytes")
                with ExitStack() as stack:
                    trials = {"ours": _open_trial(stack, scene, (scene.client, ours_dir), size, plan)}
                    if peer_dir is not None:
                        trials[PYAERON] = _open_trial(stack, scene, (PYAERON, peer_dir), size, plan)
                    measured = interleave(trials, plan.rounds)
                for suffix, metric, unit in scene.metrics:
                    figure, ours = scene.figure + suffix, measured.metric("ours", metric)
                    if peer_dir is None:
                        line = line_alone(figure, size, ours, unit=unit)
                    else:
                        peer = measured.metric(PYAERON, metric)
                        line = line_of(figure, size, ours, peer, peer_name=PYAERON, unit=unit)
                    yield {**line, "thrown_away": measured.thrown_away, "noisy_kept": measured.noisy_kept}
