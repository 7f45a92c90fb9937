"""A name resolver for our driver, ``tests.interop.slow_names:supply``: ``slow-*`` is known once a file is there."""

from __future__ import annotations

import time
from pathlib import Path

from aeronpy.driver.names.resolver import NameResolver, SystemResolver


class SlowNames(NameResolver):
    """``asked`` is made beside the file as soon as somebody asks."""

    def __init__(self, answer: Path) -> None:
        self._answer = answer
        self._system = SystemResolver()

    def resolve(self, host: str, *, is_again: bool) -> str:
        if not host.startswith("slow-"):
            return self._system.resolve(host, is_again=is_again)
        self._answer.with_suffix(".asked").touch()
        while not self._answer.exists():
            time.sleep(0.01)
        return "127.0.0.1"


def supply(arguments: str) -> SlowNames:
    """The factory that the option names; its argument is the file."""
    return SlowNames(Path(arguments))
