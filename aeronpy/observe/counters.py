"""Counters of a driver as typed records, and the filters that Aeron's own tools take."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Self

from aeronpy._core.native import CncFile, CountersReader
from aeronpy.errors import ArgumentError
from aeronpy.observe.keys import AddressKey, ChannelKey, Key, StreamKey, SystemKey, decode_key
from aeronpy.observe.types import ChannelStatus, CounterType


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter as it was at one moment, its key decoded by its type."""

    counter_id: int
    type_id: int
    value: int
    registration_id: int
    owner_id: int
    reference_id: int
    key: Key | None
    label: str


def read_counters(reader: CountersReader) -> Iterator[Counter]:
    """Yield the allocated counters in order of their ids."""
    for info in reader:
        yield Counter(
            info.counter_id,
            info.type_id,
            info.value,
            info.registration_id,
            info.owner_id,
            info.reference_id,
            decode_key(info.type_id, info.key),
            info.label,
        )


@dataclass(frozen=True, slots=True)
class DriverSnapshot:
    """A driver and its counters at one moment."""

    aeron_dir: str
    version: tuple[int, int, int]
    pid: int
    start_timestamp_ms: int
    heartbeat_timestamp_ms: int
    taken_at_ms: int
    max_counter_id: int
    counters: tuple[Counter, ...]

    @classmethod
    def take(cls, cnc: CncFile) -> Self:
        """Read everything now."""
        counters = tuple(read_counters(cnc.counters))
        return cls(
            cnc.directory,
            cnc.version,
            cnc.pid,
            cnc.start_timestamp_ms,
            cnc.heartbeat_timestamp_ms,
            time.time_ns() // 1_000_000,
            cnc.counters.max_counter_id,
            counters,
        )

    def keep(self, passes: Callable[[Counter], bool]) -> Self:
        """The same with only those counters that pass."""
        return replace(self, counters=tuple(filter(passes, self.counters)))

    @property
    def heartbeat_age_ms(self) -> int | None:
        """Milliseconds since the driver's last sign of life; None after it shut down or before it began."""
        return self.taken_at_ms - self.heartbeat_timestamp_ms if self.heartbeat_timestamp_ms > 0 else None


def local_addresses(counters: Iterable[Counter], channel_status_id: int) -> list[str]:
    """The bound addresses of a channel, by its status counter; empty unless that is ACTIVE."""
    counters = list(counters)
    active = any(each.counter_id == channel_status_id and each.value == ChannelStatus.ACTIVE for each in counters)
    return [
        each.key.address
        for each in counters
        if active
        and each.type_id == CounterType.LOCAL_SOCKADDR
        and isinstance(each.key, AddressKey)
        and each.key.channel_status_id == channel_status_id
        and each.value == ChannelStatus.ACTIVE
        and each.key.address
    ]


FILTER_NAMES: Final = ("type", "identity", "session", "stream", "channel")


class CounterFilter:
    """Keeps counters whose fields all match, as ``type=1 channel=udp``: regular expressions, searched for.

    ``type`` is the type id; ``identity`` the registration id of a stream's counter or the id of a system
    counter; ``session`` and ``stream`` those of a stream's counter; ``channel`` that of a stream's or a
    channel's. A counter that has no such field passes. ArgumentError for other names and bad expressions.
    """

    def __init__(self, arguments: Iterable[str] = ()) -> None:
        self._patterns: dict[str, re.Pattern[str]] = {}
        for argument in arguments:
            name, equals, pattern = argument.partition("=")
            if not equals or name not in FILTER_NAMES:
                raise ArgumentError(f"filter {argument!r}: use one of {', '.join(f'{n}=' for n in FILTER_NAMES)}")
            try:
                self._patterns[name] = re.compile(pattern)
            except re.error as error:
                raise ArgumentError(f"filter {argument!r} is not a regular expression: {error}") from None

    def __call__(self, counter: Counter) -> bool:
        """Whether the counter passes."""
        fields = {"type": str(counter.type_id)}
        match counter.key:
            case SystemKey(system_counter_id):
                fields["identity"] = str(system_counter_id)
            case StreamKey(registration_id, session_id, stream_id, channel):
                fields |= {"identity": str(registration_id), "session": str(session_id)}
                fields |= {"stream": str(stream_id), "channel": channel}
            case ChannelKey(channel):
                fields["channel"] = channel
        return all(name not in fields or pattern.search(fields[name]) for name, pattern in self._patterns.items())
