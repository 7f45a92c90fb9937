"""What threads in C leave for the event log, taken from the core and handed on."""

from __future__ import annotations

import functools
from typing import Final, Self

from aeronpy._core.native import DriverCore
from aeronpy.driver.event_log import EventLog
from aeronpy.driver.log_events import LogEvent
from aeronpy.driver.trace_texts import Record, mask_of, of_record

RECORDS_PER_DRAIN: Final = 1000
_NAMES_MAX: Final = 8192


class Trace:
    """Of one driver, where its event log wants what only C sees. Belongs to the decision thread, and never waits."""

    def __init__(self, core: DriverCore, log: EventLog, mask: int) -> None:
        self._core = core
        self._log = log
        self._channels: dict[int, str] = {}
        self._dropped = 0
        core.start_trace(mask)

    @classmethod
    def of(cls, core: DriverCore, log: EventLog) -> Self | None:
        """The trace of a driver that has no endpoints yet; None where the log wants nothing of it."""
        mask = mask_of(log.events)
        return cls(core, log, mask) if mask else None

    def name_endpoint(self, endpoint_id: int, channel: str) -> None:
        """Lines about an endpoint will have its channel, also when it is gone: of the last thousands."""
        self._channels[endpoint_id] = channel
        if len(self._channels) > _NAMES_MAX:
            del self._channels[next(iter(self._channels))]

    def drain(self) -> int:
        """Hand on what is there, up to a limit; how many records that were."""
        found = self._core.poll_trace(RECORDS_PER_DRAIN)
        for one in found:
            record = Record(*one)
            text = functools.partial(of_record, record, self._channel_of)
            self._log.put(record.time_ns, LogEvent(record.event), text, len(record.body), record.length)
        dropped = self._core.trace_dropped()
        if dropped != self._dropped:
            self._log.lose(dropped - self._dropped)
            self._dropped = dropped
        return len(found)

    def _channel_of(self, endpoint_id: int) -> str:
        return self._channels.get(endpoint_id, "unknown")
