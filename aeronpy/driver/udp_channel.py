"""A UDP channel as its sockets need it: parsed, checked, resolved (spec: network protocol, section 2)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Final

from aeronpy.driver.addresses import Address, find_interface, parse_address, resolve_host
from aeronpy.driver.channel_values import bad_value, size_of, tags_of, value_of
from aeronpy.driver.context import MediaDriverContext
from aeronpy.driver.error_code import ErrorCode, refuse
from aeronpy.uri import ChannelUri

_unique: Final = itertools.count()
_CONTROL_MODES: Final = ("dynamic", "manual", "response")


@dataclass(frozen=True)
class UdpChannel:
    """Where a channel sends to or listens, and the key by which endpoints are shared."""

    text: str
    uri: ChannelUri
    canonical_form: str
    channel_tag: int | None
    remote: Address
    local: Address
    interface_index: int
    has_explicit_endpoint: bool
    has_explicit_control: bool
    ttl: int
    so_sndbuf: int | None
    so_rcvbuf: int | None

    @classmethod
    def parse(cls, text: str, uri: ChannelUri, context: MediaDriverContext) -> UdpChannel:
        """Raises RegistrationError: 1 for grammar, 9 for an unknown host, 8 for what is not supported yet."""
        _check_modes(uri)
        control, endpoint = uri.get("control"), uri.get("endpoint")
        tag = tags_of(uri)[0]
        if uri.get("ats") == "true":
            raise refuse(ErrorCode.GENERIC_ERROR, f"ats=true is not available: {uri}")
        if endpoint is None and control is None and tag is None:
            raise refuse(ErrorCode.INVALID_CHANNEL, f"URI must have endpoint, control or tags: {uri}")
        control_address = None if control is None else _resolve(control, text)
        endpoint_address = (
            Address.any_of(is_v6=control_address is not None and control_address.is_v6)
            if endpoint is None
            else _resolve(endpoint, text)
        )
        if endpoint_address.is_multicast:
            raise refuse(ErrorCode.NOT_SUPPORTED, f"multicast is not supported yet: {uri}")
        if control_address is not None and control_address.is_v6 != endpoint_address.is_v6:
            raise refuse(ErrorCode.INVALID_CHANNEL, f"endpoint and control are of different address families: {uri}")
        local, index = _local(uri, control_address, endpoint_address)
        written_local = control if control is not None else str(local)
        written_remote = endpoint if endpoint is not None else str(endpoint_address)
        needs_suffix = (
            (endpoint is None and control is None)
            or (endpoint is not None and endpoint_address.port == 0)
            or (control_address is not None and control_address.port == 0)
        )
        suffix = "" if not needs_suffix else f"#{tag}" if tag is not None else f"-{next(_unique)}"
        return cls(
            text=text,
            uri=uri,
            canonical_form=f"UDP-{written_local}-{written_remote}{suffix}",
            channel_tag=tag,
            remote=endpoint_address,
            local=local,
            interface_index=index,
            has_explicit_endpoint=endpoint is not None,
            has_explicit_control=control is not None,
            ttl=_ttl(uri, context),
            so_sndbuf=_buffer_length(uri, "so-sndbuf"),
            so_rcvbuf=_buffer_length(uri, "so-rcvbuf"),
        )

    @property
    def is_group(self) -> bool:
        """Does one publication have many receivers by design?"""
        return False

    @property
    def names_addresses(self) -> bool:
        """False for a mere reference by tag."""
        return self.has_explicit_endpoint or self.has_explicit_control

    def native_settings(self, context: MediaDriverContext) -> dict[str, Any]:
        """For the native endpoints."""
        return {
            "remote_data": self.remote.pack(),
            "remote_control": self.remote.pack(),
            "local_data": self.local.pack(),
            "local_control": self.local.pack(),
            "interface_index": self.interface_index,
            "control_mode": 0,
            "is_multicast": False,
            "has_explicit_endpoint": self.has_explicit_endpoint,
            "has_explicit_control": self.has_explicit_control,
            "ttl": self.ttl,
            "so_sndbuf": context.socket_so_sndbuf if self.so_sndbuf is None else self.so_sndbuf,
            "so_rcvbuf": context.socket_so_rcvbuf if self.so_rcvbuf is None else self.so_rcvbuf,
            "channel_snd_timestamp_offset": -1,
            "channel_rcv_timestamp_offset": -1,
            "media_rcv_timestamp_offset": -1,
            "group_tag": None,
        }


def _check_modes(uri: ChannelUri) -> None:
    mode = uri.get("control-mode")
    if mode is None:
        return
    if mode not in _CONTROL_MODES:
        raise refuse(ErrorCode.INVALID_CHANNEL, f"control-mode={mode} is none of {', '.join(_CONTROL_MODES)}: {uri}")
    if mode == "dynamic" and uri.get("control") is None:
        raise refuse(ErrorCode.INVALID_CHANNEL, f"control-mode=dynamic needs control: {uri}")
    raise refuse(ErrorCode.NOT_SUPPORTED, f"control-mode={mode} is not supported yet: {uri}")


def _resolve(written: str, channel: str) -> Address:
    host, port = parse_address(written, channel)
    return Address(resolve_host(host), port)


def _local(uri: ChannelUri, control: Address | None, endpoint: Address) -> tuple[Address, int]:
    if control is not None:
        return control, 0
    interface = uri.get("interface")
    if interface is None:
        return Address.any_of(is_v6=endpoint.is_v6), 0
    return find_interface(interface, is_v6=endpoint.is_v6, wants_multicast=False)


def _ttl(uri: ChannelUri, context: MediaDriverContext) -> int:
    ttl = value_of(uri, "ttl", int, 0)
    if ttl < 0:
        raise bad_value(uri, "ttl", "it is negative")
    return min(ttl, 255) or context.socket_multicast_ttl


def _buffer_length(uri: ChannelUri, key: str) -> int | None:
    length = size_of(uri, key, 0)
    if length >= 1 << 31:
        raise bad_value(uri, key, "no socket has so much")
    return None if uri.get(key) is None else length
