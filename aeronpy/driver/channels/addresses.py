"""Names to socket addresses, and the interfaces of this machine (spec: network protocol, sections 2.3 and 2.4)."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from aeronpy._core import native
from aeronpy.driver.conductor.refusals import refuse
from aeronpy.protocol import ErrorCode
from aeronpy.uri import split_address

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

SOCKADDR_LENGTH: Final = 128
_IFF_UP, _IFF_LOOPBACK, _IFF_MULTICAST = 0x1, 0x8, 0x1000

Resolver = Callable[[str], str]


def ip_address(text: str | bytes) -> IPv4Address | IPv6Address:
    """An address of either kind; raises ValueError. Who has IPC alone never needs what knows of them."""
    import ipaddress

    return ipaddress.ip_address(text)


class Address(NamedTuple):
    """An IP address, as text, with a port; ``scope``, the interface of a link-local one, does not make it another."""

    host: str
    port: int
    scope: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and self[:2] == other[:2]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:2])

    @property
    def is_v6(self) -> bool:
        """True for IPv6."""
        return ":" in self.host

    @property
    def is_multicast(self) -> bool:
        """True for a multicast group."""
        return ip_address(self.host).is_multicast

    @property
    def is_data_group(self) -> bool:
        """May this multicast group carry data? Its last byte is odd then, and the group after it carries control."""
        return bool(ip_address(self.host).packed[-1] & 1)

    @property
    def control_group(self) -> Address:
        """Where status messages of receivers of this multicast group go: the last byte plus one, the same port."""
        packed = ip_address(self.host).packed
        group = ip_address(packed[:-1] + bytes([(packed[-1] + 1) & 0xFF]))
        return Address(str(group), self.port, self.scope)

    @property
    def is_wildcard(self) -> bool:
        """True for any address with any port."""
        return self.port == 0 and ip_address(self.host).is_unspecified

    @classmethod
    def any_of(cls, *, is_v6: bool) -> Address:
        """Any address, any port."""
        return cls("::" if is_v6 else "0.0.0.0", 0)

    @classmethod
    def unpack(cls, sockaddr: bytes) -> Address:
        """Of the bytes of a ``sockaddr_storage``."""
        host, _, port = native.format_address(sockaddr).rpartition(":")
        return cls(host.strip("[]"), int(port))

    def pack(self) -> bytes:
        """As bytes of a ``sockaddr_storage``."""
        import socket

        if self.is_v6:
            head = struct.pack("=HHI", socket.AF_INET6, socket.htons(self.port), 0)
            packed = head + socket.inet_pton(socket.AF_INET6, self.host) + struct.pack("=I", self.scope)
        else:
            packed = struct.pack("=HH", socket.AF_INET, socket.htons(self.port)) + socket.inet_aton(self.host)
        return packed.ljust(SOCKADDR_LENGTH, b"\0")

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if self.is_v6 else f"{self.host}:{self.port}"


def parse_address(text: str, channel: str) -> tuple[str, int]:
    """Host and port as written; error 1 where it is no address."""
    try:
        return split_address(text)
    except ValueError as error:
        raise refuse(ErrorCode.INVALID_CHANNEL, f"{error}: {channel}") from None


def is_literal(text: str) -> bool:
    """Is the host of this ``host:port`` a number, which stays what it is?"""
    try:
        ip_address(split_address(text)[0])
    except ValueError:
        return False
    return True


def resolve_host(host: str, *, prefers_v6: bool = False) -> str:
    """The IP address of a name, IPv4 first; error 9 when there is none. May take as long as the system's resolver."""
    import socket

    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise refuse(
            ErrorCode.UNKNOWN_HOST, f"Unable to resolve host={host}: unknown host ({error.strerror})"
        ) from None
    families = (socket.AF_INET6, socket.AF_INET) if prefers_v6 else (socket.AF_INET, socket.AF_INET6)
    for family in families:
        for one in found:
            if one[0] == family:
                return str(one[4][0]).partition("%")[0]
    raise refuse(ErrorCode.UNKNOWN_HOST, f"Unable to resolve host={host}: unresolved")


def resolve_address(text: str, channel: str, resolve: Resolver = resolve_host) -> Address:
    """Where ``host:port`` is: error 1 where it is no address, 9 where nobody knows the host."""
    host, port = parse_address(text, channel)
    return Address(resolve(host), port)


class Interface:
    """One address of this machine."""

    def __init__(self, name: str, host: str, prefix_length: int, index: int, flags: int) -> None:
        self.name = name
        self.host = host
        self.prefix_length = prefix_length
        self.index = index
        self.flags = flags

    @property
    def is_v6(self) -> bool:
        """True for IPv6."""
        return ":" in self.host

    def address(self, port: int) -> Address:
        """To bind a socket to."""
        return Address(self.host, port, self.index if ip_address(self.host).is_link_local else 0)


def _interfaces() -> list[Interface]:
    return [Interface(*found) for found in native.interfaces()]


def find_interface(text: str, *, is_v6: bool, wants_multicast: bool) -> tuple[Address, int]:
    """Address and index of the interface that a channel names; error 11 where there is none, 1 for its grammar."""
    named = re.fullmatch(r"\{([^}]+)\}(?::(\d+))?", text)
    if named is not None:
        return _by_name(named[1], int(named[2] or 0), is_v6, text)
    found = re.fullmatch(r"(?:\[([^\]]+)\]|([^:/\[\]]+))(?::(\d+))?(?:/(\d+))?", text)
    if found is None:
        raise refuse(
            ErrorCode.INVALID_CHANNEL, f"interface={text} is neither an address, with prefix or not, nor {{name}}"
        )
    host = resolve_host(found[1] or found[2], prefers_v6=is_v6)
    port = int(found[3] or 0)
    address = ip_address(host)
    if (address.version == 6) != is_v6:
        raise _no_interface(text)
    if address.is_unspecified and not wants_multicast:
        return Address(host, port), 0
    prefix = int(found[4]) if found[4] is not None else address.max_prefixlen
    if prefix > address.max_prefixlen:
        raise refuse(ErrorCode.GENERIC_ERROR, f"interface={text}: prefix {prefix} is longer than the address")
    best = _best_match(f"{host}/{prefix}", is_v6=is_v6)
    if best is None:
        raise _no_interface(text)
    return best.address(port), best.index


def _no_interface(text: str) -> Exception:
    return refuse(ErrorCode.GENERIC_ERROR, f"could not find matching interface='{text}'")


def _by_name(name: str, port: int, is_v6: bool, text: str) -> tuple[Address, int]:
    for one in _interfaces():
        if one.name == name and one.is_v6 == is_v6 and one.flags & _IFF_UP:
            return one.address(port), one.index
    raise _no_interface(text)


def _best_match(network: str, *, is_v6: bool) -> Interface | None:
    """Multicast-capable ones come before loopback, the longest netmask first."""
    import ipaddress

    wanted = ipaddress.ip_network(network, strict=False)
    best: Interface | None = None
    best_prefix = -1
    for one in _interfaces():
        if one.is_v6 != is_v6 or not one.flags & _IFF_UP or ip_address(one.host) not in wanted:
            continue
        if one.flags & _IFF_LOOPBACK:
            best = best or one
        elif one.flags & _IFF_MULTICAST and one.prefix_length > best_prefix:
            best, best_prefix = one, one.prefix_length
    return best
