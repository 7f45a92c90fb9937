"""The names in channels, resolved where it delays nobody else (spec: client/driver protocol, 16.2)."""

from __future__ import annotations

import ipaddress

from aeronpy.driver.addresses import resolve_host
from aeronpy.driver.context import MediaDriverContext
from aeronpy.driver.resource_agent import Job, Lane
from aeronpy.driver.tasks import Task
from aeronpy.driver.udp_channel import UdpChannel
from aeronpy.uri import ChannelUri, split_address


class Naming:
    """One per driver."""

    def __init__(self, context: MediaDriverContext) -> None:
        self._context = context

    def parse_channel(self, text: str, uri: ChannelUri, *, is_destination: bool = False) -> Task[UdpChannel]:
        """A channel with its names resolved: on the spot where there are none, else by the resource agent."""

        def parse() -> UdpChannel:
            return UdpChannel.parse(text, uri, self._context, resolve=resolve_host, is_destination=is_destination)

        if not _has_names(uri):
            return parse()
        parsed = yield Job(Lane.NAMES, parse)
        assert isinstance(parsed, UdpChannel)
        return parsed


def _has_names(uri: ChannelUri) -> bool:
    return any(_is_name(uri.get(key)) for key in ("endpoint", "control", "interface"))


def _is_name(written: str | None) -> bool:
    """May somebody have to be asked for it?"""
    if written is None or written.startswith("{"):
        return False
    try:
        host, _ = split_address(written)
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False
