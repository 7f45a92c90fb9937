"""A client's duty cycle as an agent, for those who run it on a thread of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aeronpy.client.aeron import Aeron


class ConductorAgent:
    """Runs a client that was made with ``use_conductor_agent_invoker``; closing the agent closes the client."""

    def __init__(self, aeron: Aeron) -> None:
        self._aeron = aeron

    @property
    def role_name(self) -> str:
        """The name that the thread of a client has."""
        return "aeron-client-conductor"

    def on_start(self) -> None:
        """Nothing: the client is connected."""

    def do_work(self) -> int:
        """One duty cycle; returns the work done. Nothing once the client is closed."""
        return 0 if self._aeron.is_closed else self._aeron.invoke()

    def on_close(self) -> None:
        """Close the client."""
        self._aeron.close()
