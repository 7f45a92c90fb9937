"""What clients and drivers call things when they speak: commands, replies, error codes.

Source: client/driver protocol, sections 2, 4 and 6.
"""

from __future__ import annotations

from enum import IntEnum


class CommandType(IntEnum):
    """What a client asks for: message types of the to-driver ring."""

    ADD_PUBLICATION = 0x01
    REMOVE_PUBLICATION = 0x02
    ADD_EXCLUSIVE_PUBLICATION = 0x03
    ADD_SUBSCRIPTION = 0x04
    REMOVE_SUBSCRIPTION = 0x05
    CLIENT_KEEPALIVE = 0x06
    ADD_DESTINATION = 0x07
    REMOVE_DESTINATION = 0x08
    ADD_COUNTER = 0x09
    REMOVE_COUNTER = 0x0A
    CLIENT_CLOSE = 0x0B
    ADD_RCV_DESTINATION = 0x0C
    REMOVE_RCV_DESTINATION = 0x0D
    TERMINATE_DRIVER = 0x0E
    ADD_STATIC_COUNTER = 0x0F
    REJECT_IMAGE = 0x10
    REMOVE_DESTINATION_BY_ID = 0x11
    GET_NEXT_AVAILABLE_SESSION_ID = 0x12


class ReplyType(IntEnum):
    """What a driver tells its clients: message types of the broadcast buffer."""

    ON_ERROR = 0x0F01
    ON_AVAILABLE_IMAGE = 0x0F02
    ON_PUBLICATION_READY = 0x0F03
    ON_OPERATION_SUCCESS = 0x0F04
    ON_UNAVAILABLE_IMAGE = 0x0F05
    ON_EXCLUSIVE_PUBLICATION_READY = 0x0F06
    ON_SUBSCRIPTION_READY = 0x0F07
    ON_COUNTER_READY = 0x0F08
    ON_UNAVAILABLE_COUNTER = 0x0F09
    ON_CLIENT_TIMEOUT = 0x0F0A
    ON_STATIC_COUNTER = 0x0F0B
    ON_PUBLICATION_ERROR = 0x0F0C
    ON_NEXT_AVAILABLE_SESSION_ID = 0x0F0D


class ErrorCode(IntEnum):
    """Why a driver refused a command."""

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

    @classmethod
    def of(cls, value: int) -> ErrorCode:
        """The code of a number, UNKNOWN_CODE_VALUE for strange ones."""
        try:
            return cls(value)
        except ValueError:
            return cls.UNKNOWN_CODE_VALUE
