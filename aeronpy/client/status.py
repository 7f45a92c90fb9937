"""What a channel's endpoint says of itself through the driver's counters."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from aeronpy.client.values import ChannelStatus
from aeronpy.errors import StateError

if TYPE_CHECKING:
    from aeronpy.client.conductor import Conductor

LOCAL_SOCKET_ADDRESS_TYPE: Final = 14
_STATUSES: Final = frozenset(int(status) for status in ChannelStatus)


def channel_status(conductor: Conductor | None, status_id: int, is_closed: bool) -> ChannelStatus:
    """State of an endpoint; IPC and spies have none of their own and are active. May be asked in handlers too."""
    if conductor is None or is_closed:
        return ChannelStatus.ERRORED
    if status_id < 0:
        return ChannelStatus.ACTIVE
    try:
        value = conductor.core.counters.value(status_id)
    except StateError:
        if conductor.core.is_forked:
            raise
        return ChannelStatus.ERRORED  # the client was closed just now
    return ChannelStatus(value) if value in _STATUSES else ChannelStatus.ERRORED


def local_socket_addresses(conductor: Conductor | None, status_id: int, is_closed: bool) -> list[str]:
    """Addresses that an active endpoint is bound to, as ``host:port``."""
    if status_id < 0 or channel_status(conductor, status_id, is_closed) is not ChannelStatus.ACTIVE:
        return []
    assert conductor is not None
    addresses = []
    for counter in conductor.core.counters:
        if counter.type_id != LOCAL_SOCKET_ADDRESS_TYPE or counter.value != ChannelStatus.ACTIVE:
            continue
        owner_id, length = struct.unpack_from("<ii", counter.key)
        if owner_id == status_id and 0 < length <= len(counter.key) - 8:
            addresses.append(counter.key[8 : 8 + length].decode("ascii", "replace"))
    return addresses
