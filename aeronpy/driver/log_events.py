"""What an event log may have lines for, and how settings name it (spec: client/driver protocol, 23.7)."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final

_MASK_OF_ALL: Final = 0xFFFF


class LogEvent(IntEnum):
    """Names and numbers that ``AERON_EVENT_LOG`` takes."""

    FRAME_IN = 1
    FRAME_OUT = 2
    CMD_IN_ADD_PUBLICATION = 3
    CMD_IN_REMOVE_PUBLICATION = 4
    CMD_IN_ADD_SUBSCRIPTION = 5
    CMD_IN_REMOVE_SUBSCRIPTION = 6
    CMD_OUT_PUBLICATION_READY = 7
    CMD_OUT_AVAILABLE_IMAGE = 8
    CMD_OUT_ON_OPERATION_SUCCESS = 12
    CMD_IN_KEEPALIVE_CLIENT = 13
    REMOVE_PUBLICATION_CLEANUP = 14
    REMOVE_SUBSCRIPTION_CLEANUP = 15
    REMOVE_IMAGE_CLEANUP = 16
    CMD_OUT_ON_UNAVAILABLE_IMAGE = 17
    SEND_CHANNEL_CREATION = 23
    RECEIVE_CHANNEL_CREATION = 24
    SEND_CHANNEL_CLOSE = 25
    RECEIVE_CHANNEL_CLOSE = 26
    CMD_IN_ADD_DESTINATION = 30
    CMD_IN_REMOVE_DESTINATION = 31
    CMD_IN_ADD_EXCLUSIVE_PUBLICATION = 32
    CMD_OUT_EXCLUSIVE_PUBLICATION_READY = 33
    CMD_OUT_ERROR = 34
    CMD_IN_ADD_COUNTER = 35
    CMD_IN_REMOVE_COUNTER = 36
    CMD_OUT_SUBSCRIPTION_READY = 37
    CMD_OUT_COUNTER_READY = 38
    CMD_OUT_ON_UNAVAILABLE_COUNTER = 39
    CMD_IN_CLIENT_CLOSE = 40
    CMD_IN_ADD_RCV_DESTINATION = 41
    CMD_IN_REMOVE_RCV_DESTINATION = 42
    CMD_OUT_ON_CLIENT_TIMEOUT = 43
    CMD_IN_TERMINATE_DRIVER = 44
    UNTETHERED_SUBSCRIPTION_STATE_CHANGE = 45
    NAME_RESOLUTION_NEIGHBOR_ADDED = 46
    NAME_RESOLUTION_NEIGHBOR_REMOVED = 47
    FLOW_CONTROL_RECEIVER_ADDED = 48
    FLOW_CONTROL_RECEIVER_REMOVED = 49
    NAME_RESOLUTION_RESOLVE = 50
    GENERIC_MESSAGE = 51
    NAME_RESOLUTION_LOOKUP = 52
    NAME_RESOLUTION_HOST_NAME = 53
    NAK_SENT = 54
    RESEND = 55
    CMD_IN_REMOVE_DESTINATION_BY_ID = 56
    CMD_IN_REJECT_IMAGE = 57
    NAK_RECEIVED = 58
    PUBLICATION_REVOKE = 59
    PUBLICATION_IMAGE_REVOKE = 60


FRAMES: Final = frozenset({LogEvent.FRAME_IN, LogEvent.FRAME_OUT})
NEVER_HERE: Final = frozenset({LogEvent.GENERIC_MESSAGE, LogEvent.NAME_RESOLUTION_HOST_NAME})
"""Those that this driver has no occasion for: it has no messages of plug-ins, and does not look up its own name."""

# What other releases and the Java driver call them.
_OTHER_NAMES: Final = {
    "SEND_NAK_MESSAGE": LogEvent.NAK_SENT,
    "TEXT_DATA": LogEvent.GENERIC_MESSAGE,
    "CMD_IN_CLIENT_KEEPALIVE": LogEvent.CMD_IN_KEEPALIVE_CLIENT,
}
NAMES: Final = {**LogEvent.__members__, **_OTHER_NAMES}

# A mask, from when events had no names: what each bit enables.
_MASK_BITS: Final[tuple[tuple[int, Callable[[LogEvent], bool]], ...]] = (
    (0x1, lambda event: event.name.startswith("CMD_IN")),
    (0x2, lambda event: event.name.startswith("CMD_OUT")),
    (0x4, lambda event: event is LogEvent.FRAME_IN),
    (0x8 | 0x10, lambda event: event is LogEvent.FRAME_OUT),
    (0x80, lambda event: event is LogEvent.UNTETHERED_SUBSCRIPTION_STATE_CHANGE),
)


def parse_events(text: str) -> tuple[set[LogEvent], list[str]]:
    """The events that a setting names, and the words in it that name none.

    Words stand between commas: ``all``, ``admin`` (all but frames), names, numbers, or a mask ``0x..``: 1 commands,
    2 answers, 4 frames in, 8 or 0x10 frames out, 0x80 untethered subscriptions; 0xffff and more is all.
    """
    found: set[LogEvent] = set()
    unknown = []
    for word in filter(None, map(str.strip, text.split(","))):
        named = _of_word(word)
        if named is None:
            unknown.append(word)
        else:
            found |= named
    return found, unknown


def _of_word(word: str) -> set[LogEvent] | None:
    if word == "all":
        return set(LogEvent)
    if word == "admin":
        return set(LogEvent) - FRAMES
    if word in NAMES:
        return {NAMES[word]}
    if word.startswith("0x"):
        try:
            return _of_mask(int(word, 16))
        except ValueError:
            return None
    if word.isdecimal() and int(word) in LogEvent.__members__.values():
        return {LogEvent(int(word))}
    return None


def _of_mask(mask: int) -> set[LogEvent]:
    if mask >= _MASK_OF_ALL:
        return set(LogEvent)
    return {event for event in LogEvent if any(mask & bits and means(event) for bits, means in _MASK_BITS)}
