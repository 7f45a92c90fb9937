"""Names that drivers tell one another (spec: network protocol, section 2.19)."""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from typing import Final

from aeronpy._core.native import DriverCore, GossipCore
from aeronpy.driver.channels.addresses import Address, find_interface, resolve_address
from aeronpy.driver.conductor.counters import CounterType
from aeronpy.driver.conductor.resource_agent import THREAD_NAME
from aeronpy.driver.names.resolver import NameResolver, SystemResolver
from aeronpy.driver.settings.context import MS, MediaDriverContext, ThreadingMode
from aeronpy.errors import AeronError, ArgumentError
from aeronpy.loggers import logger_of

BOOTSTRAPS_MAX: Final = 20

_log: Final = logger_of(__name__)


class GossipResolver(NameResolver):
    """Asks what other drivers told, then the system.

    Telling and hearing goes on in C, on a thread that no interpreter stops; only the names of bootstrap neighbours
    are looked up here, on a thread of their own, since that may take its time.
    """

    log_name = "driver"

    def __init__(self, context: MediaDriverContext, core: DriverCore) -> None:
        bootstraps = [one.strip() for one in context.resolver_bootstrap_neighbor.split(",") if one.strip()]
        if len(bootstraps) > BOOTSTRAPS_MAX:
            raise ArgumentError(f"resolver_bootstrap_neighbor names {len(bootstraps)}, more than {BOOTSTRAPS_MAX}")
        self._core = core
        self._name = context.resolver_name
        self._interval_s = context.resolver_bootstrap_neighbor_resolution_interval / 1e9
        self._is_invoked = context.threading_mode is ThreadingMode.INVOKER
        self._system = SystemResolver()
        self._bootstraps = bootstraps
        self._addresses: list[Address | None] = [None] * len(bootstraps)
        self._counters: list[int | None] = [None] * len(bootstraps)
        self._found: deque[tuple[int, Address]] = deque()
        self._deadline = 0.0
        self._closed = threading.Event()
        self._gossip = _open(context, core)
        self._host = Address.unpack(self._gossip.bound_address()).host
        if not self._is_invoked:
            self._gossip.start(context.cpu_of("native_resource_agent"))
            threading.Thread(target=self._run, name=THREAD_NAME, daemon=True).start()

    def resolve(self, host: str, *, is_again: bool) -> str:
        """What was told of it lately, else what the system says."""
        found = self._gossip.find(host)
        if found is not None:
            return found
        return self._host if host == self._name else self._system.resolve(host, is_again=is_again)

    def _run(self) -> None:
        while True:
            self._look_up_bootstraps()
            if self._closed.wait(self._interval_s):
                return
            self._core.wake()

    def _look_up_bootstraps(self) -> None:
        """Those that are no neighbours: their names may have moved."""
        for index, written in enumerate(self._bootstraps):
            known = self._addresses[index]
            if known is not None and self._gossip.is_neighbor(known.pack()):
                continue
            try:
                address = resolve_address(written, written, lambda host: self._system.resolve(host, is_again=True))
            except AeronError as error:
                _log.warning("bootstrap neighbour %s: %s", written, error)
                continue
            if self._closed.is_set():
                return
            if address != known:
                self._addresses[index] = address
                self._gossip.set_bootstrap(index, address.pack())
                self._found.append((index, address))
                self._core.wake()

    def do_work(self) -> int:
        """Say in counters where bootstrap neighbours are; INVOKER: hear and tell, too."""
        work = 0
        if self._is_invoked:
            work = self._gossip.do_work()
            if time.monotonic() >= self._deadline:
                self._deadline = time.monotonic() + self._interval_s
                self._look_up_bootstraps()
        while self._found:
            index, address = self._found.popleft()
            self._show(index, address)
            work += 1
        return work

    def _show(self, index: int, address: Address) -> None:
        before = self._counters[index]
        if before is not None:
            self._core.free_counter(before)
        label = f"Bootstrap neighbor: name={self._bootstraps[index]} resolved={address}"
        self._counters[index] = self._core.allocate_counter(
            CounterType.BOOTSTRAP_NEIGHBOR, struct.pack("<i", index), label.encode("ascii", "replace"), 0, 0
        )

    def close(self) -> None:
        """Fall silent. The others forget us after their time-out."""
        self._closed.set()
        self._gossip.free()


def _open(context: MediaDriverContext, core: DriverCore) -> GossipCore:
    written = context.resolver_interface
    address, _ = find_interface(written, is_v6=written.startswith("["), wants_multicast=False)
    cache_label = f"Resolver cache entries: name={context.resolver_name}".encode("ascii", "replace")
    cache_id = core.allocate_counter(CounterType.RESOLVER_CACHE, b"", cache_label, 0, 0)
    neighbors_id = core.allocate_counter(CounterType.RESOLVER_NEIGHBORS, b"", b"Resolver neighbors: bound ", 0, 0)
    gossip = GossipCore(
        core,
        {
            "name": context.resolver_name.encode("ascii", "replace"),
            "bind_to": address.pack(),
            "neighbor_timeout_ms": context.resolver_neighbor_timeout // MS,
            "self_interval_ms": context.resolver_self_resolution_interval // MS,
            "neighbor_interval_ms": context.resolver_neighbor_resolution_interval // MS,
            "neighbors_id": neighbors_id,
            "cache_id": cache_id,
        },
    )
    core.append_label(neighbors_id, str(Address.unpack(gossip.bound_address())).encode())
    return gossip
