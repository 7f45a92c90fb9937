"""Names and addresses in channels: do they resolve, and who can reach them. And versions, for those who compare."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Iterator
from typing import Final

from aeronpy.errors import ChannelError
from aeronpy.observe.channels import full_channel
from aeronpy.observe.driver import Life, system_counters, version_text
from aeronpy.observe.finding import Finding, Severity
from aeronpy.observe.keys import ChannelKey, StreamKey
from aeronpy.observe.patient import Patient
from aeronpy.observe.types import CounterType, SystemCounter
from aeronpy.uri import ChannelUri, split_address

RESOLVE_S: Final = 3.0
SLOW_S: Final = 1.0
NAMES_MAX: Final = 32
_ADDRESS_KEYS: Final = ("endpoint", "control", "response-endpoint")


def channels_of(patient: Patient) -> list[ChannelUri]:
    """The channels that counters name, each once."""
    texts = dict.fromkeys(
        full_channel(each) for each in patient.counters if isinstance(each.key, StreamKey | ChannelKey)
    )
    found = []
    for text in texts:
        try:
            found.append(ChannelUri.parse(text, strict=False))
        except ChannelError:
            continue
    return found


def hosts_of(channel: ChannelUri) -> Iterator[str]:
    """The hosts that a channel names."""
    for key in _ADDRESS_KEYS:
        text = channel.get(key)
        if text:
            try:
                yield split_address(text)[0]
            except ValueError:
                continue


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def check_loopback(patient: Patient) -> Iterator[Finding]:
    """Channels that only this machine can reach, which is what examples have and deployments forget."""
    local = [each for each in channels_of(patient) if any(map(_is_loopback, hosts_of(each)))]
    if local:
        shown = ", ".join(str(each) for each in local[:3]) + (", ..." if len(local) > 3 else "")
        what = f"only this machine can reach {shown}"
        remedy = "if others should: give the address of a network interface instead of the loopback's"
        yield Finding("names.loopback", Severity.NOTE, what, len(local), unit="channels", remedy=remedy)


def check_names(patient: Patient) -> Iterator[Finding]:
    """Resolve every name; those that take too long are left behind."""
    users: dict[str, str] = {}
    for channel in channels_of(patient):
        for host in hosts_of(channel):
            if _address(host) is None:
                users.setdefault(host, str(channel))
    results: dict[str, tuple[float, str]] = {}
    threads = []
    for host in list(users)[:NAMES_MAX]:
        threads.append(threading.Thread(target=_resolve, args=(host, results), daemon=True))
        threads[-1].start()
    deadline = time.monotonic() + RESOLVE_S
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
    gossip = any(each.type_id == CounterType.RESOLVER_NEIGHBORS for each in patient.counters)
    for host in list(users)[:NAMES_MAX]:
        yield _resolved(host, users[host], results.get(host), gossip)


def _resolve(host: str, results: dict[str, tuple[float, str]]) -> None:
    started, problem = time.monotonic(), ""
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        problem = str(error)
    results[host] = (time.monotonic() - started, problem)


def _resolved(host: str, channel: str, result: tuple[float, str] | None, gossip: bool) -> Finding:
    what = f"the name {host} of {channel}"
    remedy = "correct it, add it to DNS or /etc/hosts, or use an address"
    if result is None:
        return Finding(
            "names.slow", Severity.ERROR, f"{what} does not resolve in time", RESOLVE_S, unit="s", remedy=remedy
        )
    taken_s, problem = result
    if problem and gossip:
        what += " is not known here: the driver's own resolver may know it"
        return Finding("names.unknown", Severity.NOTE, what, problem)
    if problem:
        return Finding("names.unknown", Severity.ERROR, f"{what} does not resolve", problem, remedy=remedy)
    if taken_s > SLOW_S:
        remedy = "use addresses, /etc/hosts, or a DNS cache on this machine"
        return Finding(
            "names.slow", Severity.WARNING, f"{what} is slow to resolve", round(taken_s, 1), SLOW_S, "s", remedy
        )
    return Finding("names.resolve", Severity.OK, f"{what} resolves", round(taken_s * 1000, 1), SLOW_S * 1000, "ms")


def check_versions(patient: Patient) -> Iterator[Finding]:
    """The driver's software, and what it lacks for this client."""
    system = system_counters(tuple(patient.counters))
    software = system.get(SystemCounter.AERON_VERSION)
    if software is not None:
        yield Finding("version.driver", Severity.OK, "the driver's version", version_text(software.value))
    if (
        patient.life is Life.ALIVE
        and SystemCounter.ERRORS in system
        and SystemCounter.CONTROL_PROTOCOL_VERSION not in system
    ):
        what = "the driver says no control protocol version: it is older than 1.49, and newer commands fail there"
        yield Finding("version.driver", Severity.NOTE, what, remedy="use a newer driver")
