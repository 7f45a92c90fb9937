"""Sockets that subscriptions receive on, and what they want to hear (spec: client/driver protocol, 10.4)."""

from __future__ import annotations

from collections import Counter

from aeronpy._core.native import ReceiveEndpointCore
from aeronpy.driver.channel_endpoints import ChannelEndpoint, when_there_is_room
from aeronpy.driver.office import Office
from aeronpy.driver.udp_channel import UdpChannel


class ReceiveEndpoint(ChannelEndpoint):
    """Shared by the subscriptions of one channel."""

    def __init__(self, office: Office, channel: UdpChannel, endpoint_id: int) -> None:
        super().__init__(office, channel, endpoint_id, is_send=False)
        self.image_count = 0
        self._interest: Counter[tuple[int, int | None]] = Counter()

    @property
    def core(self) -> ReceiveEndpointCore:
        """The native half."""
        assert isinstance(self._core, ReceiveEndpointCore)
        return self._core

    @property
    def is_used(self) -> bool:
        """Is there a subscription or an image?"""
        return bool(self._interest) or self.image_count > 0

    def add_interest(self, stream_id: int, session_id: int | None) -> None:
        """One more subscription wants this."""
        if self._interest[stream_id, session_id] == 0:
            when_there_is_room(lambda: self.core.add_stream(stream_id, session_id))
        self._interest[stream_id, session_id] += 1

    def remove_interest(self, stream_id: int, session_id: int | None) -> None:
        """One less."""
        self._interest[stream_id, session_id] -= 1
        if self._interest[stream_id, session_id] == 0:
            del self._interest[stream_id, session_id]
            when_there_is_room(lambda: self.core.remove_stream(stream_id, session_id))
