"""What a driver asks the system before it starts: socket buffers, processors (spec: client/driver protocol, 21.2)."""

from __future__ import annotations

import logging
import os
import socket
from typing import Final

from aeronpy.driver.context import MediaDriverContext
from aeronpy.errors import ArgumentError

_log: Final = logging.getLogger(__name__)


def check_sockets(context: MediaDriverContext) -> None:
    """Raise `ArgumentError` where no socket could take an MTU or a receiver's window; warn of buffers cut short."""
    sndbuf = _attainable("SO_SNDBUF", context.socket_so_sndbuf, "net.core.wmem_max")
    if context.mtu_length > sndbuf:
        raise ArgumentError(
            f"mtu_length is {context.mtu_length}, more than a socket takes: SO_SNDBUF={sndbuf}; "
            "raise aeron.socket.so_sndbuf to match, or lower aeron.mtu.length"
        )
    rcvbuf = _attainable("SO_RCVBUF", context.socket_so_rcvbuf, "net.core.rmem_max")
    if context.rcv_initial_window_length > rcvbuf:
        raise ArgumentError(
            f"rcv_initial_window_length is {context.rcv_initial_window_length}, more than a socket holds: "
            f"SO_RCVBUF={rcvbuf}; raise aeron.socket.so_rcvbuf to match, or lower aeron.rcv.initial.window.length"
        )


def _attainable(name: str, wanted: int, limit: str) -> int:
    """What the system makes of a buffer's length; 0 asks for its default."""
    option = getattr(socket, name)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        if wanted:
            probe.setsockopt(socket.SOL_SOCKET, option, wanted)
        actual = probe.getsockopt(socket.SOL_SOCKET, option)
    if actual < wanted:
        _log.warning(
            "could not get the desired %s: attempted=%d, actual=%d; raise %s of the system (sysctl)",
            *(name, wanted, actual, limit),
        )
    return actual


def spread_processors(context: MediaDriverContext) -> None:
    """Give each agent without a processor one of those that the process may use, where there is one for each.

    Only with ``cpuset_affinity``. Too few, or one that is not among them, is a warning, or an `ArgumentError` with
    ``cpuset_warnings_as_errors``.
    """
    if not context.cpuset_affinity:
        return
    allowed = sorted(os.sched_getaffinity(0))
    agents = [f"{agent}_cpu_affinity" for agent in ("conductor", "sender", "receiver", "native_resource_agent")]
    given = {name: getattr(context, name) for name in agents if getattr(context, name) >= 0}
    free = [cpu for cpu in allowed if cpu not in given.values()]
    wanting = [name for name in agents if name not in given]
    warnings = [
        f"{name} is {cpu}, which is not among the process's" for name, cpu in given.items() if cpu not in allowed
    ]
    if len(free) < len(wanting):
        warnings.append(f"{len(free)} processors are left for {len(wanting)} agents, which share them as they come")
    else:
        for name, cpu in zip(wanting, free, strict=False):
            setattr(context, name, cpu)
    for text in warnings:
        if context.cpuset_warnings_as_errors:
            raise ArgumentError(f"{text}: the process may use {allowed}")
        _log.warning("%s: the process may use %s", text, allowed)
