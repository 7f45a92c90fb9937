"""What ended a client that did not close: the error for it, with what happened and what to do."""

from __future__ import annotations

from typing import Final

from aeronpy._core.native import CncMapping
from aeronpy.client.lost_driver import diagnose
from aeronpy.errors import (
    AeronError,
    ClientTimeout,
    ConductorServiceTimeout,
    DriverShutdown,
    LappedError,
    OutOfMemoryError,
)

DRIVER_TIMEOUT: Final = 1000
DRIVER_REPLACED: Final = 2004

_STARVED: Final = (
    "this process was stopped or starved of CPU: give it some, or raise aeron.client.liveness.timeout at the driver, "
    "and connect again"
)
# Reasons of the client core, in its header: the error, and what to do.
_ENDS: Final[dict[int, tuple[type[AeronError], str]]] = {
    1001: (ClientTimeout, _STARVED),
    1002: (ConductorServiceTimeout, _STARVED),
    2000: (AeronError, "the driver gave this client up, or was told that it closed: connect again"),
    2001: (LappedError, f"{_STARVED}; aeron.to.clients.buffer.length at the driver gives it more time"),
    2002: (OutOfMemoryError, "give this process more memory, and connect again"),
    2003: (DriverShutdown, "start a driver, and connect again"),
}


def end_error(reason: int, text: str, cnc: CncMapping, driver_timeout_ms: int) -> AeronError:
    """The error of a client that the core ended for a reason."""
    if reason in (DRIVER_TIMEOUT, DRIVER_REPLACED):
        return diagnose(text, cnc, driver_timeout_ms)
    kind, remedy = _ENDS.get(reason, (AeronError, "connect again"))
    return kind(f"{text}; {remedy}", -reason)
