"""A UDP channel as its sockets need it: parsed, checked, resolved (spec: network protocol, section 2)."""

from __future__ import annotations

import itertools
from enum import IntEnum
from typing import Any, Final, NamedTuple

from aeronpy.driver.channels.addresses import Address, Resolver, find_interface, resolve_address, resolve_host
from aeronpy.driver.channels.channel_values import bad_value, i64_of, size_of, tags_of, value_of
from aeronpy.driver.conductor.refusals import refuse
from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.protocol import ErrorCode
from aeronpy.uri import RESERVED_OFFSET, ChannelUri, parse_integer

NO_TIMESTAMP: Final = -1
_TIMESTAMP_LENGTH: Final = 8
_unique: Final = itertools.count()


class ControlMode(IntEnum):
    """Who says where a publication sends to; the values of ``apy_control_mode_t``."""

    NONE = 0
    DYNAMIC = 1
    MANUAL = 2
    RESPONSE = 3


class TimestampOffsets(NamedTuple):
    """Bytes into a payload where time is written, RESERVED_OFFSET for the header's value, NO_TIMESTAMP for none."""

    media_receive: int
    channel_receive: int
    channel_send: int

    @classmethod
    def parse(cls, uri: ChannelUri) -> TimestampOffsets:
        """Error 11 where one is no offset, or two overlap."""
        names = ("media-rcv-ts-offset", "channel-rcv-ts-offset", "channel-snd-ts-offset")
        offsets = [value_of(uri, name, _parse_offset, NO_TIMESTAMP) for name in names]
        given = [(name, offset) for name, offset in zip(names, offsets, strict=True) if offset != NO_TIMESTAMP]
        for (name, offset), (other, another) in itertools.combinations(given, 2):
            if abs(offset - another) < _TIMESTAMP_LENGTH:
                raise bad_value(
                    uri, name, f"it overlaps {other}={uri.get(other)}: keep {_TIMESTAMP_LENGTH} bytes apart"
                )
        return cls(*offsets)


class UdpChannel(NamedTuple):
    """Where a channel sends to or listens, and the key by which endpoints are shared.

    ``remote`` is the data address, and ``remote_control`` where a receiver's answers go: they differ for multicast.
    ``ttl`` is what sockets get, ``setup_ttl`` what the channel itself says.
    """

    text: str
    uri: ChannelUri
    canonical_form: str
    channel_tag: int | None
    control_mode: ControlMode
    remote: Address
    remote_control: Address
    local: Address
    interface_index: int
    is_multicast: bool
    has_explicit_endpoint: bool
    has_explicit_control: bool
    ttl: int
    setup_ttl: int
    so_sndbuf: int | None
    so_rcvbuf: int | None
    group_tag: int | None
    timestamps: TimestampOffsets

    @classmethod
    def parse(
        cls,
        text: str,
        uri: ChannelUri,
        context: MediaDriverContext,
        *,
        resolve: Resolver = resolve_host,
        is_destination: bool = False,
    ) -> UdpChannel:
        """Raises RegistrationError: 1 for grammar, 9 for an unknown host, 11 for bad values.

        May take as long as ``resolve`` does; all else is quick. Any thread.
        """
        mode = _control_mode(uri)
        control, endpoint = uri.get("control"), uri.get("endpoint")
        tag = tags_of(uri)[0]
        if uri.get("ats") == "true":
            raise refuse(ErrorCode.GENERIC_ERROR, f"ats=true is not available: {uri}")
        if endpoint is None and control is None and tag is None and mode is ControlMode.NONE:
            raise refuse(ErrorCode.INVALID_CHANNEL, f"URI must have endpoint, control, tags or control-mode: {uri}")
        control_address = None if control is None else resolve_address(control, text, resolve)
        endpoint_address = (
            Address.any_of(is_v6=control_address is not None and control_address.is_v6)
            if endpoint is None
            else resolve_address(endpoint, text, resolve)
        )
        if control_address is not None and control_address.is_v6 != endpoint_address.is_v6:
            raise refuse(ErrorCode.INVALID_CHANNEL, f"endpoint and control are of different address families: {uri}")
        is_multicast = endpoint_address.is_multicast
        if is_multicast and not endpoint_address.is_data_group:
            raise refuse(
                ErrorCode.GENERIC_ERROR, f"multicast data address must be odd, for the even one after it: {uri}"
            )
        local, index = _local(uri, control_address, endpoint_address)
        form = _form(control, endpoint, local, endpoint_address, is_multicast=is_multicast)
        ports = [one.port for one in (endpoint_address if endpoint else None, control_address) if one is not None]
        if not is_destination and not is_multicast and 0 in (ports or [0]):
            form += f"#{tag}" if tag is not None else f"-{next(_unique)}"
        said_ttl = _ttl(uri)
        ttl = said_ttl if is_multicast else 0
        return cls(
            text=text,
            uri=uri,
            canonical_form=form,
            channel_tag=tag,
            control_mode=mode,
            remote=endpoint_address,
            remote_control=endpoint_address.control_group if is_multicast else endpoint_address,
            local=local,
            interface_index=index,
            is_multicast=is_multicast,
            has_explicit_endpoint=endpoint is not None,
            has_explicit_control=control is not None,
            ttl=ttl or (context.socket_multicast_ttl if is_multicast else 0),
            setup_ttl=ttl,
            so_sndbuf=_buffer_length(uri, "so-sndbuf"),
            so_rcvbuf=_buffer_length(uri, "so-rcvbuf"),
            group_tag=i64_of(uri, "gtag"),
            timestamps=TimestampOffsets.parse(uri),
        )

    @property
    def is_mdc(self) -> bool:
        """Multi-destination cast?"""
        return self.control_mode in (ControlMode.DYNAMIC, ControlMode.MANUAL)

    @property
    def is_group(self) -> bool:
        """Does one publication have many receivers by design?"""
        return self.is_multicast or self.is_mdc

    @property
    def is_original(self) -> bool:
        """False for a mere reference by tag, which needs an endpoint that is there."""
        return self.has_explicit_endpoint or self.has_explicit_control or self.control_mode is ControlMode.MANUAL

    @property
    def is_wildcard(self) -> bool:
        """Does it name no address and no port?"""
        return self.remote.is_wildcard and self.local.is_wildcard

    def check_tag_match(self, existing: UdpChannel, remote: Address | None = None) -> None:
        """Error 11 where it has the tag of an endpoint that it does not fit; ``remote``: its address by now."""
        tag = self.channel_tag
        if self.control_mode not in (ControlMode.NONE, existing.control_mode):
            raise refuse(
                ErrorCode.GENERIC_ERROR,
                f"matching tag {tag} has mismatched control-mode: {self.text} <> {existing.text}",
            )
        there = (existing.remote if remote is None else remote, existing.local)
        if not self.is_wildcard and (self.remote, self.local) != there:
            raise refuse(
                ErrorCode.GENERIC_ERROR,
                f"matching tag {tag} has mismatched endpoint or control: {self.text} <> {existing.text}",
            )

    def native_settings(self, context: MediaDriverContext) -> dict[str, Any]:
        """For the native endpoints."""
        return {
            "remote_data": self.remote.pack(),
            "remote_control": self.remote_control.pack(),
            "local_data": self.local.pack(),
            "local_control": self.local.pack(),
            "interface_index": self.interface_index,
            "control_mode": int(self.control_mode),
            "is_multicast": self.is_multicast,
            "has_explicit_endpoint": self.has_explicit_endpoint,
            "has_explicit_control": self.has_explicit_control,
            "ttl": self.ttl,
            "so_sndbuf": context.socket_so_sndbuf if self.so_sndbuf is None else self.so_sndbuf,
            "so_rcvbuf": context.socket_so_rcvbuf if self.so_rcvbuf is None else self.so_rcvbuf,
            "channel_snd_timestamp_offset": self.timestamps.channel_send,
            "channel_rcv_timestamp_offset": self.timestamps.channel_receive,
            "media_rcv_timestamp_offset": self.timestamps.media_receive,
            "group_tag": self.group_tag,
        }


