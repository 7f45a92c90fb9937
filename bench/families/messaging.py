"""32 B between two processes of one machine: our callbacks and batches beside what people use instead."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from aeronpy.bench.flow import MESSAGES_MAX, MESSAGES_MIN, PROBE_MESSAGES
from aeronpy.bench.processes import Line as Process
from aeronpy.bench.rounds import Sample, Trial, interleave
from aeronpy.bench.statistics import Goal, line_of
from bench.compare.sides import ROOT, peer_python
from bench.families import Line, Settings
from bench.families.scene import OURS_BATCH, OURS_CALLBACK, Setting, open_side, trial_of

SIZE = 32
DEADLINE_S = 20.0
AT_LEAST_CALLBACK, AT_LEAST_BATCH = Goal("at least", 8), Goal("at least", 35)
# The goal is beside these; the others are reported.
WITH_GOAL = ("pyzmq ipc", "grpcio streaming", "nats core")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_nats() -> Iterator[str]:
    """A NATS server, and its address."""
    port = free_port()
    program = peer_python().parent / "nats-server"
    process = subprocess.Popen(
        [str(program), "-a", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("the NATS server did not start") from None
                time.sleep(0.02)
        yield f"nats://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def _process(stack: ExitStack, program: str, *arguments: str) -> Process:
    path = ROOT / "bench" / "messaging" / program
    process = stack.enter_context(Process([str(peer_python()), str(path), *arguments], {}, ROOT))
    return process


def _trial(ask: list[Process], round_s: float) -> Trial:
    """A trial over processes that are told a number each; the first is the receiver, whose time it is."""

    def run(count: int) -> float:
        for each in ask:
            each.ask(str(count))
        answers = [int(each.answer()) for each in ask]
        return count / answers[0] * 1e9

    speed = run(PROBE_MESSAGES)
    count = int(min(max(speed * round_s, MESSAGES_MIN), MESSAGES_MAX))

    def trial() -> Sample:
        return {"rate": run(count)}

    trial()
    return trial


def pair_trial(stack: ExitStack, kind: str, round_s: float) -> Trial:
    """multiprocessing's and the kernel's own ways."""
    pair = _process(stack, "pair.py", kind, str(SIZE))
    pair.answer()
    return _trial([pair], round_s)


def ends_trial(stack: ExitStack, system: str, address: str, round_s: float) -> Trial:
    """Systems with two ends that find each other by an address."""
    ends = []
    for role in ("receive", "publish"):
        end = _process(stack, "ends.py", system, role, address, str(SIZE))
        end.answer()
        ends.append(end)
    return _trial(ends, round_s)


def family(settings: Settings) -> Iterator[Line]:
    """All systems in turn, nothing pinned."""
    setting = Setting(is_pinned=False)
    round_s = settings.round_s
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        nats = stack.enter_context(running_nats())
        trials = {
            side.name: trial_of(open_side(stack, side, SIZE, setting), SIZE, setting, settings)
            for side in (OURS_CALLBACK, OURS_BATCH)
        }
        peers = {
            "pyzmq ipc": ends_trial(stack, "zmq", f"ipc://{directory}/zmq", round_s),
            "pyzmq tcp": ends_trial(stack, "zmq", f"tcp://127.0.0.1:{free_port()}", round_s),
            "grpcio streaming": ends_trial(stack, "grpc", f"127.0.0.1:{free_port()}", round_s),
            "nats core": ends_trial(stack, "nats", nats, round_s),
            "multiprocessing queue": pair_trial(stack, "queue", round_s),
            "multiprocessing pipe": pair_trial(stack, "pipe", round_s),
            "unix socket": pair_trial(stack, "unix", round_s),
            "tcp socket": pair_trial(stack, "tcp", round_s),
        }
        measured = interleave({**trials, **peers}, settings.rounds)
    for ours, label, goal in (
        (OURS_CALLBACK, "callback", AT_LEAST_CALLBACK),
        (OURS_BATCH, "batch", AT_LEAST_BATCH),
    ):
        for peer in peers:
            line = line_of(
                f"ipc throughput {label} beside others",
                SIZE,
                measured.metric(ours.name, "rate"),
                measured.metric(peer, "rate"),
                peer_name=peer,
                unit="messages/s",
                goal=goal if peer in WITH_GOAL else None,
            )
            yield {**line, "thrown_away": measured.thrown_away, "noisy_kept": measured.noisy_kept}
