"""What a channel's endpoint says of itself through the driver's counters."""

from __future__ import annotations

import struct
from typing import Final

from aeronpy._core.native import CountersReader
from aeronpy.client.values import ChannelStatus

LOCAL_SOCKET_ADDRESS_TYPE: Final = 14
_STATUSES: Final = frozenset(int(status) for status in ChannelStatus)


def channel_status(counters: CountersReader, status_id: int, is_closed: bool) -> ChannelStatus:
    """State of an endpoint; IPC and spies have none of their own and are active."""
    if is_closed:
        return ChannelStatus.ERRORED
    if status_id < 0:
        return ChannelStatus.ACTIVE
    value = counters.value(status_id)
    return ChannelStatus(value) if value in _STATUSES else ChannelStatus.ERRORED


def local_socket_addresses(counters: CountersReader, status_id: int) -> list[str]:
    """Addresses that an active endpoint is bound to, as ``host:port``."""
    if status_id < 0 or counters.value(status_id) != ChannelStatus.ACTIVE:
        return []
    addresses = []
    for counter in counters:
        if counter.type_id != LOCAL_SOCKET_ADDRESS_TYPE or counter.value != ChannelStatus.ACTIVE:
            continue
        owner_id, length = struct.unpack_from("<ii", counter.key)
        if owner_id == status_id and 0 < length <= len(counter.key) - 8:
            addresses.append(counter.key[8 : 8 + length].decode("ascii", "replace"))
    return addresses
