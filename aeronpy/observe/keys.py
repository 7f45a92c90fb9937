"""What the key of a counter says, by the counter's type (formats: key layouts of the counters file)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from aeronpy.observe.types import CounterType


@dataclass(frozen=True, slots=True)
class SystemKey:
    """A counter of the driver as a whole; `SystemCounter` names the ids."""

    system_counter_id: int


@dataclass(frozen=True, slots=True)
class StreamKey:
    """A counter of one stream. The channel is cut at 92 bytes; the label holds more of it."""

    registration_id: int
    session_id: int
    stream_id: int
    channel: str


@dataclass(frozen=True, slots=True)
class ChannelKey:
    """A counter of one channel, cut at 108 bytes."""

    channel: str


@dataclass(frozen=True, slots=True)
class AddressKey:
    """The local address of a channel: empty until its socket is bound."""

    channel_status_id: int
    address: str


@dataclass(frozen=True, slots=True)
class HeartbeatKey:
    """The heartbeat of a client."""

    client_id: int


@dataclass(frozen=True, slots=True)
class ArchiveKey:
    """A counter of an archive."""

    archive_id: int


@dataclass(frozen=True, slots=True)
class RecordingKey:
    """The position of an active recording."""

    recording_id: int
    session_id: int
    source_identity: str
    archive_id: int


@dataclass(frozen=True, slots=True)
class ControlSessionKey:
    """A session of an archive client."""

    archive_id: int
    control_session_id: int


@dataclass(frozen=True, slots=True)
class ClusterKey:
    """A counter of a cluster member."""

    cluster_id: int


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """A counter of one service of a cluster member."""

    cluster_id: int
    service_id: int


Key = (
    SystemKey
    | StreamKey
    | ChannelKey
    | AddressKey
    | HeartbeatKey
    | ArchiveKey
    | RecordingKey
    | ControlSessionKey
    | ClusterKey
    | ServiceKey
)

STREAM_TYPES: Final = frozenset(
    {
        CounterType.PUBLISHER_LIMIT,
        CounterType.SENDER_POSITION,
        CounterType.RECEIVER_HWM,
        CounterType.SUBSCRIBER_POSITION,
        CounterType.RECEIVER_POSITION,
        CounterType.SENDER_LIMIT,
        CounterType.PER_IMAGE,
        CounterType.PUBLISHER_POSITION,
        CounterType.SENDER_BPE,
        CounterType.FLOW_CONTROL_RECEIVERS,
        CounterType.SENDER_NAKS_RECEIVED,
        CounterType.RECEIVER_NAKS_SENT,
    }
)
CHANNEL_TYPES: Final = frozenset(
    {CounterType.SEND_CHANNEL_STATUS, CounterType.RECEIVE_CHANNEL_STATUS, CounterType.MDC_DESTINATIONS}
)
ARCHIVE_TYPES: Final = frozenset(range(101, 113))
SERVICE_TYPES: Final = frozenset({215, 218, 219, 236, 237})
CLUSTER_TYPES: Final = frozenset({*range(200, 215), 216, 217, *range(232, 241)}) - {204, 206}
KEY_BYTES: Final = 112
_RECORDING_SOURCE_AT: Final = 16


def _text(key: bytes, at: int, length: int) -> str:
    # Bytes beyond the declared length are whatever was there before; a length beyond the key is nobody's text.
    return key[at : at + length].decode("utf-8", "replace") if 0 <= length <= len(key) - at else ""


def _stream(key: bytes) -> StreamKey:
    registration_id, session_id, stream_id, length = struct.unpack_from("<qiii", key)
    return StreamKey(registration_id, session_id, stream_id, _text(key, 20, length))


def _recording(key: bytes) -> RecordingKey | None:
    recording_id, session_id, length = struct.unpack_from("<qii", key)
    end = _RECORDING_SOURCE_AT + length
    if length < 0 or end + 8 > len(key):
        return None
    archive_id = int.from_bytes(key[end : end + 8], "little", signed=True)
    return RecordingKey(recording_id, session_id, _text(key, _RECORDING_SOURCE_AT, length), archive_id)


def decode_key(type_id: int, key: bytes) -> Key | None:
    """Return what a counter's key bytes say, or None where the type is not known or has no key."""
    key = key.ljust(KEY_BYTES, b"\0")
    if type_id == CounterType.SYSTEM:
        return SystemKey(*struct.unpack_from("<i", key))
    if type_id in STREAM_TYPES:
        return _stream(key)
    if type_id in CHANNEL_TYPES:
        return ChannelKey(_text(key, 4, *struct.unpack_from("<i", key)))
    if type_id == CounterType.LOCAL_SOCKADDR:
        channel_status_id, length = struct.unpack_from("<ii", key)
        return AddressKey(channel_status_id, _text(key, 8, length))
    if type_id == CounterType.CLIENT_HEARTBEAT:
        return HeartbeatKey(*struct.unpack_from("<q", key))
    if type_id == CounterType.RECORDING_POSITION:
        return _recording(key)
    if type_id == CounterType.ARCHIVE_CONTROL_SESSION:
        return ControlSessionKey(*struct.unpack_from("<qq", key))
    if type_id in ARCHIVE_TYPES:
        return ArchiveKey(*struct.unpack_from("<q", key))
    if type_id in SERVICE_TYPES:
        return ServiceKey(*struct.unpack_from("<ii", key))
    if type_id in CLUSTER_TYPES:
        return ClusterKey(*struct.unpack_from("<i", key))
    return None
