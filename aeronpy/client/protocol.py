"""Commands that a client sends to its driver, and the events that come back (spec: client/driver protocol, 3 and 5)."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from aeronpy.errors import CorruptError

# What the client's own core tells beside the driver's replies.
CLIENT_TERMINATED: Final = -2

MIN_REJECT_LENGTH: Final = 40
# The protocol takes 1023, but from 1012 on the C driver's conductor stops for ever with a network image.
MAX_REASON_LENGTH: Final = 1011
MAX_KEY_LENGTH: Final = 112
MAX_LABEL_LENGTH: Final = 380


def _text(text: str) -> bytes:
    encoded = text.encode("ascii", "replace")  # one byte for each character, as checked against the limits
    return struct.pack("<i", len(encoded)) + encoded


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def add_publication(client_id: int, correlation_id: int, stream_id: int, channel: str) -> bytes:
    """ADD_PUBLICATION and ADD_EXCLUSIVE_PUBLICATION."""
    return struct.pack("<qqi", client_id, correlation_id, stream_id) + _text(channel)


def remove_publication(client_id: int, correlation_id: int, registration_id: int, revoke: bool) -> bytes:
    """REMOVE_PUBLICATION."""
    return struct.pack("<qqqQ", client_id, correlation_id, registration_id, revoke)


def add_subscription(client_id: int, correlation_id: int, stream_id: int, channel: str) -> bytes:
    """ADD_SUBSCRIPTION."""
    return struct.pack("<qqqi", client_id, correlation_id, -1, stream_id) + _text(channel)


def remove(client_id: int, correlation_id: int, registration_id: int) -> bytes:
    """REMOVE_SUBSCRIPTION and REMOVE_COUNTER."""
    return struct.pack("<qqq", client_id, correlation_id, registration_id)


def destination(client_id: int, correlation_id: int, registration_id: int, channel: str) -> bytes:
    """Adding and removing destinations, of both sides."""
    return struct.pack("<qqq", client_id, correlation_id, registration_id) + _text(channel)


def destination_by_id(client_id: int, correlation_id: int, registration_id: int, destination_id: int) -> bytes:
    """REMOVE_DESTINATION_BY_ID."""
    return struct.pack("<qqqq", client_id, correlation_id, registration_id, destination_id)


def add_counter(client_id: int, correlation_id: int, type_id: int, key: bytes, label: str) -> bytes:
    """ADD_COUNTER."""
    return struct.pack("<qqii", client_id, correlation_id, type_id, len(key)) + _padded(key) + _text(label)


def add_static_counter(  # noqa: PLR0917
    client_id: int, correlation_id: int, registration_id: int, type_id: int, key: bytes, label: str
) -> bytes:
    """ADD_STATIC_COUNTER."""
    head = struct.pack("<qqqii", client_id, correlation_id, registration_id, type_id, len(key))
    return head + _padded(key) + _text(label)


def terminate_driver(client_id: int, correlation_id: int, token: bytes) -> bytes:
    """TERMINATE_DRIVER."""
    return struct.pack("<qqi", client_id, correlation_id, len(token)) + token


def reject_image(client_id: int, correlation_id: int, image_id: int, position: int, reason: str) -> bytes:
    """REJECT_IMAGE, padded to what the C driver insists on."""
    body = struct.pack("<qqqq", client_id, correlation_id, image_id, position) + _text(reason)
    return body.ljust(MIN_REJECT_LENGTH, b"\0")


def next_session_id(client_id: int, correlation_id: int, stream_id: int) -> bytes:
    """GET_NEXT_AVAILABLE_SESSION_ID."""
    return struct.pack("<qqi", client_id, correlation_id, stream_id)


def _read_text(body: bytes, offset: int) -> str:
    if offset + 4 > len(body):
        raise CorruptError(f"an event of {len(body)} bytes has no text at offset {offset}")
    (length,) = struct.unpack_from("<i", body, offset)
    if length < 0 or offset + 4 + length > len(body):
        raise CorruptError(f"an event of {len(body)} bytes says a text of {length} at offset {offset}")
    return body[offset + 4 : offset + 4 + length].decode("utf-8", "replace")


def _fields(layout: str, body: bytes) -> tuple[int, ...]:
    if len(body) < struct.calcsize(layout):
        raise CorruptError(f"an event of {len(body)} bytes: at least {struct.calcsize(layout)} are needed")
    return struct.unpack_from(layout, body)


class PublicationReady(NamedTuple):
    """ON_PUBLICATION_READY and ON_EXCLUSIVE_PUBLICATION_READY."""

    correlation_id: int
    registration_id: int
    session_id: int
    stream_id: int
    position_limit_id: int
    channel_status_id: int
    log_path: str

    @classmethod
    def parse(cls, body: bytes) -> PublicationReady:
        """Read an event's body; CorruptError."""
        correlation_id, registration_id, session, stream, limit_id, status_id = _fields("<qqiiii", body)
        path = _read_text(body, 32)
        return cls(correlation_id, registration_id, session, stream, limit_id, status_id, path)


class AvailableImage(NamedTuple):
    """ON_AVAILABLE_IMAGE."""

    correlation_id: int
    session_id: int
    stream_id: int
    subscription_id: int
    position_id: int
    log_path: str
    source_identity: str

    @classmethod
    def parse(cls, body: bytes) -> AvailableImage:
        """Read an event's body; CorruptError."""
        correlation_id, session, stream, subscription_id, position_id = _fields("<qiiqi", body)
        path = _read_text(body, 28)
        (path_length,) = struct.unpack_from("<i", body, 28)
        source = _read_text(body, 32 + (path_length + 3) // 4 * 4)
        return cls(correlation_id, session, stream, subscription_id, position_id, path, source)


class PublicationError(NamedTuple):
    """An error frame that came for a publication: which destination, session and receiver, and what it says.

    ``registration_id`` is the publication's original one; ids that do not apply are -1.
    """

    registration_id: int
    destination_id: int
    session_id: int
    stream_id: int
    receiver_id: int
    group_tag: int
    source: str
    error_code: int
    message: str

    @classmethod
    def parse(cls, body: bytes) -> PublicationError:
        """Read an event's body; CorruptError."""
        registration, destination_id, session, stream, receiver, tag, family, port = _fields("<qqiiqqhH", body)
        (code,) = _fields("<60xi", body)
        source = ""
        if family:
            import ipaddress
        if family == 1:
            source = f"{ipaddress.IPv4Address(body[44:48])}:{port}"
        elif family == 2:
            source = f"[{ipaddress.IPv6Address(body[44:60])}]:{port}"
        return cls(registration, destination_id, session, stream, receiver, tag, source, code, _read_text(body, 64))


def parse_error(body: bytes) -> tuple[int, int, str]:
    """Correlation id, code and text of ON_ERROR."""
    correlation_id, code = _fields("<qi", body)
    return correlation_id, code, _read_text(body, 12)


def parse_unavailable_image(body: bytes) -> tuple[int, int]:
    """Image's and subscription's ids of ON_UNAVAILABLE_IMAGE."""
    image_id, subscription_id = _fields("<qq", body)
    return image_id, subscription_id


def parse_pair(body: bytes) -> tuple[int, int]:
    """The i64 and the i32 that small events are made of."""
    first, second = _fields("<qi", body)
    return first, second


def parse_id(body: bytes) -> int:
    """The i64 that an event begins with."""
    return _fields("<q", body)[0]
