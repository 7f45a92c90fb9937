"""What the tests of client and driver share: connected pairs, waiting with a deadline, programs of their own."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from aeronpy import Aeron, ExclusivePublication, FragmentView, Header, Subscription
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
CHANNEL = "aeron:ipc?term-length=64k"
STREAMS = itertools.count(1001)
Pair = tuple[ExclusivePublication, Subscription]


def free_port() -> int:
    """A UDP port that nobody holds now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def connected_pair(aeron: Aeron) -> Pair:
    """An exclusive publication and a subscription that are connected, on a stream of their own."""
    stream_id = next(STREAMS)
    subscription = aeron.add_subscription(CHANNEL, stream_id)
    publication = aeron.add_exclusive_publication(CHANNEL, stream_id)
    until(lambda: subscription.is_connected and publication.is_connected and publication.available_window > 0)
    return publication, subscription


def poll_until(subscription: Subscription, handler: Callable[[FragmentView, Header], object], count: int) -> None:
    polled = 0

    def enough() -> bool:
        nonlocal polled
        polled += subscription.poll(handler, 10)
        return polled >= count

    until(enough)


def run(program: str, *arguments: str, timeout_s: float = 30) -> subprocess.CompletedProcess[str]:
    """A program in an interpreter of its own, up to its end."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
