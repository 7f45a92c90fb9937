"""Counters that a client owns, or shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeronpy._core.native import ClientCore, CounterBase
from aeronpy.client import protocol
from aeronpy.client.protocol import Command

if TYPE_CHECKING:
    from aeronpy.client.conductor import Conductor


class Counter(CounterBase):
    """A number in the driver's counters, shown to everybody; its value may be changed from any thread.

    It stays until it is closed, or its client, whether or not this object is kept. A static counter is not owned by
    its client, and stays when that closes.
    """

    def __init__(
        self, core: ClientCore, counter_id: int, registration_id: int, conductor: Conductor, is_static: bool
    ) -> None:
        self._conductor = conductor
        self.is_static = is_static

    @property
    def label(self) -> str:
        """What people read; raises StateError once the client is closed."""
        info = self._conductor.core.counters.info(self.counter_id)
        return info.label if info is not None else ""

    def close(self) -> None:
        """Free the counter at the driver, unless it is static. Twice is fine."""
        core = self._conductor.core
        if self.is_static:
            self._mark_closed()
            return
        self._conductor.close_resource(
            self,
            Command.REMOVE_COUNTER,
            lambda correlation_id: protocol.remove(core.client_id, correlation_id, self.registration_id),
        )

    def __enter__(self) -> Counter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Counter(counter_id={self.counter_id}, registration_id={self.registration_id})"
