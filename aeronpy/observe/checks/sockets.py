"""Socket buffers: what the kernel allows against what the driver asks for, and what it dropped for want of room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from aeronpy.observe.driver import Life
from aeronpy.observe.finding import Finding, Severity
from aeronpy.observe.keys import AddressKey
from aeronpy.observe.patient import Intent, Patient
from aeronpy.observe.processes import read_number, udp_drops
from aeronpy.observe.types import CounterType

GOOD_BUFFER: Final = 2 << 20
REPORTED: Final = 2  # Linux reports twice what it gives, for its own book-keeping, and drivers compare with that
_CORE: Final = "/proc/sys/net/core"


def _raise(name: str, value: int) -> str:
    return f"raise it: sysctl -w net.core.{name}={max(value, GOOD_BUFFER)}"


def check_limits(patient: Patient) -> Iterator[Finding]:
    """The kernel's limits against what a driver that starts here asks for."""
    intent = patient.intent
    rmem_max, wmem_max = read_number(f"{_CORE}/rmem_max"), read_number(f"{_CORE}/wmem_max")
    starting = patient.life is not Life.ALIVE  # one that did start is looked at stream by stream
    if starting and rmem_max is not None:
        yield from _receive_limits(intent, rmem_max)
    if starting and wmem_max is not None:
        yield from _send_limits(intent, wmem_max)
    if rmem_max is not None and rmem_max < GOOD_BUFFER:
        what = "the kernel gives small receive buffers (net.core.rmem_max): fast streams lose bursts"
        remedy = f"{_raise('rmem_max', GOOD_BUFFER)}, and aeron.socket.so_rcvbuf=2m"
        yield Finding("sockets.rmem-max", Severity.NOTE, what, rmem_max, GOOD_BUFFER, "bytes", remedy, True)
    elif rmem_max is not None:
        what = "the kernel gives large receive buffers (net.core.rmem_max)"
        yield Finding("sockets.rmem-max", Severity.OK, what, rmem_max, GOOD_BUFFER, "bytes", at_least=True)


def _receive_limits(intent: Intent, rmem_max: int) -> Iterator[Finding]:
    asked, window = intent.so_rcvbuf, intent.receiver_window
    given = min(asked, rmem_max) if asked else (read_number(f"{_CORE}/rmem_default") or rmem_max)
    remedy = f"raise aeron.socket.so_rcvbuf to it, and {_raise('rmem_max', window)}"
    if asked > rmem_max:
        what = "aeron.socket.so_rcvbuf is more than the kernel gives (net.core.rmem_max), and is cut to that"
        yield Finding("sockets.rcvbuf", Severity.WARNING, what, asked, rmem_max, "bytes", _raise("rmem_max", asked))
    if window > REPORTED * given:
        what = "aeron.rcv.initial.window.length is more than a receive buffer holds: a driver does not start"
        yield Finding("sockets.window", Severity.ERROR, what, window, REPORTED * given, "bytes", remedy)
    elif window > given:
        what = "aeron.rcv.initial.window.length is more than a receive buffer is sure to hold: bursts can be lost"
        yield Finding("sockets.window", Severity.WARNING, what, window, given, "bytes", remedy)


def _send_limits(intent: Intent, wmem_max: int) -> Iterator[Finding]:
    asked = intent.so_sndbuf
    given = min(asked, wmem_max) if asked else (read_number(f"{_CORE}/wmem_default") or wmem_max)
    if asked > wmem_max:
        what = "aeron.socket.so_sndbuf is more than the kernel gives (net.core.wmem_max), and is cut to that"
        yield Finding("sockets.sndbuf", Severity.WARNING, what, asked, wmem_max, "bytes", _raise("wmem_max", asked))
    if intent.mtu > REPORTED * given:
        what = "aeron.mtu.length is longer than a send buffer: a driver does not start"
        remedy = "raise aeron.socket.so_sndbuf, or lower the mtu"
        yield Finding("sockets.mtu", Severity.ERROR, what, intent.mtu, REPORTED * given, "bytes", remedy)


def check_streams(patient: Patient) -> Iterator[Finding]:
    """Each image's window against its receive buffer, each publication's mtu against its send buffer."""
    windows, mtus = [], []
    for log in patient.logs:
        fields = log.metadata.fields
        if log.is_image:
            given = _effective(fields, "rcvbuf")
            if given and log.metadata.receiver_window > given:
                windows.append((log.metadata.receiver_window, given, fields["correlation_id"]))
        else:
            given = _effective(fields, "sndbuf")
            if given and fields["mtu_length"] > given:
                mtus.append((fields["mtu_length"], given, fields["correlation_id"]))
    if windows:
        window, given, image = max(windows)
        what = f"{len(windows)} images have a larger window than receive buffer (as image {image}): bursts are lost"
        remedy = f"lower rcv-wnd, or raise so-rcvbuf and {_raise('rmem_max', window)}"
        yield Finding("sockets.window", Severity.WARNING, what, window, given, "bytes", remedy)
    if mtus:
        mtu, given, publication = max(mtus)
        what = f"{len(mtus)} publications have a longer mtu than send buffer (as publication {publication})"
        yield Finding("sockets.mtu", Severity.WARNING, what, mtu, given, "bytes", "lower mtu, or raise so-sndbuf")


def _effective(fields: dict[str, int], which: str) -> int:
    """Bytes of buffer that a socket got, 0 where the log does not say: IPC, and drivers before 1.47."""
    asked, limit = fields[f"socket_{which}_length"], fields[f"os_max_{which}_length"]
    given = asked or fields[f"os_default_{which}_length"]
    return min(given, limit) if limit else given


def check_drops(patient: Patient) -> Iterator[Finding]:
    """Datagrams that the kernel threw away at the driver's own sockets."""
    ports = {}
    for each in patient.counters:
        if each.type_id == CounterType.LOCAL_SOCKADDR and isinstance(each.key, AddressKey):
            port = each.key.address.rpartition(":")[2]
            if port.isdecimal():
                ports[int(port)] = each.key.address
    dropped = [each for each in udp_drops() if each.port in ports and each.drops > 0]
    for drop in sorted(dropped, key=lambda each: -each.drops)[:3]:
        what = f"the kernel dropped datagrams at {ports[drop.port]}: its receive buffer was full"
        remedy = "raise so-rcvbuf and net.core.rmem_max, lower rcv-wnd, or give the receiver a core of its own"
        yield Finding("sockets.drops", Severity.WARNING, what, drop.drops, 0, "datagrams", remedy)