def _control_mode(uri: ChannelUri) -> ControlMode:
    given = uri.get("control-mode")
    if given is None:
        return ControlMode.NONE
    modes = {one.name.lower(): one for one in ControlMode if one is not ControlMode.NONE}
    if given not in modes:
        raise refuse(ErrorCode.INVALID_CHANNEL, f"control-mode={given} is none of {', '.join(modes)}: {uri}")
    if given == "dynamic" and uri.get("control") is None:
        raise refuse(ErrorCode.INVALID_CHANNEL, f"control-mode=dynamic needs control: {uri}")
    return modes[given]


def _local(uri: ChannelUri, control: Address | None, endpoint: Address) -> tuple[Address, int]:
    interface = uri.get("interface")
    if endpoint.is_multicast:
        anywhere = "[::]/0" if endpoint.is_v6 else "0.0.0.0/0"
        return find_interface(interface or anywhere, is_v6=endpoint.is_v6, wants_multicast=True)
    if control is not None:
        return control, 0
    if interface is None:
        return Address.any_of(is_v6=endpoint.is_v6), 0
    return find_interface(interface, is_v6=endpoint.is_v6, wants_multicast=False)


def _form(control: str | None, endpoint: str | None, local: Address, remote: Address, *, is_multicast: bool) -> str:
    """What is compared is text as it was written, but for multicast."""
    if is_multicast:
        return f"UDP-{local}-{remote}"
    return f"UDP-{control if control is not None else local}-{endpoint if endpoint is not None else remote}"


def _parse_offset(text: str) -> int:
    if text == "reserved":
        return RESERVED_OFFSET
    return parse_integer(text, 0, (1 << 31) - 1)


def _ttl(uri: ChannelUri) -> int:
    return min(value_of(uri, "ttl", lambda text: parse_integer(text, 0, (1 << 31) - 1), 0), 255)


def _buffer_length(uri: ChannelUri, key: str) -> int | None:
    length = size_of(uri, key, 0)
    if length >= 1 << 31:
        raise bad_value(uri, key, "no socket has so much")
    return None if uri.get(key) is None else length
