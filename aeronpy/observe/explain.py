"""Why a stream goes as fast as it goes: each station with its position, who limits whom, and what was dropped.

A driver sees its own side only: where publisher and subscriber have drivers of their own, each explains its half.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Final

from aeronpy.errors import AeronError, NotFoundError
from aeronpy.observe.channels import full_channel, means
from aeronpy.observe.counters import Counter, DriverSnapshot, local_addresses
from aeronpy.observe.driver import Life, life_of
from aeronpy.observe.drops import Drop, count_drops
from aeronpy.observe.files import open_cnc
from aeronpy.observe.keys import ChannelKey, HeartbeatKey, StreamKey
from aeronpy.observe.logs import LogFile, find_log
from aeronpy.observe.loss import read_loss
from aeronpy.observe.stations import Client, Publisher, Receiver, Sender, Session, Subscriber
from aeronpy.observe.types import ChannelStatus, CounterType
from aeronpy.observe.verdicts import behind, judge
from aeronpy.uri import ChannelUri

OTHERS_MAX: Final = 10
_ENDS: Final = (CounterType.SEND_CHANNEL_STATUS, CounterType.RECEIVE_CHANNEL_STATUS)


@dataclass(frozen=True, slots=True)
class ChannelEnd:
    """A socket of the channel: its status, and where it is bound."""

    label: str
    status: str
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LossSeen:
    """What the loss report says of the stream."""

    session_id: int
    observations: int
    bytes_lost: int
    source: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that a driver knows of a stream on a channel."""

    channel: str
    stream_id: int
    interval_s: float
    sessions: list[Session]
    ends: list[ChannelEnd]
    drops: list[Drop]
    loss: list[LossSeen]
    note: str


class _Look:
    """The counters of a driver at two moments, the later of which counts."""

    def __init__(self, aeron_dir: str, first: DriverSnapshot, second: DriverSnapshot, interval_s: float) -> None:
        self.aeron_dir = aeron_dir
        self.counters = second.counters
        self._interval_s = interval_s
        self._before = {(each.counter_id, each.registration_id): each.value for each in first.counters}
        self._clients = {
            each.key.client_id: _client_name(each.label)
            for each in second.counters
            if each.type_id == CounterType.CLIENT_HEARTBEAT and isinstance(each.key, HeartbeatKey)
        }

    def rate(self, counter: Counter) -> float | None:
        """Units a second; None where there was one look only, or the counter is new."""
        before = self._before.get((counter.counter_id, counter.registration_id))
        return None if before is None or self._interval_s <= 0 else (counter.value - before) / self._interval_s

    def client(self, counter: Counter) -> Client:
        """Who a counter belongs to."""
        return Client(counter.owner_id, self._clients.get(counter.owner_id, ""))


def _client_name(label: str) -> str:
    found = re.search(r" name=(.*?)(?: version=|$)", label)
    return found[1] if found else ""


class _SessionCounters:
    """The counters of one session, by type and registration id."""

    def __init__(self, look: _Look, counters: Iterable[Counter]) -> None:
        self._look = look
        self._counters: dict[int, dict[int, Counter]] = {}
        for each in counters:
            if isinstance(each.key, StreamKey):
                self._counters.setdefault(each.type_id, {})[each.key.registration_id] = each

    def of_type(self, type_id: int) -> dict[int, Counter]:
        return self._counters.get(type_id, {})

    def value(self, type_id: int, registration_id: int, otherwise: int = 0) -> int:
        found = self.of_type(type_id).get(registration_id)
        return otherwise if found is None else found.value

    def publisher(self, name: int, limit: Counter) -> Publisher:
        position = self.of_type(CounterType.PUBLISHER_POSITION).get(name)
        label = "" if position is None else position.label
        kind = "exclusive" if "(exclusive)" in label else "concurrent"
        connected = None
        try:
            path = find_log(self._look.aeron_dir, name)
            if path is not None:
                with LogFile(path) as log:
                    connected = log.metadata.fields["is_connected"] == 1
        except AeronError:
            pass  # it went meanwhile
        at = limit.value if position is None else position.value
        rate = None if position is None else self._look.rate(position)
        return Publisher(name, kind, at, limit.value, rate, connected, self._look.client(limit))

    def sender(self, name: int, position: Counter) -> Sender:
        receivers = self.of_type(CounterType.FLOW_CONTROL_RECEIVERS).get(name)
        return Sender(
            name,
            position.value,
            self.value(CounterType.SENDER_LIMIT, name, position.value),
            self.value(CounterType.SENDER_BPE, name),
            self.value(CounterType.SENDER_NAKS_RECEIVED, name),
            None if receivers is None else receivers.value,
            self._look.rate(position),
        )

    def receiver(self, name: int, position: Counter) -> Receiver:
        hwm = self.value(CounterType.RECEIVER_HWM, name, position.value)
        window, gaps = None, []
        try:
            path = find_log(self._look.aeron_dir, name)
            if path is not None:
                with LogFile(path) as log:
                    window = log.metadata.receiver_window or None
                    gaps = log.gaps(position.value, hwm) if position.value % 32 == 0 else []
        except AeronError:
            pass  # it went meanwhile
        naks = self.value(CounterType.RECEIVER_NAKS_SENT, name)
        return Receiver(name, hwm, position.value, naks, window, tuple(gaps), self._look.rate(position))

    def subscriber(self, session: Session, name: int, position: Counter) -> Subscriber:
        sources: list[Publisher | Receiver] = [*session.receivers, *session.publishers]
        source = next((each for each in sources if each.registration_id == position.reference_id), None)
        if source is None and len(sources) == 1:
            source = sources[0]  # older drivers leave the reference empty
        joined = re.search(r" @(-?\d+)$", position.label)
        return Subscriber(
            name,
            position.reference_id if source is None else source.registration_id,
            position.value,
            behind(position.value, source),
            int(joined[1]) if joined else None,
            self._look.rate(position),
            self._look.client(position),
        )

    def session(self, session_id: int) -> Session:
        channels = dict.fromkeys(full_channel(each) for found in self._counters.values() for each in found.values())
        made = Session(session_id, list(channels))
        made.publishers = [self.publisher(*each) for each in self.of_type(CounterType.PUBLISHER_LIMIT).items()]
        made.senders = [self.sender(*each) for each in self.of_type(CounterType.SENDER_POSITION).items()]
        made.receivers = [self.receiver(*each) for each in self.of_type(CounterType.RECEIVER_POSITION).items()]
        found = self.of_type(CounterType.SUBSCRIBER_POSITION).items()
        made.subscribers = [self.subscriber(made, *each) for each in found]
        verdict = judge(made)
        made.limited_by, made.verdict, made.remedy = verdict.limited_by, verdict.text, verdict.remedy
        return made


