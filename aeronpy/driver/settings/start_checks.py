"""What a driver asks the system before it starts: socket buffers, processors (spec: client/driver protocol, 21.2)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from aeronpy._core import native
from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.errors import ArgumentError
from aeronpy.loggers import logger_of

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM: Final = "/sys/devices/system/cpu"

_log: Final = logger_of(__name__)


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
    actual = native.socket_buffer_length(name == "SO_SNDBUF", wanted)
    if actual < wanted:
        _log.warning(
            "could not get the desired %s: attempted=%d, actual=%d; raise %s of the system (sysctl)",
            *(name, wanted, actual, limit),
        )
    return actual


def check_cpuset(context: MediaDriverContext, system: Path | str = SYSTEM) -> None:
    """Look at the set of processors that the process may use; only with ``cpuset_affinity``.

    Raises `ArgumentError` for an agent whose place is outside of the set. A set that shares cores with others, or
    that spreads over several caches, is a warning, or an `ArgumentError` with ``cpuset_warnings_as_errors``.
    """
    if not context.cpuset_affinity:
        return
    from pathlib import Path

    allowed = sorted(os.sched_getaffinity(0))
    for text in _set_warnings(allowed, Path(system)):
        if context.cpuset_warnings_as_errors:
            raise ArgumentError(f"{text}; give the process another set, or take this as a warning")
        _log.warning("%s", text)
    for agent in ("conductor", "sender", "receiver", "native_resource_agent"):
        name = f"{agent}_cpu_affinity"
        place = getattr(context, name)
        if place >= len(allowed):
            raise ArgumentError(
                f"{name} is {place}, and must be less than {len(allowed)}: with aeron.driver.cpuset.affinity it is a "
                f"place within the processors {_listed(allowed)} that the process may use"
            )


def _set_warnings(allowed: list[int], system: Path) -> Iterator[str]:
    """What is not as good as it could be about a set of processors, as far as the system tells."""
    told: set[int] = set()
    for cpu in allowed:
        missing = _cpus_in(system / f"cpu{cpu}/topology/thread_siblings_list") - set(allowed)
        if missing - told:
            told |= missing
            yield f"of the core of processor {cpu} others have {_listed(missing)}: {_listed(allowed)} are ours"
    caches = {frozenset(_cpus_in(system / f"cpu{cpu}/cache/index3/shared_cpu_list")) for cpu in allowed}
    if len(caches - {frozenset()}) > 1:
        yield f"the processors {_listed(allowed)} are spread over {len(caches)} L3 caches"


def _cpus_in(file: Path) -> set[int]:
    """Of a list such as ``0-3,8``; none where there is no such file."""
    try:
        text = file.read_text().strip()
    except OSError:
        return set()
    ends = [part.partition("-") for part in text.split(",") if part]
    return {cpu for first, _, last in ends for cpu in range(int(first), int(last or first) + 1)}


def _listed(cpus: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(cpus)))
