"""What a driver tells its clients, encoded for the broadcast buffer (spec: client/driver protocol, 4 and 5)."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from aeronpy.protocol import ReplyType

# One sentence; far below an eighth of the smallest broadcast buffer.
ERROR_TEXT_MAX: Final = 1024
_PUBLICATION_ERROR_LENGTH_MIN: Final = 72


class Reply(NamedTuple):
    """One broadcast record."""

    type_id: int
    message: bytes


def error(correlation_id: int, code: int, text: str) -> Reply:
    """A command failed."""
    message = text.encode("ascii", "replace")[:ERROR_TEXT_MAX]
    return Reply(ReplyType.ON_ERROR, struct.pack("<qii", correlation_id, code, len(message)) + message)


def publication_ready(
    correlation_id: int,
    *,
    registration_id: int,
    session_id: int,
    stream_id: int,
    limit_id: int,
    status_id: int,
    path: str,
    is_exclusive: bool,
) -> Reply:
    """A publication can be used; ``registration_id`` is that of the first add."""
    name = path.encode()
    head = struct.pack(
        "<qqiiiii", correlation_id, registration_id, session_id, stream_id, limit_id, status_id, len(name)
    )
    return Reply(
        ReplyType.ON_EXCLUSIVE_PUBLICATION_READY if is_exclusive else ReplyType.ON_PUBLICATION_READY, head + name
    )


def subscription_ready(correlation_id: int, status_id: int) -> Reply:
    """A subscription is known."""
    return Reply(ReplyType.ON_SUBSCRIPTION_READY, struct.pack("<qi", correlation_id, status_id))


def available_image(
    correlation_id: int,
    *,
    session_id: int,
    stream_id: int,
    subscription_id: int,
    position_id: int,
    path: str,
    source_identity: str,
) -> Reply:
    """A subscription can read an image."""
    name, source = path.encode(), source_identity.encode("ascii", "replace")
    head = struct.pack("<qiiqii", correlation_id, session_id, stream_id, subscription_id, position_id, len(name))
    padding = bytes(-len(name) % 4)
    return Reply(ReplyType.ON_AVAILABLE_IMAGE, head + name + padding + struct.pack("<i", len(source)) + source)


def unavailable_image(correlation_id: int, subscription_id: int, stream_id: int, channel: str) -> Reply:
    """A subscription lost an image."""
    name = channel.encode("ascii", "replace")
    return Reply(
        ReplyType.ON_UNAVAILABLE_IMAGE,
        struct.pack("<qqii", correlation_id, subscription_id, stream_id, len(name)) + name,
    )


def operation_success(correlation_id: int) -> Reply:
    """A removal, destination or rejection is done."""
    return Reply(ReplyType.ON_OPERATION_SUCCESS, struct.pack("<q", correlation_id))


def counter_ready(correlation_id: int, counter_id: int) -> Reply:
    """A counter exists."""
    return Reply(ReplyType.ON_COUNTER_READY, struct.pack("<qi", correlation_id, counter_id))


def unavailable_counter(registration_id: int, counter_id: int) -> Reply:
    """A counter is about to be freed."""
    return Reply(ReplyType.ON_UNAVAILABLE_COUNTER, struct.pack("<qi", registration_id, counter_id))


def static_counter(correlation_id: int, counter_id: int) -> Reply:
    """A static counter was found or made."""
    return Reply(ReplyType.ON_STATIC_COUNTER, struct.pack("<qi", correlation_id, counter_id))


def client_timeout(client_id: int) -> Reply:
    """A client is taken for dead."""
    return Reply(ReplyType.ON_CLIENT_TIMEOUT, struct.pack("<q", client_id))


def next_session_id(correlation_id: int, session_id: int) -> Reply:
    """A session id that nobody uses on the stream."""
    return Reply(ReplyType.ON_NEXT_AVAILABLE_SESSION_ID, struct.pack("<qi", correlation_id, session_id))


def publication_error(
    registration_id: int,
    *,
    session_id: int,
    stream_id: int,
    code: int,
    text: bytes,
    receiver_id: int = -1,
    group_tag: int = -1,
    destination_id: int = -1,
    host: str = "127.0.0.1",
    port: int = 0,
) -> Reply:
    """A receiver refused the stream; host and port are where it said so from."""
    import ipaddress

    address = ipaddress.ip_address(host)
    head = struct.pack(
        "<qqiiqqhH16sii",
        registration_id,
        destination_id,
        session_id,
        stream_id,
        receiver_id,
        group_tag,
        1 if address.version == 4 else 2,
        port,
        address.packed,
        code,
        len(text),
    )
    return Reply(ReplyType.ON_PUBLICATION_ERROR, (head + text).ljust(_PUBLICATION_ERROR_LENGTH_MIN, b"\0"))
