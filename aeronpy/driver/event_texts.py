"""Commands and answers as the event log words them: names and values, as the C driver writes them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from aeronpy.driver import commands, replies
from aeronpy.errors import AeronError

# How fields of commands are called in lines.
_NAMES: Final = {
    "client_id": "clientId",
    "correlation_id": "correlationId",
    "registration_id": "registrationId",
    "stream_id": "streamId",
    "type_id": "typeId",
    "image_correlation_id": "imageCorrelationId",
    "destination_id": "destinationRegistrationId",
    "is_revoke": "revoke",
}
_LEFT_OUT: Final = {"is_exclusive", "type"}


def of_command(type_id: int, message: bytes) -> str:
    """``name=value`` of a command's fields; what cannot be read is said to be so."""
    try:
        command = commands.decode(type_id, message)
    except AeronError as error:
        return f"malformed: {error}"
    fields: dict[str, Any] = {name: value for name, value in command._asdict().items() if name not in _LEFT_OUT}
    return " ".join(f"{_NAMES.get(name, name)}={_text(value)}" for name, value in fields.items())


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace") if value.isascii() else value.hex()
    return str(value)


def _tail(message: bytes, at: int) -> str:
    """A text whose length stands before it."""
    (length,) = struct.unpack_from("<i", message, at)
    return message[at + 4 : at + 4 + length].decode("utf-8", "replace")


def _publication(message: bytes) -> str:
    correlation, registration, session, stream, limit, status = struct.unpack_from("<qqiiii", message)
    return (
        f"sessionId={session} streamId={stream} publicationLimitCounterId={limit} channelStatusCounterId={status} "
        f"correlationId={correlation} registrationId={registration} logFileName={_tail(message, 32)}"
    )


def _subscription(message: bytes) -> str:
    return "correlationId={} channelStatusCounterId={}".format(*struct.unpack_from("<qi", message))


def _available(message: bytes) -> str:
    image, session, stream, subscription, position, length = struct.unpack_from("<qiiqii", message)
    source = _tail(message, 32 + length + -length % 4)
    return (
        f"sessionId={session} streamId={stream} subscriberPositionId={position} "
        f"subscriptionRegistrationId={subscription} correlationId={image} sourceIdentity={source} "
        f"logFileName={_tail(message, 28)}"
    )


def _unavailable(message: bytes) -> str:
    image, subscription, stream = struct.unpack_from("<qqi", message)
    return (
        f"streamId={stream} correlationId={image} subscriptionRegistrationId={subscription} "
        f"channel={_tail(message, 20)}"
    )


def _error(message: bytes) -> str:
    correlation, code = struct.unpack_from("<qi", message)
    return f"offendingCommandCorrelationId={correlation} errorCode={code} message={_tail(message, 12)}"


def _counter(message: bytes) -> str:
    return "correlationId={} counterId={}".format(*struct.unpack_from("<qi", message))


def _success(message: bytes) -> str:
    return "correlationId={}".format(*struct.unpack_from("<q", message))


def _timeout(message: bytes) -> str:
    return "clientId={}".format(*struct.unpack_from("<q", message))


_REPLIES: Final[dict[int, tuple[str, Callable[[bytes], str]]]] = {
    replies.ON_ERROR: ("CMD_OUT_ERROR", _error),
    replies.ON_AVAILABLE_IMAGE: ("CMD_OUT_AVAILABLE_IMAGE", _available),
    replies.ON_PUBLICATION_READY: ("CMD_OUT_PUBLICATION_READY", _publication),
    replies.ON_OPERATION_SUCCESS: ("CMD_OUT_ON_OPERATION_SUCCESS", _success),
    replies.ON_UNAVAILABLE_IMAGE: ("CMD_OUT_ON_UNAVAILABLE_IMAGE", _unavailable),
    replies.ON_EXCLUSIVE_PUBLICATION_READY: ("CMD_OUT_EXCLUSIVE_PUBLICATION_READY", _publication),
    replies.ON_SUBSCRIPTION_READY: ("CMD_OUT_SUBSCRIPTION_READY", _subscription),
    replies.ON_COUNTER_READY: ("CMD_OUT_COUNTER_READY", _counter),
    replies.ON_UNAVAILABLE_COUNTER: ("CMD_OUT_ON_UNAVAILABLE_COUNTER", _counter),
    replies.ON_CLIENT_TIMEOUT: ("CMD_OUT_ON_CLIENT_TIMEOUT", _timeout),
    replies.ON_STATIC_COUNTER: ("CMD_OUT_COUNTER_READY", _counter),
}


def of_reply(reply: replies.Reply) -> tuple[str, str] | None:
    """The event of an answer, and its words; None for one that has no event."""
    known = _REPLIES.get(reply.type_id)
    return None if known is None else (known[0], known[1](reply.message))
