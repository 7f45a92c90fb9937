"""What the parts of the driver's conductor share: settings, the native core, how clients are told, logs, names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from aeronpy._core import native
from aeronpy._core.native import DriverCore
from aeronpy.driver.conductor.log_files import LogFiles
from aeronpy.driver.conductor.replies import Reply
from aeronpy.driver.conductor.resource_agent import ResourceAgent
from aeronpy.driver.event_log.log_events import LogEvent
from aeronpy.driver.names.naming import Naming
from aeronpy.driver.names.suppliers import supply
from aeronpy.driver.publications.session_ids import SessionIds, wrap_i32
from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.loggers import logger_of

if TYPE_CHECKING:
    from aeronpy.driver.event_log.event_log import EventLog
    from aeronpy.driver.event_log.trace import Trace

_log: Final = logger_of(__name__)


class Office:
    """One per driver; all of it belongs to the decision thread."""

    def __init__(self, context: MediaDriverContext, core: DriverCore, agent: ResourceAgent) -> None:
        self.context = context
        self.core = core
        self.session_ids = SessionIds(
            wrap_i32(int.from_bytes(os.urandom(4), "little")),
            context.publication_reserved_session_id_low,
            context.publication_reserved_session_id_high,
        )
        self.event_log = _event_log(context)
        self._trace: Trace | None = None
        try:
            if self.event_log is not None:
                from aeronpy.driver.event_log.trace import Trace

                self._trace = Trace.of(core, self.event_log)
            self.logs = LogFiles(context, core.directory, agent, self.warn)
            self.naming = Naming(context, core, supply(context, core), self.note)
            self.os_sndbuf, self.os_rcvbuf = _system_buffer_lengths()
        except BaseException:
            self.close()
            raise

    def send(self, reply: Reply) -> None:
        """Tell all clients."""
        if self.event_log is not None:
            self.event_log.on_reply(reply)
        self.core.transmit(reply.type_id, reply.message)

    def name_endpoint(self, endpoint_id: int, channel: str) -> None:
        """The event log will speak of an endpoint by its channel."""
        if self._trace is not None:
            self._trace.name_endpoint(endpoint_id, channel)

    def drain_trace(self) -> int:
        """Hand to the event log what threads in C saw; how many records that were."""
        return 0 if self._trace is None else self._trace.drain()

    def note(self, event: LogEvent, text: str) -> None:
        """A line in the event log, where there is one."""
        if self.event_log is not None:
            self.event_log.note(event, text)

    def close(self) -> None:
        """Write the last lines, after all threads that something is traced of."""
        while self.drain_trace():
            pass
        if self.event_log is not None:
            self.event_log.close()

    def warn(self, text: str) -> None:
        """Put a sentence where operators look: the distinct error log, and Python's logging."""
        _log.warning("%s", text)
        self.core.record_error(text)

    def log_settings(self) -> dict[str, Any]:
        """What every log's metadata says, to be filled with what is its own."""
        return {
            "receiver_window_length": 0,
            "publication_window_length": 0,
            "socket_sndbuf_length": self.context.socket_so_sndbuf,
            "os_default_sndbuf_length": self.os_sndbuf[0],
            "os_max_sndbuf_length": self.os_sndbuf[1],
            "socket_rcvbuf_length": self.context.socket_so_rcvbuf,
            "os_default_rcvbuf_length": self.os_rcvbuf[0],
            "os_max_rcvbuf_length": self.os_rcvbuf[1],
            "max_resend": 0,
            "entity_tag": -1,
            "response_correlation_id": -1,
            "linger_timeout_ns": 0,
            "group": False,
            "is_response": False,
            "rejoin": False,
            "reliable": False,
            "sparse": False,
            "signal_eos": False,
            "spies_simulate_connection": False,
            "tether": False,
        }


def _event_log(context: MediaDriverContext) -> EventLog | None:
    if not context.event_log and not context.event_log_disable:
        return None
    from aeronpy.driver.event_log.event_log import EventLog

    return EventLog.of(context)


def _system_buffer_lengths() -> tuple[tuple[int, int], tuple[int, int]]:
    """Default and greatest length of socket buffers, to send and to receive, as this system gives them."""
    send, receive = (
        (native.socket_buffer_length(is_send), native.socket_buffer_length(is_send, (1 << 31) - 1))
        for is_send in (True, False)
    )
    return send, receive
