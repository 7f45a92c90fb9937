"""The counters that describe a driver's resources: types, labels, keys (spec: shared memory, sections 7.4 and 7.6)."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final

from aeronpy._core.native import DriverCore

NULL_ID: Final = -1
_KEY_MAX: Final = 112


class CounterType(IntEnum):
    """Type ids of the driver's counters."""

    PUB_LMT = 1
    SND_POS = 2
    RCV_HWM = 3
    SUB_POS = 4
    RCV_POS = 5
    SND_CHANNEL = 6
    RCV_CHANNEL = 7
    SND_LMT = 9
    PER_IMAGE = 10
    CLIENT_HEARTBEAT = 11
    PUB_POS = 12
    SND_BPE = 13
    LOCAL_SOCKADDR = 14
    RESOLVER_NEIGHBORS = 15
    RESOLVER_CACHE = 16
    FC_RECEIVERS = 17
    MDC_NUM_DEST = 18
    SND_NAKS_RECEIVED = 19
    RCV_NAKS_SENT = 20
    BOOTSTRAP_NEIGHBOR = 21


class ChannelStatus(IntEnum):
    """Values of the channel status counters."""

    ERRORED = -1
    INITIALIZING = 0
    ACTIVE = 1
    CLOSING = 2


_NAMES: Final = {
    CounterType.PUB_LMT: "pub-lmt",
    CounterType.SND_POS: "snd-pos",
    CounterType.RCV_HWM: "rcv-hwm",
    CounterType.SUB_POS: "sub-pos",
    CounterType.RCV_POS: "rcv-pos",
    CounterType.SND_LMT: "snd-lmt",
    CounterType.SND_BPE: "snd-bpe",
    CounterType.FC_RECEIVERS: "fc-receivers",
    CounterType.SND_NAKS_RECEIVED: "snd-naks-received",
    CounterType.RCV_NAKS_SENT: "rcv-naks-sent",
}


def _with_text(head: bytes, text: str) -> bytes:
    """A key that ends with a text and its length, cut to what a key holds."""
    cut = text.encode("ascii", "replace")[: _KEY_MAX - len(head) - 4]
    return head + struct.pack("<i", len(cut)) + cut


def stream_key(registration_id: int, session_id: int, stream_id: int, channel: str) -> bytes:
    """Key of the counters of one stream."""
    return _with_text(struct.pack("<qii", registration_id, session_id, stream_id), channel)


def channel_key(channel: str) -> bytes:
    """Key of a channel status counter."""
    return _with_text(b"", channel)


def address_key(status_id: int, address: str) -> bytes:
    """Key of a local socket address counter."""
    return _with_text(struct.pack("<i", status_id), address)


class StreamCounters:
    """Makes the counters of one stream, and gives them back together."""

    def __init__(
        self, core: DriverCore, registration_id: int, *, session_id: int, stream_id: int, channel: str, owner_id: int
    ) -> None:
        self._core = core
        self._registration_id = registration_id
        self._owner_id = owner_id
        self._key = stream_key(registration_id, session_id, stream_id, channel)
        self._label = f"{registration_id} {session_id} {stream_id} {channel}"
        self._ids: list[int] = []

    def add(self, type_id: CounterType, value: int, *, name: str = "", owner_id: int | None = None) -> int:
        """Allocate one; ``name`` where the type's own does not say all, ``owner_id`` where not the client owns it."""
        owner_id = self._owner_id if owner_id is None else owner_id
        label = f"{name or _NAMES[type_id]}: {self._label}".encode("ascii", "replace")
        found = self._core.allocate_counter(type_id, self._key, label, self._registration_id, owner_id, 0, value)
        self._ids.append(found)
        return found

    def free(self) -> None:
        """Give all back. Safe twice."""
        while self._ids:
            self._core.free_counter(self._ids.pop())


def add_subscriber_position(
    core: DriverCore,
    *,
    subscription_id: int,
    session_id: int,
    stream_id: int,
    channel: str,
    client_id: int,
    image_id: int,
    join_position: int | None,
) -> int:
    """Allocate a sub-pos counter; without a join position its label waits for `set_join_position`."""
    label = f"sub-pos: {subscription_id} {session_id} {stream_id} {channel}"
    if join_position is not None:
        label += f" @{join_position}"
    return core.allocate_counter(
        CounterType.SUB_POS,
        stream_key(subscription_id, session_id, stream_id, channel),
        label.encode("ascii", "replace"),
        subscription_id,
        client_id,
        image_id,
        join_position or 0,
    )


def set_join_position(core: DriverCore, counter_id: int, join_position: int) -> None:
    """Say in the label where the subscriber joined; the value is set by the core, in step with the stream."""
    core.append_label(counter_id, f" @{join_position}".encode())


def add_client_heartbeat(core: DriverCore, client_id: int, now_ms: int) -> int:
    """Allocate the counter that a client keeps writing to."""
    label = f"client-heartbeat: id={client_id}".encode()
    key = struct.pack("<q", client_id)
    return core.allocate_counter(CounterType.CLIENT_HEARTBEAT, key, label, client_id, client_id, 0, now_ms)


def add_local_address(core: DriverCore, *, is_send: bool, status_id: int, address: str, registration_id: int) -> int:
    """Allocate the counter that says where a socket is bound; its value is the status of the socket."""
    side = "snd" if is_send else "rcv"
    return core.allocate_counter(
        CounterType.LOCAL_SOCKADDR,
        address_key(status_id, address),
        f"{side}-local-sockaddr: {status_id} {address}".encode(),
        registration_id,
        0,
        0,
        ChannelStatus.ACTIVE,
    )


class EndpointCounters:
    """Status of one endpoint's channel, and the local address of its own socket where it has one."""

    def __init__(self, core: DriverCore, *, is_send: bool, channel: str, registration_id: int) -> None:
        side = "snd" if is_send else "rcv"
        self._core = core
        self._is_send = is_send
        self._registration_id = registration_id
        self.address_id = NULL_ID
        self.status_id = core.allocate_counter(
            CounterType.SND_CHANNEL if is_send else CounterType.RCV_CHANNEL,
            channel_key(channel),
            f"{side}-channel: {channel}".encode("ascii", "replace"),
            registration_id,
            0,
            0,
            ChannelStatus.INITIALIZING,
        )

    def bound(self, address: str) -> None:
        """The socket is bound: say where, and that the channel is active."""
        self.name_bound(address)
        self.address_id = add_local_address(
            self._core,
            is_send=self._is_send,
            status_id=self.status_id,
            address=address,
            registration_id=self._registration_id,
        )
        self.active()

    def name_bound(self, address: str) -> None:
        """Say in the label where the channel is bound."""
        self._core.append_label(self.status_id, f" {address}".encode())

    def active(self) -> None:
        """The channel is ready."""
        self._core.set_counter(self.status_id, ChannelStatus.ACTIVE)

    def closing(self) -> None:
        """The last user is gone."""
        self._core.set_counter(self.status_id, ChannelStatus.CLOSING)
        if self.address_id != NULL_ID:
            self._core.set_counter(self.address_id, ChannelStatus.CLOSING)

    def free(self) -> None:
        """Give both back."""
        if self.address_id != NULL_ID:
            self._core.free_counter(self.address_id)
            self.address_id = NULL_ID
        self._core.free_counter(self.status_id)
