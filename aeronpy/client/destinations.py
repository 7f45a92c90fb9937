"""Destinations that are added to, and removed from, a publication or a subscription while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from aeronpy.client import protocol
from aeronpy.client.arguments import channel_text
from aeronpy.client.protocol import Command

if TYPE_CHECKING:
    from aeronpy.client.conductor import Conductor


class Destinations:
    """What publications and subscriptions with ``control-mode=manual`` share."""

    _ADD: ClassVar[Command]
    _REMOVE: ClassVar[Command]

    def _live_owner(self) -> Conductor:
        """The conductor of one that is open."""
        raise NotImplementedError

    def _destinations_id(self) -> int:
        """The id under which the driver keeps the destinations."""
        raise NotImplementedError

    def _send(self, command: Command, destination: str | int, wait: bool) -> int:
        conductor = self._live_owner()

        def body(client_id: int, correlation_id: int) -> bytes:
            ids = client_id, correlation_id, self._destinations_id()
            if isinstance(destination, int):
                return protocol.destination_by_id(*ids, destination)
            return protocol.destination(*ids, destination)

        what = f"{command.name} {destination}"
        if wait:
            return conductor.ask(command, body, what)
        correlation_id = conductor.core.next_correlation_id()
        conductor.calls.note(correlation_id, command, body(conductor.core.client_id, correlation_id), what)
        return correlation_id

    def add_destination(self, channel: object, *, strict: bool = True) -> int:
        """Add a destination and wait for the driver; returns the destination's id.

        Raises ChannelError, RegistrationError with the driver's code and text, DriverTimeout, StateError once closed.
        """
        return self._send(self._ADD, channel_text(channel, strict), True)

    def remove_destination(self, channel: object, *, strict: bool = True) -> None:
        """Remove a destination and wait for the driver. Raises as `add_destination`."""
        self._send(self._REMOVE, channel_text(channel, strict), True)

    def async_add_destination(self, channel: object, *, strict: bool = True) -> int:
        """Start adding a destination; returns its id, which `Aeron.is_command_active` knows until the driver answers.

        A refusal goes to the client's error handler.
        """
        return self._send(self._ADD, channel_text(channel, strict), False)

    def async_remove_destination(self, channel: object, *, strict: bool = True) -> int:
        """Start removing a destination; returns the command's id, otherwise as `async_add_destination`."""
        return self._send(self._REMOVE, channel_text(channel, strict), False)
