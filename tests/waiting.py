"""Waiting in tests: for a condition, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_S = 30.0


def until(condition: Callable[[], object], timeout_s: float = DEADLINE_S) -> None:
    """Ask until the answer is true; AssertionError when the time is over."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"the condition did not come true in {timeout_s} s"
        time.sleep(0.002)
