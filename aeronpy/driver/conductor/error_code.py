"""The codes with which a driver refuses a command (spec: client/driver protocol, section 6)."""

from __future__ import annotations

from enum import IntEnum

from aeronpy.errors import (
    AeronError,
    ChannelError,
    CorruptError,
    RegistrationError,
    StorageError,
)


class ErrorCode(IntEnum):
    """Wire values of ON_ERROR."""

    UNKNOWN_CODE_VALUE = -1
    UNUSED = 0
    INVALID_CHANNEL = 1
    UNKNOWN_SUBSCRIPTION = 2
    UNKNOWN_PUBLICATION = 3
    CHANNEL_ENDPOINT_ERROR = 4
    UNKNOWN_COUNTER = 5
    UNKNOWN_COMMAND_TYPE_ID = 6
    MALFORMED_COMMAND = 7
    NOT_SUPPORTED = 8
    UNKNOWN_HOST = 9
    RESOURCE_TEMPORARILY_UNAVAILABLE = 10
    GENERIC_ERROR = 11
    STORAGE_SPACE = 12
    IMAGE_REJECTED = 13
    PUBLICATION_REVOKED = 14


def refuse(code: ErrorCode, text: str) -> RegistrationError:
    """The error that makes the driver answer a command with ``code``."""
    return RegistrationError(text, error_code=code)


def code_of(error: BaseException) -> ErrorCode:
    """The wire code of any failure of a command."""
    if isinstance(error, RegistrationError):
        return ErrorCode(error.error_code)
    if isinstance(error, StorageError):
        return ErrorCode.STORAGE_SPACE
    if isinstance(error, ChannelError):
        return ErrorCode.INVALID_CHANNEL
    if isinstance(error, CorruptError):
        return ErrorCode.MALFORMED_COMMAND
    return ErrorCode.GENERIC_ERROR


def text_of(error: BaseException) -> str:
    """One line for the client: the error's own words, with its class where it is not ours."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, AeronError) else f"{type(error).__name__}: {text}"
