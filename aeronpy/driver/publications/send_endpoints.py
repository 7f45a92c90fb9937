"""Sockets that publications send from, and where they send to (spec: client/driver protocol, 9.3 and 11.1)."""

from __future__ import annotations

from typing import Any

from aeronpy._core.native import SendEndpointCore
from aeronpy.driver.channels.addresses import Address
from aeronpy.driver.channels.channel_endpoints import ChannelEndpoint, when_there_is_room
from aeronpy.driver.channels.udp_channel import ControlMode, UdpChannel
from aeronpy.driver.channels.wildcard_ports import WildcardPorts
from aeronpy.driver.conductor.counters import CounterType, channel_key
from aeronpy.driver.conductor.office import Office

OWN_ADDRESS = -1


class SendDestination:
    """One that a client added: as it was written, and where that is by now; None where nobody knows."""

    __slots__ = ("address", "text")

    def __init__(self, text: str, address: Address | None) -> None:
        self.text = text
        self.address = address


class SendEndpoint(ChannelEndpoint):
    """Shared by the publications of one channel."""

    def __init__(self, office: Office, channel: UdpChannel, endpoint_id: int, ports: WildcardPorts) -> None:
        self.publication_count = 0
        self.destinations: dict[int, SendDestination] = {}
        self._ports = ports
        # Without control the system chooses, whatever the range.
        self._has_port = channel.has_explicit_control
        self._local = ports.take(channel.local) if self._has_port else channel.local
        self._destination_count_id: int | None = None
        try:
            if channel.is_mdc:
                self._destination_count_id = office.core.allocate_counter(
                    CounterType.MDC_NUM_DEST,
                    channel_key(channel.text),
                    f"mdc-num-dest: {channel.text}".encode("ascii", "replace"),
                    endpoint_id,
                    0,
                    0,
                    0,
                )
            super().__init__(office, channel, endpoint_id, is_send=True)
        except BaseException:
            self._give_back(office)
            raise

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {
            "local_data": self._local.pack(),
            "local_control": self._local.pack(),
            "destination_count_id": self._destination_count_id,
        }

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

    @property
    def is_manual(self) -> bool:
        """Do clients say where it sends to?"""
        return self.channel.control_mode is ControlMode.MANUAL

    def add_destination(self, destination_id: int, text: str, address: Address | None) -> None:
        """Send there too, as soon as its address is known."""
        packed = None if address is None else address.pack()
        when_there_is_room(lambda: self.core.add_destination(destination_id, packed))
        self.destinations[destination_id] = SendDestination(text, address)

    def remove_destination(self, destination_id: int) -> None:
        """Send there no more; nothing when it is not there."""
        if self.destinations.pop(destination_id, None) is not None:
            when_there_is_room(lambda: self.core.remove_destination(destination_id))

    def text_of(self, destination_id: int) -> str | None:
        """How a destination, or with OWN_ADDRESS the channel's endpoint, was written; None when it is gone."""
        if destination_id == OWN_ADDRESS:
            return self.channel.uri.get("endpoint")
        found = self.destinations.get(destination_id)
        return None if found is None else found.text

    def move(self, destination_id: int, address: Address) -> bool:
        """The name stands for this address now; False when it did before, or the destination is gone."""
        found = self.destinations.get(destination_id)
        known = self.remote if destination_id == OWN_ADDRESS else None if found is None else found.address
        if address == known or (destination_id != OWN_ADDRESS and found is None):
            return False
        when_there_is_room(lambda: self.core.move(destination_id, address.pack()))
        if found is not None:
            found.address = address
        else:
            self.remote = address
        return True

    def _give_back(self, office: Office) -> None:
        """What it holds beside its socket. Safe twice."""
        if self._has_port:
            self._has_port = False
            self._ports.give_back(self._local)
        if self._destination_count_id is not None:
            office.core.free_counter(self._destination_count_id)
            self._destination_count_id = None

    def free(self) -> None:
        """Its agent let go of it."""
        super().free()
        self._give_back(self.office)
