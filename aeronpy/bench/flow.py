"""A flow of messages between two processes that are told, in lines, what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from aeronpy.bench import histogram
from aeronpy.bench.processes import Line
from aeronpy.bench.rounds import Sample

PROBE_MESSAGES: Final = 2000
MESSAGES_MIN, MESSAGES_MAX = 1000, 40_000_000
PARTITIONS: Final = 3
_FRAME_HEADER_BYTES: Final = 32
_FRAME_ALIGNMENT: Final = 32


def turn_over_messages(size: int, term_bytes: int) -> int:
    """As many messages as fill every term of a log once."""
    span = (size + _FRAME_HEADER_BYTES + _FRAME_ALIGNMENT - 1) // _FRAME_ALIGNMENT * _FRAME_ALIGNMENT
    return PARTITIONS * term_bytes // span + 1


@dataclass
class Flow:
    """Two connected ends, for messages of one size."""

    sender: Line
    receiver: Line
    is_round_trip: bool
    histogram: Any = field(default=None)

    def round(self, count: int) -> float:
        """Messages per second, or the median round trip in nanoseconds; one after the other, as fast as it goes."""
        self.receiver.ask(str(count))
        self.sender.ask(str(count))
        sent_ns, received_ns = int(self.sender.answer()), int(self.receiver.answer())
        return float(sent_ns) if self.is_round_trip else count / received_ns * 1e9

    def paced(self, count: int, interval_ns: int) -> Any:
        """Round trips of messages that are due every interval_ns, each timed from when it was due: a histogram."""
        self.receiver.ask(str(count))
        self.sender.ask(f"paced {count} {interval_ns}")
        text = self.sender.answer()
        self.receiver.answer()
        return histogram.from_text(text)

    def capacity_trial(self, round_s: float, warm_up: int, metric: str = "rate") -> Callable[[], Sample]:
        """A trial of about round_s: ``warm_up`` messages untimed, so that memory is warm, then as many as fit."""
        for _ in range(2):
            if warm_up:
                self.round(warm_up)
        count = self._count(self.round(PROBE_MESSAGES), round_s)
        count = self._count(self.round(count), round_s)

        def trial() -> Sample:
            if warm_up:
                self.round(warm_up)
            return {metric: self.round(count)}

        return trial

    @staticmethod
    def _count(per_second: float, round_s: float) -> int:
        return int(min(max(per_second * round_s, MESSAGES_MIN), MESSAGES_MAX))

    def latency_trial(self, round_s: float, per_second: int) -> Callable[[], Sample]:
        """A trial of about round_s at a fixed sending rate: p50, p99 and p99.9; ``histogram`` gathers all trials."""
        self.histogram = histogram.empty()
        count, interval_ns = max(int(per_second * round_s), 100), 1_000_000_000 // per_second
        self.paced(count, interval_ns)

        def trial() -> Sample:
            measured = self.paced(count, interval_ns)
            self.histogram.add(measured)
            return histogram.sample(measured)

        return trial
