"""The table of channel parameters: on which media and sides each has a meaning, what it takes, what holds without it.

Sides: P publication, S subscription, SD destination of a publication, RD destination of a subscription.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, TypedDict

from aeronpy.uri_values import (
    TAG_PREFIX,
    check_flow_control,
    is_tagged,
    nearest_text,
    parse_bool,
    parse_duration_ns,
    parse_integer,
    parse_size,
    split_address,
)

PROTOTYPE_CORRELATION_ID: Final = -2
RESERVED_OFFSET: Final = -8

TERM_LENGTH_MIN: Final = 65536
TERM_LENGTH_MAX: Final = 1 << 30


class Param(NamedTuple):
    """One parameter."""

    parse: Callable[[str], object]
    media: str
    sides: str
    default: str
    meaning: str


def _integer(low: int, high: int) -> Callable[[str], int]:
    return lambda text: parse_integer(text, low, high)


_i32 = _integer(-(1 << 31), (1 << 31) - 1)
_i64 = _integer(-(1 << 63), (1 << 63) - 1)


def _term_length(text: str) -> int:
    length = parse_size(text)
    if not TERM_LENGTH_MIN <= length <= TERM_LENGTH_MAX or length & (length - 1):
        raise ValueError(f"{length} is not a power of two from 64k to 1g")
    return length


def _mtu(text: str) -> int:
    length = parse_size(text)
    if not 32 < length <= 65504 or length % 32:
        raise ValueError(f"{length} is not a multiple of 32 from 64 to 65504")
    return length


def _term_offset(text: str) -> int:
    offset = parse_size(text)
    if offset > TERM_LENGTH_MAX or offset % 32:
        raise ValueError(f"{offset} is not a multiple of 32 up to 1g")
    return offset


def _session_id(text: str) -> int:
    return _i64(text[len(TAG_PREFIX) :]) if is_tagged(text) else _i32(text)


def parse_tags(text: str) -> tuple[int, ...]:
    """The channel tag and, if given, the entity tag; ValueError."""
    parts = text.split(",")
    if len(parts) > 2 or not parts[0]:
        raise ValueError(f"{text!r} is not a channel tag, or a channel tag and an entity tag")
    return tuple(_i64(part) for part in parts if part)


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is none of {', '.join(words)}{nearest_text(text, words)}")
        return text

    return parse


def _address(text: str) -> str:
    try:
        split_address(text)
    except ValueError as error:
        raise ValueError(f"{error}; strict=False passes a name that the driver's resolver knows") from None
    return text


def _interface(text: str) -> str:
    found = re.fullmatch(r"(\[[^\]]+\]|\{[^}]+\}|[^:/\[\]{}]+)(?::(\d+))?(?:/(\d+))?", text)
    if found is None:
        raise ValueError(f"{text!r} is not an interface: address[:port][/prefix length]")
    if found[2] is not None:
        parse_integer(found[2], 0, 65535)
    if found[3] is not None:
        parse_integer(found[3], 0, 128)
    return text


def _timestamp_offset(text: str) -> int:
    if text == "reserved":
        return RESERVED_OFFSET
    try:
        return parse_integer(text, 0, (1 << 31) - 1)
    except ValueError as error:
        raise ValueError(f"{error}; it is 'reserved', or an offset into the payload") from None


def _response_correlation_id(text: str) -> int:
    return PROTOTYPE_CORRELATION_ID if text == "prototype" else parse_integer(text, -1, (1 << 63) - 1)


_size, _time = parse_size, parse_duration_ns

# In the order in which Aeron's own builder writes them, so that texts are equal byte for byte.
PARAMS: Final[dict[str, Param]] = {
    "tags": Param(parse_tags, "u i", "P S", "none", "channel tag[,entity tag]: shares an endpoint, or a session"),
    "endpoint": Param(_address, "u", "P S SD RD", "none", "where data goes, and where a subscriber binds"),
    "interface": Param(_interface, "u", "P S SD RD", "any", "the local interface to use"),
    "control": Param(_address, "u", "P S", "none", "explicit control address"),
    "control-mode": Param(_one_of("manual", "dynamic", "response"), "u i", "P S", "none", "who manages destinations"),
    "mtu": Param(_mtu, "u i", "P", "1408", "longest frame, in bytes"),
    "term-length": Param(_term_length, "u i", "P", "16m, ipc 64m", "bytes of each of the log's three terms"),
    "init-term-id": Param(_i32, "u i", "P", "random", "with term-id and term-offset: where the stream starts"),
    "term-id": Param(_i32, "u i", "P", "init-term-id", "see init-term-id"),
    "term-offset": Param(_term_offset, "u i", "P", "0", "see init-term-id"),
    "session-id": Param(_session_id, "u i", "P S", "random", "fixes, or filters, the session"),
    "ttl": Param(_integer(0, 255), "u", "P S SD", "the system's", "hops of multicast datagrams"),
    "reliable": Param(parse_bool, "u", "S", "true", "false: gaps are filled instead of asked for"),
    "linger": Param(_time, "u i", "P", "5s", "how long a closed publication still answers"),
    "alias": Param(str, "u i", "P S SD RD", "none", "a free name, kept in labels"),
    "cc": Param(_one_of("static", "cubic"), "u", "S", "static", "congestion control"),
    "fc": Param(check_flow_control, "u", "P", "max", "flow control of multicast and multi-destination-cast"),
    "gtag": Param(_i64, "u", "S", "none", "group tag in status messages"),
    "sparse": Param(parse_bool, "u i", "P S", "true", "log pages are made when first used"),
    "eos": Param(parse_bool, "u i", "P", "true", "the end of the stream is sent"),
    "tether": Param(parse_bool, "u i", "S", "true", "false: a slow reader is cut off instead of holding the flow"),
    "group": Param(_one_of("true", "false", "infer"), "u", "S", "infer", "act as one receiver of several"),
    "rejoin": Param(parse_bool, "u i", "S", "true", "join the stream again after going stale"),
    "ssc": Param(parse_bool, "u i", "P", "false", "spies alone connect the publication"),
    "so-sndbuf": Param(_size, "u", "P S", "the driver's", "socket send buffer"),
    "so-rcvbuf": Param(_size, "u", "P S", "the driver's", "socket receive buffer"),
    "rcv-wnd": Param(_size, "u", "S", "128k", "receiver's window at first"),
    "media-rcv-ts-offset": Param(_timestamp_offset, "u", "S", "none", "where the media's receive time is stored"),
    "channel-rcv-ts-offset": Param(_timestamp_offset, "u", "S", "none", "where the receive time is stored"),
    "channel-snd-ts-offset": Param(_timestamp_offset, "u", "P", "none", "where the send time is stored"),
    "response-endpoint": Param(_address, "u", "", "none", "for applications; no driver reads it"),
    "response-correlation-id": Param(_response_correlation_id, "u i", "P", "none", "the stream that is answered"),
    "nak-delay": Param(_time, "u", "S", "the driver's", "how long a gap is waited for before it is asked for"),
    "untethered-window-limit-timeout": Param(_time, "u i", "P S", "5s", "a slow untethered reader is cut off after"),
    "untethered-linger-timeout": Param(_time, "u i", "P S", "the window limit's", "and may finish what it has for"),
    "untethered-resting-timeout": Param(_time, "u i", "P S", "10s", "and joins again after"),
    "max-resend": Param(_integer(1, 256), "u", "P", "16", "retransmits at once"),
    "stream-id": Param(_i32, "u i", "P S", "none", "for people; the stream id of the call counts"),
    "pub-wnd": Param(_size, "u i", "P", "half a term", "how far a publisher may be ahead"),
    "ats": Param(parse_bool, "u", "P S", "false", "transport security, which no open driver has"),
}


class ChannelParams(TypedDict, total=False):
    """Keywords of `Channel.ipc` and `Channel.udp`: Aeron's keys in snake_case, with their unit at the end."""

    tags: str | int | None
    control_mode: str | None
    mtu_bytes: int | None
    term_bytes: int | None
    init_term_id: int | None
    term_id: int | None
    term_offset: int | None
    session_id: int | str | None
    linger_ns: int | None
    alias: str | None
    sparse: bool | None
    eos: bool | None
    tether: bool | None
    rejoin: bool | None
    ssc: bool | None
    response_correlation_id: int | str | None
    untethered_window_limit_timeout_ns: int | None
    untethered_linger_timeout_ns: int | None
    untethered_resting_timeout_ns: int | None
    stream_id: int | None
    pub_wnd_bytes: int | None


