"""What a channel means, in words: who binds what, which defaults apply, what memory a stream takes."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from aeronpy.uri import ChannelUri, parse_size, split_address
from aeronpy.uri_params import PARAMS
from aeronpy.uri_values import format_size

METADATA_LENGTH: Final = 4096
TERM_COUNT: Final = 3
DEFAULT_TERM_LENGTH: Final = {"udp": 16 << 20, "ipc": 64 << 20}
DEFAULT_MTU: Final = 1408
DEFAULT_WINDOW: Final = 128 << 10
MESSAGE_LENGTH_MAX: Final = 16 << 20


@dataclass(frozen=True)
class Explanation:
    """A channel in words and numbers. Defaults are those of a driver that is set up as Aeron comes."""

    channel: ChannelUri
    mode: str
    """What kind of channel it is: ``ipc``, ``unicast``, ``multicast``, ``multi-destination-cast`` and kin."""
    publisher: str
    """What the publisher's driver binds and sends."""
    subscriber: str
    """What the subscriber's driver binds, and where it answers."""
    term_length: int
    mtu: int
    log_bytes: int
    """Bytes of a stream's log: in the publisher's driver, and for UDP again in each receiving one."""
    max_message_length: int
    defaults: dict[str, str] = field(default_factory=dict)
    """Parameters that were not given, and what holds in their place."""
    notes: list[str] = field(default_factory=list)
    """What may not be as meant."""

    def __str__(self) -> str:
        shares = self.channel.is_ipc or self.channel.is_spy
        where = "once for all" if shares else "at its publisher and at each driver that receives it"
        lines = [
            str(self.channel),
            f"  {self.mode}",
            f"  publisher:   {self.publisher}",
            f"  subscriber:  {self.subscriber}",
            f"  memory:      {TERM_COUNT} terms of {format_size(self.term_length)} and {METADATA_LENGTH} bytes: "
            f"{self.log_bytes:,} bytes for each stream, {where}",
            f"  messages:    up to {self.max_message_length:,} bytes, "
            f"{self.mtu - 32:,} in one frame (mtu {self.mtu:,} less 32)",
            f"  given:       {_listed(self.channel.params) or 'nothing'}",
            f"  by default:  {_listed(self.defaults)}",
        ]
        return "\n".join(lines + [f"  note:        {note}" for note in self.notes])


def _listed(params: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in params.items())


