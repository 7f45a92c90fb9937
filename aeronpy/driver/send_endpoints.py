"""Sockets that publications send from (spec: client/driver protocol, 9.3)."""

from __future__ import annotations

from aeronpy._core.native import SendEndpointCore
from aeronpy.driver.addresses import Address
from aeronpy.driver.channel_endpoints import ChannelEndpoint, when_there_is_room
from aeronpy.driver.office import Office
from aeronpy.driver.udp_channel import UdpChannel


class SendEndpoint(ChannelEndpoint):
    """Shared by the publications of one channel."""

    def __init__(self, office: Office, channel: UdpChannel, endpoint_id: int) -> None:
        super().__init__(office, channel, endpoint_id, is_send=True)
        self.publication_count = 0

    @property
    def core(self) -> SendEndpointCore:
        """The native half."""
        assert isinstance(self._core, SendEndpointCore)
        return self._core

    def _start(self) -> None:
        self.counters.bound(str(Address.unpack(self.core.bound_address())))
        when_there_is_room(self.core.add)

    @property
    def is_used(self) -> bool:
        """Is there a publication?"""
        return self.publication_count > 0
