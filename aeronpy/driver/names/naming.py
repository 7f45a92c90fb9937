"""The names in channels, resolved where it delays nobody else (spec: client/driver protocol, 16.2)."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from aeronpy._core.native import DriverCore
from aeronpy.driver import system_counters
from aeronpy.driver.channels.addresses import Address, ip_address, is_literal, parse_address, resolve_address
from aeronpy.driver.channels.udp_channel import UdpChannel
from aeronpy.driver.conductor.refusals import refuse
from aeronpy.driver.conductor.resource_agent import Job, Lane
from aeronpy.driver.conductor.tasks import Task
from aeronpy.driver.event_log.log_events import LogEvent
from aeronpy.driver.names.resolver import NameResolver
from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.errors import RegistrationError
from aeronpy.loggers import logger_of
from aeronpy.protocol import ErrorCode
from aeronpy.uri import ChannelUri, split_address

_log: Final = logger_of(__name__)


class _Answer(NamedTuple):
    """What became of one name, on a thread of the resource agent; ``address`` None: nobody knows it."""

    host: str
    is_again: bool
    address: str | None
    time_ns: int


class Naming:
    """One per driver; the decision thread asks."""

    def __init__(
        self,
        context: MediaDriverContext,
        core: DriverCore,
        resolver: NameResolver,
        note: Callable[[LogEvent, str], None],
    ) -> None:
        self._context = context
        self._core = core
        self._resolver = resolver
        self._note = note
        self._answers: deque[_Answer] = deque()
        self._time_max_ns = 0

    def parse_channel(self, text: str, uri: ChannelUri, *, is_destination: bool = False) -> Task[UdpChannel]:
        """A channel with its names resolved: on the spot where there are none, else by the resource agent."""

        def parse() -> UdpChannel:
            return UdpChannel.parse(text, uri, self._context, resolve=self._first, is_destination=is_destination)

        for key in ("endpoint", "control"):
            self._note_lookup(uri.get(key), is_again=False)
        try:
            if not _has_names(uri):
                return parse()
            parsed = yield Job(Lane.NAMES, parse)
        finally:
            self._note_answers()
        assert isinstance(parsed, UdpChannel)
        return parsed

    def resolve(self, written: str, channel: str, *, is_again: bool) -> Task[Address]:
        """Where ``host:port`` is: error 1 where it is no address, 9 where nobody knows the host.

        ``is_again``: it was resolved before, and nobody waits for it now.
        """

        def resolve() -> Address:
            host, port = parse_address(written, channel)
            return Address(self._timed(host, is_again=is_again), port)

        self._note_lookup(written, is_again=is_again)
        if is_literal(written):
            return resolve_address(written, channel)
        try:
            found = yield Job(Lane.UPKEEP if is_again else Lane.NAMES, resolve)
        finally:
            self._note_answers()
        assert isinstance(found, Address)
        return found

    def do_work(self) -> int:
        """A turn of the decision thread."""
        return self._resolver.do_work()

    def _first(self, host: str) -> str:
        return self._timed(host, is_again=False)

    def _timed(self, host: str, *, is_again: bool) -> str:
        """On a thread of the resource agent."""
        begin_ns = time.monotonic_ns()
        answer: str | None = None
        try:
            found = self._resolver.resolve(host, is_again=is_again)
            answer = str(ip_address(found))
            return found
        except RegistrationError:
            raise
        except (LookupError, OSError, ValueError) as error:
            raise refuse(ErrorCode.UNKNOWN_HOST, f"Unable to resolve host={host}: unresolved ({error})") from None
        finally:
            self._answers.append(_Answer(host, is_again, answer, time.monotonic_ns() - begin_ns))

    def _note_lookup(self, written: str | None, *, is_again: bool) -> None:
        """What a name stands for before it is resolved; all resolvers here leave it as it is."""
        if written is not None:
            self._note(
                LogEvent.NAME_RESOLUTION_LOOKUP,
                f"resolver={self._resolver.log_name} durationNs=0 name={written} "
                f"isReLookup={str(is_again).lower()} resolvedName={written}",
            )

    def _note_answers(self) -> None:
        while self._answers:
            host, is_again, address, time_ns = self._answers.popleft()
            if _is_name(f"{host}:0" if ":" not in host else f"[{host}]:0"):
                self._note(
                    LogEvent.NAME_RESOLUTION_RESOLVE,
                    f"resolver={self._resolver.log_name} durationNs={time_ns} name={host} "
                    f"isReResolution={str(is_again).lower()} address={address or 'unknown-address'}",
                )
            if time_ns > self._time_max_ns:
                self._time_max_ns = time_ns
                self._core.set_counter(system_counters.NAME_RESOLVER_MAX, time_ns)
            if time_ns > self._context.name_resolver_threshold:
                self._core.count(system_counters.NAME_RESOLVER_EXCEEDED)
                _log.warning("resolving a name took %.3f s", time_ns / 1e9)

    def close(self) -> None:
        """The driver ends."""
        self._resolver.close()


def _has_names(uri: ChannelUri) -> bool:
    return any(_is_name(uri.get(key)) for key in ("endpoint", "control", "interface"))


def _is_name(written: str | None) -> bool:
    """May somebody have to be asked for it?"""
    if written is None or written.startswith("{"):
        return False
    try:
        host, _ = split_address(written)
        ip_address(host)
    except ValueError:
        return True
    return False
