"""How large a window receivers ask for (spec: network protocol, 4.11)."""

from __future__ import annotations

from typing import Any, Final

from aeronpy.driver.conductor.counters import NULL_ID, CounterType, StreamCounters
from aeronpy.driver.conductor.refusals import refuse
from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.protocol import ErrorCode
from aeronpy.uri import ChannelUri

STATIC: Final = "static"
CUBIC: Final = "cubic"


def congestion_of(uri: ChannelUri, context: MediaDriverContext) -> str:
    """What the driver is set to, or by default what the channel says."""
    supplier = context.congestion_control_supplier
    return uri.get("cc") or STATIC if supplier == "default" else supplier


def congestion_settings(
    name: str, context: MediaDriverContext, counters: StreamCounters, window_length: int, mtu: int
) -> dict[str, Any]:
    """For the native image; error 11 where there is no such control."""
    if name == STATIC:
        return {"is_cubic": False}
    if name != CUBIC:
        raise refuse(ErrorCode.GENERIC_ERROR, f"unknown congestion control cc={name}: it is {STATIC} or {CUBIC}")
    return {
        "is_cubic": True,
        "measure_rtt": context.cubic_measure_rtt,
        "tcp_mode": context.cubic_tcp_mode,
        "initial_rtt_ns": context.cubic_initial_rtt,
        "rtt_id": counters.add(CounterType.PER_IMAGE, 0, name="rcv-cc-cubic-rtt", owner_id=NULL_ID),
        "window_id": counters.add(
            CounterType.PER_IMAGE, min(window_length, 10 * mtu), name="rcv-cc-cubic-wnd", owner_id=NULL_ID
        ),
    }
