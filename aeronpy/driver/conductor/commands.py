"""What clients ask of a driver, decoded from the to-driver ring (spec: client/driver protocol, sections 2 and 3)."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from aeronpy.driver.conductor.refusals import refuse
from aeronpy.protocol import CommandType, ErrorCode


class AddPublication(NamedTuple):
    """0x01 and 0x03."""

    client_id: int
    correlation_id: int
    stream_id: int
    channel: str
    is_exclusive: bool


class RemovePublication(NamedTuple):
    """0x02."""

    client_id: int
    correlation_id: int
    registration_id: int
    is_revoke: bool


class AddSubscription(NamedTuple):
    """0x04."""

    client_id: int
    correlation_id: int
    stream_id: int
    channel: str


class RemoveSubscription(NamedTuple):
    """0x05."""

    client_id: int
    correlation_id: int
    registration_id: int


class Keepalive(NamedTuple):
    """0x06."""

    client_id: int
    correlation_id: int


class Destination(NamedTuple):
    """0x07, 0x08, 0x0C and 0x0D: ``type`` says which."""

    client_id: int
    correlation_id: int
    registration_id: int
    channel: str
    type: CommandType


class AddCounter(NamedTuple):
    """0x09."""

    client_id: int
    correlation_id: int
    type_id: int
    key: bytes
    label: bytes


class RemoveCounter(NamedTuple):
    """0x0A."""

    client_id: int
    correlation_id: int
    registration_id: int


class ClientClose(NamedTuple):
    """0x0B."""

    client_id: int
    correlation_id: int


class TerminateDriver(NamedTuple):
    """0x0E."""

    client_id: int
    correlation_id: int
    token: bytes


class AddStaticCounter(NamedTuple):
    """0x0F."""

    client_id: int
    correlation_id: int
    registration_id: int
    type_id: int
    key: bytes
    label: bytes


class RejectImage(NamedTuple):
    """0x10."""

    client_id: int
    correlation_id: int
    image_correlation_id: int
    position: int
    reason: bytes


class RemoveDestinationById(NamedTuple):
    """0x11."""

    client_id: int
    correlation_id: int
    registration_id: int
    destination_id: int


class NextSessionId(NamedTuple):
    """0x12."""

    client_id: int
    correlation_id: int
    stream_id: int


Command = (
    AddPublication
    | RemovePublication
    | AddSubscription
    | RemoveSubscription
    | Keepalive
    | Destination
    | AddCounter
    | RemoveCounter
    | ClientClose
    | TerminateDriver
    | AddStaticCounter
    | RejectImage
    | RemoveDestinationById
    | NextSessionId
)

_PREFIX: Final = struct.Struct("<qq")
PREFIX_LENGTH: Final = _PREFIX.size


def correlation_id_of(message: bytes) -> int:
    """The correlation id if the message is long enough to have one, else 0."""
    return int(_PREFIX.unpack_from(message)[1]) if len(message) >= _PREFIX.size else 0


def client_id_of(message: bytes) -> int:
    """Who sent it; 0, which is nobody, where it is too short to say."""
    return int(_PREFIX.unpack_from(message)[0]) if len(message) >= PREFIX_LENGTH else 0


class _Reader:
    """Walks over a message and refuses to leave it."""

    def __init__(self, type_id: int, message: bytes) -> None:
        self.type_id = type_id
        self.message = message
        self.offset = 0

    def malformed(self, text: str) -> Exception:
        return refuse(
            ErrorCode.MALFORMED_COMMAND, f"malformed command type={self.type_id} length={len(self.message)}: {text}"
        )

    def take(self, layout: str) -> int:
        size = struct.calcsize(layout)
        if self.offset + size > len(self.message):
            raise self.malformed(f"a field at offset {self.offset} lies beyond the end")
        value = int(struct.unpack_from("<" + layout, self.message, self.offset)[0])
        self.offset += size
        return value

    def i32(self) -> int:
        return self.take("i")

    def i64(self) -> int:
        return self.take("q")

    def data(self) -> bytes:
        length = self.i32()
        if length < 0 or self.offset + length > len(self.message):
            raise self.malformed(f"{length} bytes at offset {self.offset} do not lie within it")
        taken = self.message[self.offset : self.offset + length]
        self.offset += length
        return taken

    def text(self) -> str:
        taken = self.data()
        if not taken.isascii():
            raise refuse(ErrorCode.INVALID_CHANNEL, f"channel {taken!r} is not ASCII")
        return taken.decode("ascii")

    def align(self) -> None:
        self.offset = (self.offset + 3) & ~3


def _remove_publication(reader: _Reader, client: int, correlation: int) -> RemovePublication:
    registration = reader.i64()
    length = len(reader.message)
    if length == 24:
        return RemovePublication(client, correlation, registration, False)
    return RemovePublication(client, correlation, registration, bool(reader.i64() & 1))


def _key_and_label(reader: _Reader) -> tuple[bytes, bytes]:
    key = reader.data()
    reader.align()
    return key, reader.data()


def decode(type_id: int, message: bytes) -> Command:
    """The command in a message; RegistrationError with code 6 or 7 where there is none."""
    try:
        kind = CommandType(type_id)
    except ValueError:
        raise refuse(ErrorCode.UNKNOWN_COMMAND_TYPE_ID, f"unknown command type {type_id}") from None
    reader = _Reader(type_id, message)
    client, correlation = reader.i64(), reader.i64()
    match kind:
        case CommandType.ADD_PUBLICATION | CommandType.ADD_EXCLUSIVE_PUBLICATION:
            stream = reader.i32()
            exclusive = kind is CommandType.ADD_EXCLUSIVE_PUBLICATION
            return AddPublication(client, correlation, stream, reader.text(), exclusive)
        case CommandType.REMOVE_PUBLICATION:
            return _remove_publication(reader, client, correlation)
        case CommandType.ADD_SUBSCRIPTION:
            reader.i64()  # unused, by the protocol
            stream = reader.i32()
            return AddSubscription(client, correlation, stream, reader.text())
        case CommandType.REMOVE_SUBSCRIPTION:
            return RemoveSubscription(client, correlation, reader.i64())
        case CommandType.REMOVE_COUNTER:
            return RemoveCounter(client, correlation, reader.i64())
        case CommandType.CLIENT_KEEPALIVE:
            return Keepalive(client, correlation)
        case CommandType.CLIENT_CLOSE:
            return ClientClose(client, correlation)
        case (
            CommandType.ADD_DESTINATION
            | CommandType.REMOVE_DESTINATION
            | CommandType.ADD_RCV_DESTINATION
            | CommandType.REMOVE_RCV_DESTINATION
        ):
            registration = reader.i64()
            return Destination(client, correlation, registration, reader.text(), kind)
        case CommandType.ADD_COUNTER:
            type_of_counter = reader.i32()
            return AddCounter(client, correlation, type_of_counter, *_key_and_label(reader))
        case CommandType.ADD_STATIC_COUNTER:
            registration, type_of_counter = reader.i64(), reader.i32()
            return AddStaticCounter(client, correlation, registration, type_of_counter, *_key_and_label(reader))
        case CommandType.TERMINATE_DRIVER:
            return TerminateDriver(client, correlation, reader.data())
        case CommandType.REJECT_IMAGE:
            image, position = reader.i64(), reader.i64()
            return RejectImage(client, correlation, image, position, reader.data())
        case CommandType.REMOVE_DESTINATION_BY_ID:
            registration = reader.i64()
            return RemoveDestinationById(client, correlation, registration, reader.i64())
        case CommandType.GET_NEXT_AVAILABLE_SESSION_ID:
            return NextSessionId(client, correlation, reader.i32())