def explain(channel: ChannelUri) -> Explanation:
    """Explain a channel; raises `ChannelError` where it cannot be used."""
    channel.validate()
    mode, publisher, subscriber = _ipc() if channel.is_ipc else _udp(channel)
    if channel.is_spy:
        mode = f"spy on {mode}"
        subscriber = "binds nothing: it reads the log of the publication of this channel, in the same driver"
    term_length = channel.size("term-length") or DEFAULT_TERM_LENGTH[channel.media]
    mtu = channel.size("mtu") or DEFAULT_MTU
    defaults = {
        key: format_size(DEFAULT_TERM_LENGTH[channel.media]) if key == "term-length" else param.default
        for key, param in PARAMS.items()
        if key not in channel.params and channel.media[0] in param.media and param.default != "none"
    }
    return Explanation(
        channel=channel,
        mode=mode,
        publisher=publisher,
        subscriber=subscriber,
        term_length=term_length,
        mtu=mtu,
        log_bytes=TERM_COUNT * term_length + METADATA_LENGTH,
        max_message_length=min(term_length // 8, MESSAGE_LENGTH_MAX),
        defaults=defaults,
        notes=_notes(channel, mtu, term_length),
    )


def _ipc() -> tuple[str, str, str]:
    return (
        "ipc: shared memory, between clients of one driver",
        "binds nothing: its clients write into the log",
        "binds nothing: its clients read the same log",
    )


def _address_of(text: str | None) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address of an endpoint that is written as one; None for names, which only a driver resolves."""
    try:
        return ipaddress.ip_address(split_address(text or "")[0])
    except ValueError:
        return None


def _control_group(endpoint: str, group: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """Where the receivers of a multicast group answer: the next address, same port."""
    host = str(group + 1)
    return f"{f'[{host}]' if group.version == 6 else host}:{split_address(endpoint)[1]}"


def _udp(channel: ChannelUri) -> tuple[str, str, str]:
    endpoint, control, mode = channel.get("endpoint"), channel.get("control"), channel.get("control-mode")
    interface = channel.get("interface")
    local = f"the interface {interface}" if interface else "an interface that the system chooses"
    group = _address_of(endpoint)
    if mode == "response":
        return (
            "response channel: each requester is answered on a stream of its own",
            f"binds {control or 'no fixed address'}, and sends to the requester named by response-correlation-id",
            f"binds a free port, and answers to {control or 'the source of what it gets'}",
        )
    if mode == "manual":
        return (
            "manual destinations: multi-destination-cast of a publication, multi-destination of a subscription",
            f"binds {control or 'a free port on ' + local}, and sends to each destination that is added",
            "binds nothing itself: each destination that is added binds its own endpoint",
        )
    if mode == "dynamic":
        return (
            "dynamic multi-destination-cast: receivers make themselves known",
            f"binds {control}, and sends to every receiver that reports there",
            f"binds {endpoint or 'a free port'}, and reports to {control}",
        )
    if endpoint is not None and group is not None and group.is_multicast:
        answers = _control_group(endpoint, group)
        return (
            "multicast",
            f"sends to {endpoint} from a free port of {local}, and joins {answers} for the answers",
            f"binds port {split_address(endpoint)[1]} and joins {group} on {local}, and answers to {answers}",
        )
    if endpoint is None and control is None:
        return (
            f"shares the endpoint that was opened with the channel tag {channel.tags()[0]}",
            "as the channel that opened it",
            "as the channel that opened it",
        )
    return (
        "unicast" if control is None else "unicast with an explicit control address",
        f"binds {control or 'a free port on ' + local}, and sends to {endpoint or 'nowhere: it needs an endpoint'}",
        f"binds {endpoint or 'a free port'}, and answers to {control or 'the source of what it gets'}",
    )


def _notes(channel: ChannelUri, mtu: int, term_length: int) -> list[str]:
    notes = []
    endpoint, mode = channel.get("endpoint"), channel.get("control-mode")
    address = _address_of(endpoint)
    is_multicast = address is not None and address.is_multicast
    if is_multicast and address is not None and address.packed[-1] % 2 == 0:
        notes.append(
            f"{address} ends in an even byte: drivers refuse it, since data groups are odd and answers go to +1"
        )
    if endpoint is not None and endpoint.endswith(":0"):
        notes.append("port 0: a subscription gets a free port (see resolved_endpoint), a publication is refused")
    if "fc" in channel.params and not is_multicast and mode not in ("manual", "dynamic"):
        notes.append("fc is ignored: unicast has one receiver and its own flow control; the Java driver refuses it")
    if "ttl" in channel.params and not is_multicast:
        notes.append("ttl is ignored: it is for multicast")
    if channel.get("control") is not None and mode is None and not is_multicast:
        notes.append("control without control-mode: drivers refuse a publication that has no endpoint besides it")
    if channel.boolean("ats"):
        notes.append("ats=true is refused by every open driver")
    receive_window = channel.size("rcv-wnd") or min(DEFAULT_WINDOW, term_length // 2)
    if channel.is_udp and mtu > receive_window:
        notes.append(f"mtu {mtu} is more than the receiver's window of {receive_window}: receivers refuse the stream")
    if channel.is_udp and mtu > parse_size("64k") - 1 - 28:
        notes.append(f"mtu {mtu} does not fit into a datagram of IPv4")
    if channel.boolean("reliable") is False:
        notes.append("reliable=false: lost data is skipped, and not asked for again")
    if channel.boolean("sparse") is not False:
        notes.append("the log is sparse: its pages take memory when they are first written")
    return notes
