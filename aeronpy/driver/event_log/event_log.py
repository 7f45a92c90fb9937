"""What a driver does, in lines for people: the event log of Aeron's drivers (spec: client/driver protocol, 23.7).

Whoever sees an event leaves it here and goes on; a thread of the log's own words and writes it. A file system or a
pipe that takes its time delays nobody: what does not fit into what waits meanwhile is counted, and said to be lost.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final, NamedTuple, Self, TextIO

from aeronpy import __version__
from aeronpy.config import nearest_text
from aeronpy.driver.conductor.replies import Reply
from aeronpy.driver.event_log import event_texts
from aeronpy.driver.event_log.log_events import NAMES, NEVER_HERE, LogEvent, parse_events
from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.loggers import logger_of
from aeronpy.protocol import CommandType

THREAD_NAME: Final = "aeron-md-log"
WAITING_MAX: Final = 64 << 10
_GRACE_S: Final = 2.0
_NANOS: Final = 1_000_000_000

_log: Final = logger_of(__name__)

_BY_COMMAND: Final = {
    command: LogEvent[f"CMD_IN_{command.name}"]
    for command in CommandType
    if f"CMD_IN_{command.name}" in LogEvent.__members__
}


class _Waiting(NamedTuple):
    """One event that has no line yet; ``taken`` and ``length`` are bytes: of what is here, and of what there was."""

    time_ns: int
    event: LogEvent
    text: Callable[[], str]
    taken: int
    length: int


class EventLog:
    """Writes a line for each enabled event. All but `close` belongs to the decision thread; none of it waits."""

    def __init__(
        self, events: Iterable[LogEvent], filename: str, length_max: int, waiting_max: int = WAITING_MAX
    ) -> None:
        """``filename`` empty: standard output; ``length_max``: bytes, 0 for no limit; ``waiting_max``: events that
        have no line yet. Raises OSError where the file cannot be written."""
        self._events = frozenset(events)
        self._filename = filename
        self._length_max = length_max
        self._waiting_max = waiting_max
        self._rotations = 0
        self._waiting: deque[_Waiting] = deque()
        self._lost = 0
        self._is_closed = False
        self._woken = threading.Event()
        self._file: TextIO = sys.stdout
        self._open()
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
        self._thread.start()

    @classmethod
    def of(cls, context: MediaDriverContext) -> Self | None:
        """The log that the settings ask for; None for none."""
        events, unknown = parse_events(context.event_log)
        without, unknown_too = parse_events(context.event_log_disable)
        for word in unknown + unknown_too:
            _log.warning("unknown event code: %r%s", word, nearest_text(word, NAMES))
        events -= without
        if not events:
            return None
        if events <= NEVER_HERE:
            _log.warning(
                "the event log stays empty: this driver has no occasion for %s",
                ", ".join(event.name for event in sorted(events)),
            )
        return cls(events, context.event_log_filename, context.event_log_file_max_length)

    @property
    def events(self) -> frozenset[LogEvent]:
        """Those that are enabled."""
        return self._events

    # --- whoever sees events ---

    def note(self, event: LogEvent, text: str, length: int = 0) -> None:
        """A line, where the event is enabled; ``length``: bytes of the message that it is about."""
        if event in self._events:
            self.put(time.monotonic_ns(), event, lambda: text, length, length)

    def put(self, time_ns: int, event: LogEvent, text: Callable[[], str], taken: int, length: int) -> None:
        """A line of an event that was at ``time_ns``; ``text`` is called on the log's thread."""
        if self._is_closed or event not in self._events:
            return
        if len(self._waiting) >= self._waiting_max:
            self._lost += 1
            return
        self._waiting.append(_Waiting(time_ns, event, text, taken, length))
        self._woken.set()

    def lose(self, count: int) -> None:
        """So many events had no room on their way here."""
        self._lost += count
        self._woken.set()

    def on_command(self, type_id: int, message: bytes) -> None:
        """A client asked for something."""
        event = _BY_COMMAND.get(type_id)  # type: ignore[call-overload]
        if event in self._events:
            length = len(message)
            self.put(time.monotonic_ns(), event, lambda: event_texts.of_command(type_id, message), length, length)

    def on_reply(self, reply: Reply) -> None:
        """Clients are told something."""
        found = event_texts.of_reply(reply)
        if found is not None:
            name, text = found
            self.put(
                time.monotonic_ns(), LogEvent[name], lambda: text(reply.message), len(reply.message), len(reply.message)
            )

    # --- the log's thread ---

    def _run(self) -> None:
        try:
            self._write_until_closed()
        finally:
            if self._filename:
                with contextlib.suppress(OSError):  # said before, if it is full
                    self._file.close()

    def _write_until_closed(self) -> None:
        told = 0
        while True:
            self._woken.wait()
            self._woken.clear()
            is_last = self._is_closed
            lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
            for one in sorted(lines, key=lambda one: one.time_ns):
                self._write(one.time_ns, f"DRIVER: {one.event.name} [{one.taken}/{one.length}]: {_text(one)}")
            if self._lost != told:
                self._write(time.monotonic_ns(), f"DRIVER: {self._lost - told} events were lost: too many at once")
                told = self._lost
            self._flush()
            if is_last:
                return

    def _open(self) -> None:
        if self._filename:
            self._file = open(self._filename, "a", encoding="utf-8")  # noqa: SIM115 -- lives as long as the log
        now = datetime.now().astimezone()
        self._write(
            time.monotonic_ns(),
            f"log started {now:%Y-%m-%d %H:%M:%S}.{now.microsecond // 1000:03d}{now:%z}, "
            f"enabled loggers: {{DRIVER: version={__version__} commit=aeronpy}}",
        )
        self._flush()

    def _write(self, time_ns: int, text: str) -> None:
        if not self._events:
            return
        try:
            self._file.write(f"[{time_ns // _NANOS}.{time_ns % _NANOS:09d}] {text}\n")
            if self._filename and self._length_max and self._file.tell() > self._length_max:
                self._rotate()
        except (OSError, ValueError) as error:
            self._end(error)

    def _flush(self) -> None:
        try:
            self._file.flush()
        except (OSError, ValueError) as error:
            self._end(error)

    def _end(self, error: Exception) -> None:
        """A full disk or a closed pipe ends the log, not the driver."""
        if self._events:
            self._events = frozenset()
            _log.warning("the event log ends: %s", error)

    def _rotate(self) -> None:
        """Put the file aside as ``.1``, ``.2`` and so on, the oldest first."""
        self._file.close()
        self._rotations += 1
        os.replace(self._filename, f"{self._filename}.{self._rotations}")
        self._open()

    def close(self) -> None:
        """Write what waits, for two seconds at most, and no more lines. Safe twice."""
        self._is_closed = True
        self._woken.set()
        self._thread.join(_GRACE_S)
        if self._thread.is_alive():
            _log.warning("the event log's file does not take its last lines: they are left")


def _text(waiting: _Waiting) -> str:
    try:
        return waiting.text()
    except Exception as error:  # one event that cannot be worded is no reason to lose the others
        return f"cannot be worded: {type(error).__name__}: {error}"
