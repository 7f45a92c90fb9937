"""Where subscriptions receive, and what they want to hear (spec: client/driver protocol, 10.4 and 11.2)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from aeronpy._core.native import ReceiveEndpointCore
from aeronpy.driver.channels.channel_endpoints import ChannelEndpoint, when_there_is_room
from aeronpy.driver.channels.udp_channel import ControlMode, UdpChannel
from aeronpy.driver.channels.wildcard_ports import WildcardPorts
from aeronpy.driver.conductor.office import Office
from aeronpy.driver.subscriptions.receive_destinations import ReceiveDestination


class ReceiveEndpoint(ChannelEndpoint):
    """Shared by the subscriptions of one channel.

    That of an ordinary channel has one destination, with its own channel and id, for life.
    """

    def __init__(self, office: Office, channel: UdpChannel, endpoint_id: int, ports: WildcardPorts) -> None:
        self.image_count = 0
        self.response_count = 0  # response subscriptions that do not know their session yet
        self._ports = ports
        self._interest: Counter[tuple[int, int | None]] = Counter()
        self._destinations: dict[int, ReceiveDestination] = {}
        self._leaving: dict[int, ReceiveDestination] = {}
        super().__init__(office, channel, endpoint_id, is_send=False)

    @property
    def core(self) -> ReceiveEndpointCore:
        """The native half."""
        assert isinstance(self._core, ReceiveEndpointCore)
        return self._core

    @property
    def is_multi_destination(self) -> bool:
        """Do clients say where it receives, one by one?"""
        return self.channel.control_mode is ControlMode.MANUAL

    @property
    def is_used(self) -> bool:
        """Is there a subscription or an image?"""
        return bool(self._interest) or self.image_count > 0 or self.response_count > 0

    def _settings(self) -> dict[str, Any]:
        settings = super()._settings()
        if settings["group_tag"] is None:
            settings["group_tag"] = self.office.context.receiver_group_tag
        return settings

    def _start(self) -> None:
        if not self.is_multi_destination:
            destination = ReceiveDestination(self, self.channel, self.endpoint_id, self._ports)
            self._destinations[self.endpoint_id] = destination
            self.counters.name_bound(destination.bound)
        self.counters.active()

    # --- what is wanted ---

    def add_interest(self, stream_id: int, session_id: int | None) -> None:
        """One more subscription wants this."""
        if self._interest[stream_id, session_id] == 0:
            when_there_is_room(lambda: self.core.add_stream(stream_id, session_id))
        self._interest[stream_id, session_id] += 1

    def elicit(self, stream_id: int, session_id: int) -> None:
        """Ask again, at once, for a session that is wanted."""
        when_there_is_room(lambda: self.core.add_stream(stream_id, session_id))

    def remove_interest(self, stream_id: int, session_id: int | None) -> None:
        """One less."""
        self._interest[stream_id, session_id] -= 1
        if self._interest[stream_id, session_id] == 0:
            del self._interest[stream_id, session_id]
            when_there_is_room(lambda: self.core.remove_stream(stream_id, session_id))

    # --- destinations of a multi-destination subscription ---

    def add_destination(self, channel: UdpChannel, destination_id: int) -> None:
        """Receive there too."""
        self._destinations[destination_id] = ReceiveDestination(self, channel, destination_id, self._ports)

    def remove_destination(self, channel: UdpChannel) -> None:
        """Receive there no more; nothing happens where that is unknown."""
        for destination_id, destination in list(self._destinations.items()):
            if destination.channel.canonical_form == channel.canonical_form:
                self._leaving[destination_id] = self._destinations.pop(destination_id)
                destination.remove()
                return

    def destination(self, destination_id: int) -> ReceiveDestination | None:
        """One that is there."""
        return self._destinations.get(destination_id)

    def on_destination_gone(self, destination_id: int) -> None:
        """The receiver let go of one."""
        destination = self._leaving.pop(destination_id, None)
        if destination is not None:
            destination.free()

    # --- the end ---

    def _closing(self) -> None:
        super()._closing()
        for destination in self._destinations.values():
            destination.closing()

    def free(self) -> None:
        """The receiver let go of it, and of its destinations."""
        for destination in (*self._destinations.values(), *self._leaving.values()):
            destination.free()
        self._destinations.clear()
        self._leaving.clear()
        super().free()
