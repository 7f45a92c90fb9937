"""Sockets of receive endpoints: one for an ordinary subscription, any number for a multi-destination one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeronpy._core.native import ReceiveDestinationCore
from aeronpy.driver.channels.addresses import Address
from aeronpy.driver.channels.channel_endpoints import when_there_is_room
from aeronpy.driver.channels.udp_channel import UdpChannel
from aeronpy.driver.channels.wildcard_ports import WildcardPorts
from aeronpy.driver.conductor.counters import NULL_ID, ChannelStatus, add_local_address

if TYPE_CHECKING:
    from aeronpy.driver.subscriptions.receive_endpoints import ReceiveEndpoint


class ReceiveDestination:
    """One bound socket, known to the receiver until `remove`."""

    def __init__(
        self, endpoint: ReceiveEndpoint, channel: UdpChannel, destination_id: int, ports: WildcardPorts
    ) -> None:
        office = endpoint.office
        settings = channel.native_settings(office.context)
        self.channel = channel
        self.destination_id = destination_id
        self.control = channel.local  # where its publisher is, when it names one
        self._native = office.core
        self._ports = ports
        self._taken = ports.take(channel.remote)
        settings["remote_data"] = self._taken.pack()
        try:
            self._core = ReceiveDestinationCore(endpoint.core, settings, destination_id)
        except BaseException:
            ports.give_back(self._taken)
            raise
        self.bound = str(Address.unpack(self._core.bound_address()))
        self._address_id = NULL_ID
        try:
            self._address_id = add_local_address(
                office.core,
                is_send=False,
                status_id=endpoint.status_id,
                address=self.bound,
                registration_id=endpoint.endpoint_id,
            )
            when_there_is_room(self._core.add)
        except BaseException:
            self.free()
            raise

    def remove(self) -> None:
        """Have the receiver let go of it; `free` follows."""
        self.closing()
        when_there_is_room(self._core.remove)

    def closing(self) -> None:
        """Its counter says that it is on its way out."""
        self._native.set_counter(self._address_id, ChannelStatus.CLOSING)

    def redirect(self, control: Address) -> None:
        """The name of its explicit control address stands for another one now."""
        self.control = control
        when_there_is_room(lambda: self._core.set_control(control.pack()))

    def free(self) -> None:
        """The receiver let go of it."""
        self._core.free()
        self._ports.give_back(self._taken)
        if self._address_id != NULL_ID:
            self._native.free_counter(self._address_id)
            self._address_id = NULL_ID