def _parse(text: str) -> ChannelUri | None:
    try:
        return ChannelUri.parse(text, strict=False)
    except AeronError:
        return None


def _matches(wanted: ChannelUri, counter: Counter) -> bool:
    found = _parse(full_channel(counter))
    return found is not None and means(wanted, found)


def _sessions(look: _Look, wanted: ChannelUri, stream_id: int) -> list[Session]:
    """Sessions with a counter on the channel, and all of their counters: a subscription may name it otherwise."""
    streams = [each for each in look.counters if isinstance(each.key, StreamKey) and each.key.stream_id == stream_id]
    groups: dict[int, list[Counter]] = {}
    for each in streams:
        assert isinstance(each.key, StreamKey)
        groups.setdefault(each.key.session_id, []).append(each)
    chosen = {name: group for name, group in groups.items() if any(_matches(wanted, each) for each in group)}
    found = []
    for name, group in chosen.items():
        same = [each for each in group if (uri := _parse(full_channel(each))) is None or uri.media == wanted.media]
        found.append(_SessionCounters(look, same).session(name))
    return found


def _ends(look: _Look, wanted: ChannelUri) -> list[ChannelEnd]:
    found = []
    for each in look.counters:
        if each.type_id in _ENDS and isinstance(each.key, ChannelKey) and _matches(wanted, each):
            try:
                status = ChannelStatus(each.value).name.lower()
            except ValueError:
                status = str(each.value)
            found.append(ChannelEnd(each.label, status, tuple(local_addresses(look.counters, each.counter_id))))
    return found


def _loss(aeron_dir: str, stream_id: int, sessions: list[Session], problems: list[str]) -> list[LossSeen]:
    try:
        entries = read_loss(aeron_dir, problems=problems)
    except NotFoundError:
        return []
    except AeronError as error:
        problems.append(f"the loss report cannot be read: {error}")
        return []
    ids = {each.session_id for each in sessions}
    return [
        LossSeen(each.session_id, each.observations, each.bytes_lost, each.source)
        for each in entries
        if each.stream_id == stream_id and each.session_id in ids
    ]


def _note(snapshot: DriverSnapshot, sessions: list[Session], ends: list[ChannelEnd]) -> str:
    life = life_of(snapshot)
    if life is not Life.ALIVE:
        return f"the driver is not alive ({life}): this is how it left the stream"
    if sessions:
        return ""
    if not any(end.label.startswith("rcv-channel") for end in ends):
        return "the channel is in use here, but by no stream of that id"
    return (
        "a subscription listens on the channel, and no image has come: is there a publication with this stream id, "
        "does it send to this address, and do firewalls let UDP pass both ways?"
    )


def _take(aeron_dir: str) -> DriverSnapshot:
    with open_cnc(aeron_dir) as cnc:
        return DriverSnapshot.take(cnc)


def explain(aeron_dir: str | PathLike[str], channel: str, stream_id: int, *, interval_s: float = 0.2) -> Explanation:
    """Explain a stream on a channel, from two looks ``interval_s`` apart (one, without rates, where it is 0).

    A channel is meant by its endpoint and control address; other parameters matter only where they contradict.
    NotFoundError where nothing here has to do with it, with the streams that there are; ChannelError.
    """
    wanted, where = ChannelUri.parse(channel, strict=False), str(aeron_dir)
    first = _take(where)
    started = time.monotonic()
    if interval_s > 0:
        time.sleep(interval_s)
    second = _take(where) if interval_s > 0 else first
    look = _Look(where, first, second, time.monotonic() - started if interval_s > 0 else 0.0)
    sessions, ends = _sessions(look, wanted, stream_id), _ends(look, wanted)
    if not sessions and not ends:
        raise NotFoundError(f"nothing here has to do with {channel} stream {stream_id}; {_others(second.counters)}")
    problems: list[str] = []
    loss = _loss(where, stream_id, sessions, problems)
    addresses = [address for end in ends for address in end.addresses]
    return Explanation(
        channel,
        stream_id,
        interval_s,
        sessions,
        ends,
        count_drops(first.counters, second.counters, addresses),
        loss,
        "; ".join(filter(None, [_note(second, sessions, ends), *problems])),
    )


def _others(counters: Iterable[Counter]) -> str:
    keys = [(full_channel(each), each.key.stream_id) for each in counters if isinstance(each.key, StreamKey)]
    found = [f"{channel} stream {stream_id}" for channel, stream_id in dict.fromkeys(keys)]
    if not found:
        return "there are no streams"
    return "there are " + ", ".join(found[:OTHERS_MAX]) + (", ..." if len(found) > OTHERS_MAX else "")
