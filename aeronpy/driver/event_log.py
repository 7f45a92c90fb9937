"""What a driver does, in lines for people: the event log of Aeron's drivers (spec: client/driver protocol, 23.7).

It sees what the thread that decides sees: commands, answers, channels, clean-up, states. What sender and receiver
do per frame (frames, NAKs, resends) is counted, not logged: their threads write no lines.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterable
from datetime import datetime
from enum import IntEnum
from typing import Final, Self, TextIO

from aeronpy import __version__
from aeronpy.config import nearest_text
from aeronpy.driver import commands, event_texts
from aeronpy.driver.context import MediaDriverContext
from aeronpy.driver.replies import Reply

_log: Final = logging.getLogger(__name__)


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
    TEXT_DATA = 51
    NAME_RESOLUTION_LOOKUP = 52
    NAME_RESOLUTION_HOST_NAME = 53
    NAK_SENT = 54
    RESEND = 55
    CMD_IN_REMOVE_DESTINATION_BY_ID = 56
    CMD_IN_REJECT_IMAGE = 57
    NAK_RECEIVED = 58
    PUBLICATION_REVOKE = 59
    PUBLICATION_IMAGE_REVOKE = 60


_FRAMES: Final = frozenset({LogEvent.FRAME_IN, LogEvent.FRAME_OUT})
_PER_FRAME: Final = _FRAMES | {LogEvent.NAK_SENT, LogEvent.NAK_RECEIVED, LogEvent.RESEND}
_BY_COMMAND: Final = {
    command: LogEvent[f"CMD_IN_{command.name}"]
    for command in commands.CommandType
    if f"CMD_IN_{command.name}" in LogEvent.__members__
}


def parse_events(text: str) -> tuple[set[LogEvent], list[str]]:
    """The events that a setting names, and the words in it that name none.

    ``all``, ``admin`` (all but frames), names, numbers; or a mask ``0x..``: 1 commands, 2 answers, 4 frames in,
    8 frames out, any greater bit all the rest.
    """
    if text.strip().lower().startswith("0x"):
        return _of_mask(text.strip())
    found: set[LogEvent] = set()
    unknown = []
    for word in filter(None, map(str.strip, text.split(","))):
        if word == "all":
            found |= set(LogEvent)
        elif word == "admin":
            found |= set(LogEvent) - _FRAMES
        elif word in LogEvent.__members__:
            found.add(LogEvent[word])
        elif word.isdigit() and int(word) in LogEvent.__members__.values():
            found.add(LogEvent(int(word)))
        else:
            unknown.append(word)
    return found, unknown


def _of_mask(text: str) -> tuple[set[LogEvent], list[str]]:
    try:
        mask = int(text, 16)
    except ValueError:
        return set(), [text]

    def bit_of(event: LogEvent) -> int:
        if event in _FRAMES:
            return 4 if event is LogEvent.FRAME_IN else 8
        return 1 if event.name.startswith("CMD_IN") else 2 if event.name.startswith("CMD_OUT") else ~15

    return {event for event in LogEvent if mask & bit_of(event)}, []


class EventLog:
    """Writes a line for each enabled event. All but `close` belongs to the decision thread."""

    def __init__(self, events: Iterable[LogEvent], filename: str, length_max: int) -> None:
        """``filename`` empty: standard output. Raises OSError where the file cannot be written."""
        self._events = frozenset(events)
        self._filename = filename
        self._length_max = length_max
        self._rotations = 0
        self._file: TextIO = sys.stdout
        self._open()

    @classmethod
    def of(cls, context: MediaDriverContext) -> Self | None:
        """The log that the settings ask for; None for none."""
        events, unknown = parse_events(context.event_log)
        without, unknown_too = parse_events(context.event_log_disable)
        for word in unknown + unknown_too:
            _log.warning("unknown event code: %r%s", word, nearest_text(word, LogEvent.__members__))
        events -= without
        if not events:
            return None
        for event in sorted(events & _PER_FRAME) if context.event_log not in ("all", "admin") else ():
            _log.warning("%s is not logged by this driver: its threads that move frames write no lines", event.name)
        return cls(events, context.event_log_filename, context.event_log_file_max_length)

    def _open(self) -> None:
        if self._filename:
            self._file = open(self._filename, "w", encoding="utf-8")  # noqa: SIM115 -- lives as long as the log
        now = datetime.now().astimezone()
        self._write(
            f"log started {now:%Y-%m-%d %H:%M:%S}.{now.microsecond // 1000:03d}{now:%z}, "
            f"enabled loggers: {{DRIVER: version={__version__} commit=aeronpy}}"
        )

    def _write(self, text: str) -> None:
        seconds, nanoseconds = divmod(time.monotonic_ns(), 1_000_000_000)
        try:
            self._file.write(f"[{seconds}.{nanoseconds:09d}] {text}\n")
            self._file.flush()
        except (OSError, ValueError) as error:  # a full disk or a closed pipe ends the log, not the driver
            self._events = frozenset()
            _log.warning("the event log ends: %s", error)

    def note(self, event: LogEvent, text: str, length: int = 0) -> None:
        """A line, where the event is enabled; ``length``: bytes of the message that it is about."""
        if event not in self._events:
            return
        self._write(f"DRIVER: {event.name} [{length}/{length}]: {text}")
        if self._filename and self._length_max and self._file.tell() > self._length_max:
            self._rotate()

    def _rotate(self) -> None:
        """Put the file aside as ``.1``, ``.2`` and so on, the oldest first."""
        self._file.close()
        self._rotations += 1
        try:
            os.replace(self._filename, f"{self._filename}.{self._rotations}")
            self._open()
        except OSError as error:
            self._events = frozenset()
            _log.warning("the event log ends: %s", error)

    def on_command(self, type_id: int, message: bytes) -> None:
        """A client asked for something."""
        event = _BY_COMMAND.get(type_id)  # type: ignore[call-overload]
        if event in self._events:
            self.note(event, event_texts.of_command(type_id, message), len(message))

    def on_reply(self, reply: Reply) -> None:
        """Clients are told something."""
        found = event_texts.of_reply(reply)
        if found is not None:
            self.note(LogEvent[found[0]], found[1], len(reply.message))

    def close(self) -> None:
        """No more lines. Safe twice."""
        self._events = frozenset()
        if self._filename:
            self._file.close()
