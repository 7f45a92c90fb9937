"""What the conductor's core asks to be decided, decoded from its event ring (csrc/include/apy/conductor_event.h)."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, NamedTuple


class EventType(IntEnum):
    """Record types of the event ring."""

    COMMAND = 1
    CLIENT_EXPIRED = 2
    IPC_UNAVAILABLE = 3
    IPC_GONE = 4
    IPC_COOLED_DOWN = 5
    SPIES_DRAINED = 6
    PUBLICATION_GONE = 7
    IMAGE_UNAVAILABLE = 8
    IMAGE_GONE = 9
    SEND_ENDPOINT_GONE = 10
    RECEIVE_ENDPOINT_GONE = 11
    SUBSCRIBER_UNAVAILABLE = 12
    SUBSCRIBER_AVAILABLE = 13
    SUBSCRIBER_CLOSED = 14
    SETUP = 15
    PUBLICATION_ERROR = 16
    RECEIVE_DESTINATION_GONE = 17
    ADDRESS_SILENT = 18
    RESPONSE_SETUP = 19
    RESPONSE_CONNECTED = 20
    SUBSCRIBER_RESTING = 21


class CommandEvent(NamedTuple):
    """A client's bytes, and when the core took them."""

    taken_ns: int
    type_id: int
    message: bytes


class SubscriberEvent(NamedTuple):
    """An untethered subscriber of a publication or image changed its state."""

    resource_id: int
    subscription_id: int


class SilentEvent(NamedTuple):
    """Nothing was heard of whom an address names: ``destination_id`` is -1 for the endpoint's own address."""

    endpoint_id: int
    destination_id: int
    is_receive: bool


class ResponseEvent(NamedTuple):
    """A publication heard which session answers it, or that its receiver is there."""

    registration_id: int
    session_id: int


class SetupEvent(NamedTuple):
    """A stream that no image receives yet; addresses are bytes of a ``sockaddr_storage``."""

    endpoint_id: int
    destination_id: int
    session_id: int
    stream_id: int
    initial_term_id: int
    active_term_id: int
    term_offset: int
    term_length: int
    mtu: int
    ttl: int
    flags: int
    source: bytes
    control: bytes


class PublicationErrorEvent(NamedTuple):
    """An error frame of a receiver."""

    registration_id: int
    receiver_id: int
    group_tag: int
    destination_id: int
    session_id: int
    stream_id: int
    error_code: int
    source: bytes
    text: bytes


_COMMAND: Final = struct.Struct("<qii")
_RESOURCE: Final = struct.Struct("<q")
_SUBSCRIBER: Final = struct.Struct("<qq")
_SILENT: Final = struct.Struct("<qqii")
_RESPONSE: Final = struct.Struct("<qii")
_SETUP: Final = struct.Struct("<qqiiiiiiiiii128s128s")
_PUBLICATION_ERROR: Final = struct.Struct("<qqqqiiii128s")


def command(record: bytes) -> CommandEvent:
    """Decode COMMAND."""
    taken_ns, type_id, _ = _COMMAND.unpack_from(record)
    return CommandEvent(taken_ns, type_id, record[_COMMAND.size :])


def resource_id(record: bytes) -> int:
    """Decode the events that name one client or resource."""
    return int(_RESOURCE.unpack_from(record)[0])


def subscriber(record: bytes) -> SubscriberEvent:
    """Decode SUBSCRIBER_UNAVAILABLE and kin."""
    return SubscriberEvent(*_SUBSCRIBER.unpack_from(record))


def silent(record: bytes) -> SilentEvent:
    """Decode ADDRESS_SILENT."""
    endpoint, destination, is_receive, _ = _SILENT.unpack_from(record)
    return SilentEvent(endpoint, destination, bool(is_receive))


def response(record: bytes) -> ResponseEvent:
    """Decode RESPONSE_SETUP and RESPONSE_CONNECTED."""
    return ResponseEvent(*_RESPONSE.unpack_from(record)[:2])


def setup(record: bytes) -> SetupEvent:
    """Decode SETUP."""
    fields = _SETUP.unpack_from(record)
    return SetupEvent(*fields[:11], *fields[12:])


def publication_error(record: bytes) -> PublicationErrorEvent:
    """Decode PUBLICATION_ERROR."""
    registration, receiver, tag, destination, session, stream, code, length, source = _PUBLICATION_ERROR.unpack_from(
        record
    )
    text = record[_PUBLICATION_ERROR.size : _PUBLICATION_ERROR.size + length]
    return PublicationErrorEvent(registration, receiver, tag, destination, session, stream, code, source, text)
