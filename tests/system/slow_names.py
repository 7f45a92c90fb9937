"""A name resolver for tests, given to drivers as ``tests.system.slow_names:supply``: it answers when it is told to."""

from __future__ import annotations

import threading

from aeronpy.driver.names.resolver import NameResolver


class SlowNames(NameResolver):
    """``slow-*`` waits for `answer`, and says that everything is on this machine."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.answer = threading.Event()

    def resolve(self, host: str, *, is_again: bool) -> str:
        if host.startswith("slow-"):
            self.asked.release()
            self.answer.wait()
        if host.endswith("-unknown"):
            raise LookupError("nobody of that name")
        return "127.0.0.1"

    def close(self) -> None:
        self.answer.set()


made: list[SlowNames] = []


def supply(arguments: str) -> SlowNames:
    """The factory that the option names; the test finds what it made in `made`."""
    resolver = SlowNames()
    made.append(resolver)
    return resolver
