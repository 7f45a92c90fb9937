"""What lies between the stations of a stream: how much is written and not sent, received and not consumed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aeronpy.observe.counters import Counter
from aeronpy.observe.streams import Stream, group_streams
from aeronpy.observe.types import CounterType


@dataclass(frozen=True, slots=True)
class PublisherBacklog:
    """A publication: its last position, and the bytes that it may still write before it is pushed back."""

    registration_id: int
    position: int
    remaining: int


@dataclass(frozen=True, slots=True)
class SenderBacklog:
    """The sender of a publication: bytes that wait to be sent, and how many the receivers still take."""

    registration_id: int
    backlog: int
    window: int


@dataclass(frozen=True, slots=True)
class ReceiverBacklog:
    """An image: the position up to which it is whole."""

    registration_id: int
    position: int


@dataclass(frozen=True, slots=True)
class SubscriberBacklog:
    """A subscriber: bytes that have arrived (or, without a receiver, were written) and that it has not consumed."""

    registration_id: int
    backlog: int


@dataclass(frozen=True, slots=True)
class StreamBacklog:
    """The stations of one session of a stream that this driver knows."""

    session_id: int
    stream_id: int
    channel: str
    publishers: tuple[PublisherBacklog, ...]
    senders: tuple[SenderBacklog, ...]
    receivers: tuple[ReceiverBacklog, ...]
    subscribers: tuple[SubscriberBacklog, ...]


def _values(stream: Stream, type_id: int) -> dict[int, int]:
    return {each.registration_id: each.value for each in stream.counters if each.type_id == type_id}


def _backlog(stream: Stream) -> StreamBacklog:
    written = _values(stream, CounterType.PUBLISHER_POSITION)
    limits = _values(stream, CounterType.PUBLISHER_LIMIT)
    sent, send_limits = _values(stream, CounterType.SENDER_POSITION), _values(stream, CounterType.SENDER_LIMIT)
    arrived = _values(stream, CounterType.RECEIVER_HWM)
    senders = [
        SenderBacklog(each, written.get(each, at) - at, send_limits.get(each, at) - at) for each, at in sent.items()
    ]
    newest = max((*arrived.values(), *(written.values() if not arrived else ())), default=None)
    return StreamBacklog(
        stream.session_id,
        stream.stream_id,
        stream.channel,
        tuple(PublisherBacklog(each, at, limits.get(each, 0) - at) for each, at in written.items()),
        tuple(senders),
        tuple(ReceiverBacklog(*each) for each in _values(stream, CounterType.RECEIVER_POSITION).items()),
        tuple(
            SubscriberBacklog(each, 0 if newest is None else newest - at)
            for each, at in sorted(_values(stream, CounterType.SUBSCRIBER_POSITION).items())
        ),
    )


def read_backlog(counters: Iterable[Counter]) -> list[StreamBacklog]:
    """The backlog of each stream, in the order of `group_streams`."""
    return [_backlog(each) for each in group_streams(counters)]
