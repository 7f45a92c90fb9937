"""1, 100 and 1,000 streams of 64 KiB terms through one SHARED driver, twenty an endpoint.

The same client drives both drivers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from aeronpy.bench.flow import MESSAGES_MAX, MESSAGES_MIN
from aeronpy.bench.processes import Line as Process
from aeronpy.bench.processes import cpu_ns, own_memory_bytes
from aeronpy.bench.rounds import Sample, Trial, interleave
from aeronpy.bench.statistics import Goal, line_of
from bench.compare.sides import ROOT, DriverMake, peer_python, started_driver, udp_channels
from bench.families import Line, Settings

SIZE = 288
STREAMS = (1, 100, 1000)
PROBE_MESSAGES = 2_000
# All status messages of a socket's streams come at once, and those that its buffer does not hold are always the same.
STREAMS_PER_CHANNEL = 20
# A thousand streams have more counters than the default length holds.
COUNTERS_BYTES = 8 << 20
FIGURES = (
    ("streams throughput", "rate", "messages/s", Goal("at least", 1.0)),
    ("streams driver cpu", "cpu_ns", "ns/message", Goal("at most", 1.0)),
    ("streams driver memory", "bytes", "bytes without logs", None),
)


def _trial(stack: ExitStack, make: DriverMake, streams: int, round_s: float) -> Trial:
    driver = stack.enter_context(started_driver(make, AERON_COUNTERS_BUFFER_LENGTH=str(COUNTERS_BYTES)))
    endpoints = [udp_channels()[0] for _ in range(0, streams, STREAMS_PER_CHANNEL)]
    channels = ",".join(f"{each}|term-length=64k" for each in endpoints)
    program = [str(peer_python()), str(ROOT / "bench" / "compare" / "streams_end.py")]

    def end(role: str) -> Process:
        command = [*program, role, str(driver.aeron_dir), channels, str(streams), str(SIZE)]
        return stack.enter_context(Process(command, {}, ROOT))

    receiver = end("receive")
    receiver.answer()
    sender = end("publish")
    sender.answer()

    def run(count: int) -> float:
        receiver.ask(str(count))
        sender.ask(str(count))
        sender.answer()
        return count / int(receiver.answer()) * 1e9

    count = int(min(max(run(PROBE_MESSAGES) * round_s, MESSAGES_MIN), MESSAGES_MAX))
    run(count)

    def trial() -> Sample:
        before = cpu_ns(driver.pid)
        rate = run(count)
        return {
            "rate": rate,
            "cpu_ns": (cpu_ns(driver.pid) - before) / count,
            "bytes": float(own_memory_bytes(driver.pid)),
        }

    return trial


def family(settings: Settings) -> Iterator[Line]:
    """A line for each number of streams and figure."""
    for streams in STREAMS:
        with ExitStack() as stack:
            trials = {make: _trial(stack, make, streams, settings.round_s) for make in ("ours", "c")}
            measured = interleave(trials, settings.rounds)
        for figure, metric, unit, goal in FIGURES:
            line = line_of(
                f"{figure} {streams}",
                SIZE,
                measured.metric("ours", metric),
                measured.metric("c", metric),
                peer_name="c driver",
                unit=unit,
                goal=goal,
            )
            yield {**line, "streams": streams, "thrown_away": measured.thrown_away, "noisy_kept": measured.noisy_kept}
