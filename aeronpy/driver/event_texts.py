"""Commands and answers as the event log words them: names and values, as the C driver writes them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from aeronpy.driver import commands, replies
from aeronpy.driver.error_code import ErrorCode
from aeronpy.errors import AeronError

_Text = Callable[[bytes], str]


def of_command(type_id: int, message: bytes) -> str:
    """``name=value`` of a command's fields; what cannot be read is said to be so."""
    try:
        return _of_command(commands.decode(type_id, message))
    except AeronError as error:
        return f"malformed: {error}"


def _of_command(command: commands.Command) -> str:
    who = f"clientId={command.client_id} correlationId={command.correlation_id}"
    match command:
        case commands.AddPublication():
            return f"streamId={command.stream_id} {who} channel={command.channel}"
        case commands.RemovePublication():
            return f"registrationId={command.registration_id} {who} revoke={str(command.is_revoke).lower()}"
        case commands.AddSubscription():
            return f"streamId={command.stream_id} {who} channel={command.channel}"
        case commands.RemoveSubscription() | commands.RemoveCounter():
            return f"registrationId={command.registration_id} {who}"
        case commands.Destination():
            return f"registrationCorrelationId={command.registration_id} {who} channel={command.channel}"
        case commands.RemoveDestinationById():
            return (
                f"resourceRegistrationId={command.registration_id} "
                f"destinationRegistrationId={command.destination_id} {who}"
            )
        case commands.AddCounter() | commands.AddStaticCounter():
            return f"typeId={command.type_id} key={command.key.hex()} label={_printable(command.label)} {who}"
        case commands.RejectImage():
            return (
                f"{who} imageCorrelationId={command.image_correlation_id} position={command.position} "
                f"reason={_printable(command.reason)}"
            )
        case commands.TerminateDriver():  # the token is a secret
            return f"clientId={command.client_id} tokenBufferLength={len(command.token)}"
        case _:
            return who


def _printable(text: bytes) -> str:
    """One line, whatever is in it."""
    return text.decode("ascii", "backslashreplace").replace("\n", "\\n").replace("\r", "\\r")


def _tail(message: bytes, at: int) -> str:
    """A text whose length stands before it."""
    (length,) = struct.unpack_from("<i", message, at)
    return _printable(message[at + 4 : at + 4 + length])


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
    known = code if code in _ERRORS else -1
    return f"offendingCommandCorrelationId={correlation} errorCode={_ERRORS[known]} message={_tail(message, 12)}"


def _counter(message: bytes) -> str:
    return "correlationId={} counterId={}".format(*struct.unpack_from("<qi", message))


def _success(message: bytes) -> str:
    return "correlationId={}".format(*struct.unpack_from("<q", message))


def _timeout(message: bytes) -> str:
    return "clientId={}".format(*struct.unpack_from("<q", message))


_ERRORS: Final = {code.value: code.name.lower().replace("_", " ") for code in ErrorCode} | {
    ErrorCode.UNKNOWN_CODE_VALUE: "unknown error code",
    ErrorCode.UNUSED: "generic error, see message",
    ErrorCode.GENERIC_ERROR: "generic error, see message",
    ErrorCode.STORAGE_SPACE: "insufficient storage space",
}

_REPLIES: Final[dict[int, tuple[str, _Text]]] = {
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
}


def of_reply(reply: replies.Reply) -> tuple[str, _Text] | None:
    """The event of an answer, and what words its bytes; None for one that has no event."""
    return _REPLIES.get(reply.type_id)
