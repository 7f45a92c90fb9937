"""What finds addresses of names: the system, or what ``aeron.name.resolver.supplier`` asks for."""

from __future__ import annotations

from aeronpy.driver.addresses import resolve_host


class NameResolver:
    """Called on threads of the resource agent, several at once: it may take its time, and delays who asked only."""

    log_name = "plug-in"
    """What the event log calls it."""

    def resolve(self, host: str, *, is_again: bool) -> str:
        """The IP address of a host, as text; raises LookupError or OSError where there is none.

        ``is_again``: the name was resolved before, and nothing was heard from there for some time.
        """
        raise NotImplementedError

    def do_work(self) -> int:
        """What is to be done on the decision thread now; called with each of its turns. Returns how much that was."""
        return 0

    def close(self) -> None:
        """The driver ends."""


class SystemResolver(NameResolver):
    """Asks the system: IPv4 first, then IPv6."""

    log_name = "default"

    def resolve(self, host: str, *, is_again: bool) -> str:
        """The system's answer; error 9 where it has none."""
        return resolve_host(host)