class UdpParams(ChannelParams, total=False):
    """Keywords of `Channel.udp`, besides the endpoint."""

    interface: str | None
    control: str | None
    ttl: int | None
    reliable: bool | None
    cc: str | None
    fc: str | None
    gtag: int | None
    group: bool | str | None
    so_sndbuf_bytes: int | None
    so_rcvbuf_bytes: int | None
    rcv_wnd_bytes: int | None
    media_rcv_ts_offset: int | str | None
    channel_rcv_ts_offset: int | str | None
    channel_snd_ts_offset: int | str | None
    response_endpoint: str | None
    nak_delay_ns: int | None
    max_resend: int | None
    ats: bool | None


SIZES: Final = {
    "mtu_bytes": "mtu",
    "term_bytes": "term-length",
    "pub_wnd_bytes": "pub-wnd",
    "rcv_wnd_bytes": "rcv-wnd",
    "so_sndbuf_bytes": "so-sndbuf",
    "so_rcvbuf_bytes": "so-rcvbuf",
}
"""Keywords in bytes, and the keys that they set."""


def keywords_of(media: str) -> list[str]:
    """The keywords that build a channel of a media."""
    if media == "ipc":
        return list(ChannelParams.__annotations__)
    return ["endpoint", *ChannelParams.__annotations__, *UdpParams.__annotations__]
