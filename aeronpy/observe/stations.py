"""The stations that a message passes on its way through one driver, as a look at them finds them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Client:
    """Who made a publication or a subscription; the name is empty where the client gave none."""

    client_id: int
    name: str


@dataclass(frozen=True, slots=True)
class Publisher:
    """A publication: it waits when its position reaches its limit. ``rate`` is in bytes a second."""

    registration_id: int
    kind: str
    position: int
    limit: int
    rate: float | None
    is_connected: bool | None
    client: Client


@dataclass(frozen=True, slots=True)
class Sender:
    """The driver's sender of a network publication: it waits when its position reaches its limit."""

    registration_id: int
    position: int
    limit: int
    back_pressure_events: int
    naks_received: int
    flow_control_receivers: int | None
    rate: float | None


@dataclass(frozen=True, slots=True)
class Receiver:
    """An image: what has arrived (``hwm``), up to where it is whole, and the gaps between, as (position, bytes)."""

    registration_id: int
    hwm: int
    position: int
    naks_sent: int
    window: int | None
    gaps: tuple[tuple[int, int], ...]
    rate: float | None


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A subscriber: how far it has consumed, and how many bytes it is behind what is there for it."""

    registration_id: int
    source_id: int
    position: int
    behind: int
    joined_at: int | None
    rate: float | None
    client: Client


@dataclass(slots=True)
class Session:
    """One session of a stream: its stations at this driver, who limits it, why, and what to do."""

    session_id: int
    channels: list[str]
    publishers: list[Publisher] = field(default_factory=list)
    senders: list[Sender] = field(default_factory=list)
    receivers: list[Receiver] = field(default_factory=list)
    subscribers: list[Subscriber] = field(default_factory=list)
    limited_by: str = ""
    verdict: str = ""
    remedy: str = ""
