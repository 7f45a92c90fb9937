"""Counters put together by the stream that they belong to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from aeronpy.observe.counters import Counter
from aeronpy.observe.keys import StreamKey
from aeronpy.observe.types import CounterType

STREAM_STAT_TYPES: Final = frozenset(
    {
        CounterType.PUBLISHER_LIMIT,
        CounterType.SENDER_POSITION,
        CounterType.RECEIVER_HWM,
        CounterType.SUBSCRIBER_POSITION,
        CounterType.RECEIVER_POSITION,
        CounterType.SENDER_LIMIT,
        CounterType.PUBLISHER_POSITION,
        CounterType.SENDER_BPE,
        CounterType.SENDER_NAKS_RECEIVED,
        CounterType.RECEIVER_NAKS_SENT,
    }
)


@dataclass(frozen=True, slots=True)
class StreamCounter:
    """One number of a stream, as ``pub-lmt`` of the publication with this registration id."""

    name: str
    type_id: int
    registration_id: int
    value: int


@dataclass(frozen=True, slots=True)
class Stream:
    """A session of a stream on a channel, with all that counts on it."""

    session_id: int
    stream_id: int
    channel: str
    counters: tuple[StreamCounter, ...]


def group_streams(counters: Iterable[Counter]) -> list[Stream]:
    """Streams in the order of their first counters, each with its counters in the order of their ids."""
    groups: dict[tuple[int, int, str], list[StreamCounter]] = {}
    for each in counters:
        if each.type_id in STREAM_STAT_TYPES and isinstance(each.key, StreamKey):
            key = each.key
            name = each.label.partition(":")[0]
            group = groups.setdefault((key.session_id, key.stream_id, key.channel), [])
            group.append(StreamCounter(name, each.type_id, key.registration_id, each.value))
    return [Stream(*identity, tuple(group)) for identity, group in groups.items()]
