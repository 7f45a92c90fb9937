"""What a driver says of itself: who it is, how it runs, what it serves."""

from __future__ import annotations

import re
from collections import Counter as Tally
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from aeronpy.observe.counters import Counter, DriverSnapshot
from aeronpy.observe.keys import SystemKey
from aeronpy.observe.types import CounterType, SystemCounter

_MODES: Final = ("SHARED_NETWORK", "SHARED", "DEDICATED", "INVOKER")


class Life(StrEnum):
    """Whether a driver lives, by its heartbeat."""

    STARTING = "starting"
    ALIVE = "alive"
    SILENT = "silent"
    SHUT_DOWN = "shut down"


@dataclass(frozen=True, slots=True)
class DriverDescription:
    """A driver in a few words. None and empty texts where an older driver does not say."""

    aeron_dir: str
    pid: int
    life: Life
    start_timestamp_ms: int
    heartbeat_timestamp_ms: int
    heartbeat_age_ms: int | None
    cnc_version: str
    aeron_version: str
    commit: str
    control_protocol_version: str | None
    threading_mode: str
    resolver_name: str
    client_liveness_timeout_ns: int
    file_page_size: int
    bytes_mapped: int | None
    clients: int
    publications: int
    images: int
    subscriptions: int
    channels: int
    errors: int | None


def version_text(packed: int) -> str:
    """A version as Aeron packs it, in words: 79104 is 1.53.0."""
    return f"{packed >> 16}.{packed >> 8 & 0xFF}.{packed & 0xFF}"


def life_of(snapshot: DriverSnapshot, driver_timeout_ms: int = 10_000) -> Life:
    """Whether the driver lives: a heartbeat older than the time-out says no."""
    if snapshot.heartbeat_timestamp_ms < 0:
        return Life.SHUT_DOWN
    if snapshot.heartbeat_timestamp_ms == 0:
        return Life.STARTING
    age = snapshot.heartbeat_age_ms
    return Life.SILENT if age is not None and age > driver_timeout_ms else Life.ALIVE


def system_counters(counters: tuple[Counter, ...]) -> dict[int, Counter]:
    """The driver's own counters by their system counter id."""
    return {each.key.system_counter_id: each for each in counters if isinstance(each.key, SystemKey)}


def _after(label: str, word: str) -> str:
    found = re.search(rf"{re.escape(word)}(\S+)", label)
    return found[1] if found else ""


def describe(snapshot: DriverSnapshot, client_liveness_timeout_ns: int, file_page_size: int) -> DriverDescription:
    """Put together what the driver's counters say of it."""
    system = system_counters(snapshot.counters)
    software = system.get(SystemCounter.AERON_VERSION)
    errors = system.get(SystemCounter.ERRORS)
    protocol = system.get(SystemCounter.CONTROL_PROTOCOL_VERSION)
    mapped = system.get(SystemCounter.BYTES_CURRENTLY_MAPPED)
    cycle = system.get(SystemCounter.CONDUCTOR_MAX_CYCLE_TIME)
    names = system.get(SystemCounter.RESOLUTION_CHANGES)
    says_version = software.label if software is not None else errors.label if errors is not None else ""
    kinds = Tally(each.type_id for each in snapshot.counters)
    subscriptions = {
        each.registration_id for each in snapshot.counters if each.type_id == CounterType.SUBSCRIBER_POSITION
    }
    return DriverDescription(
        aeron_dir=snapshot.aeron_dir,
        pid=snapshot.pid,
        life=life_of(snapshot),
        start_timestamp_ms=snapshot.start_timestamp_ms,
        heartbeat_timestamp_ms=snapshot.heartbeat_timestamp_ms,
        heartbeat_age_ms=snapshot.heartbeat_age_ms,
        cnc_version=".".join(map(str, snapshot.version)),
        aeron_version=_after(says_version, "version="),
        commit=_after(says_version, "commit="),
        control_protocol_version=None if protocol is None else version_text(protocol.value),
        threading_mode=next((mode for mode in _MODES if cycle is not None and cycle.label.endswith(mode)), ""),
        resolver_name="" if names is None else _after(names.label, "driverName="),
        client_liveness_timeout_ns=client_liveness_timeout_ns,
        file_page_size=file_page_size,
        bytes_mapped=None if mapped is None else mapped.value,
        clients=kinds[CounterType.CLIENT_HEARTBEAT],
        publications=kinds[CounterType.PUBLISHER_LIMIT],
        images=kinds[CounterType.RECEIVER_POSITION],
        subscriptions=len(subscriptions),
        channels=kinds[CounterType.SEND_CHANNEL_STATUS] + kinds[CounterType.RECEIVE_CHANNEL_STATUS],
        errors=None if errors is None else errors.value,
    )
