"""Refusals of commands: which failure has which code (spec: client/driver protocol, section 6)."""

from __future__ import annotations

from aeronpy.errors import (
    AeronError,
    ChannelError,
    CorruptError,
    RegistrationError,
    StorageError,
)
from aeronpy.protocol import ErrorCode


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
