"""What the parts of the driver's conductor share: settings, the native core, how clients are told, fresh log files."""

from __future__ import annotations

import logging
import os
import socket
from typing import Any, Final

from aeronpy._core import native
from aeronpy._core.native import DriverCore
from aeronpy.driver import directory
from aeronpy.driver.context import MediaDriverContext
from aeronpy.driver.error_code import ErrorCode, refuse
from aeronpy.driver.replies import Reply
from aeronpy.driver.session_ids import SessionIds, wrap_i32

_log: Final = logging.getLogger(__name__)


class Office:
    """One per driver; all of it belongs to the decision thread."""

    def __init__(self, context: MediaDriverContext, core: DriverCore) -> None:
        self.context = context
        self.core = core
        self.session_ids = SessionIds(
            wrap_i32(int.from_bytes(os.urandom(4), "little")),
            context.publication_reserved_session_id_low,
            context.publication_reserved_session_id_high,
        )
        self.os_sndbuf, self.os_rcvbuf = _system_buffer_lengths()

    def send(self, reply: Reply) -> None:
        """Tell all clients."""
        self.core.transmit(reply.type_id, reply.message)

    def log_path(self, kind: str, correlation_id: int) -> str:
        """The absolute path of a log, as clients are told it."""
        return directory.log_path(self.core.directory, kind, correlation_id)

    def check_storage(self, term_length: int) -> None:
        """Refuse a log that would not fit, before anything is mapped; warn when little is left.

        What sparse logs were promised counts as taken: whoever writes into a page that cannot be had dies of SIGBUS.
        """
        if not self.context.perform_storage_checks:
            return
        needed = native.log_file_length(term_length, self.context.file_page_size)
        found = os.statvfs(self.core.directory)
        free = found.f_bavail * found.f_frsize
        promised = directory.promised_bytes(self.core.directory)
        if free - promised < needed:
            raise refuse(
                ErrorCode.STORAGE_SPACE,
                f"insufficient usable storage for new log of length={needed} usable={free}, of which {promised} are "
                f"promised to other logs, in {self.core.directory}: give it more (--shm-size of a container) or set a "
                "smaller term-length",
            )
        if free <= self.context.low_file_store_warning_threshold:
            self.warn(
                f"space is running low in {self.core.directory}: threshold="
                f"{self.context.low_file_store_warning_threshold} usable={free}"
            )

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


def _system_buffer_lengths() -> tuple[tuple[int, int], tuple[int, int]]:
    """Default and greatest length of socket buffers, to send and to receive, as this system gives them."""
    lengths = []
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            default = probe.getsockopt(socket.SOL_SOCKET, option)
            probe.setsockopt(socket.SOL_SOCKET, option, (1 << 31) - 1)
            lengths.append((default, probe.getsockopt(socket.SOL_SOCKET, option)))
    return lengths[0], lengths[1]
