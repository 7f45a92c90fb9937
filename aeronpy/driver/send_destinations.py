"""Destinations of publications, and names that get new addresses (spec: client/driver protocol, 11.1)."""

from __future__ import annotations

from aeronpy.driver import system_counters
from aeronpy.driver.addresses import Address, is_literal, parse_address
from aeronpy.driver.channel_values import IPC_PREFIX, SPY_CHANNEL_PREFIX, check_destination, parse_channel
from aeronpy.driver.commands import Destination, RemoveDestinationById
from aeronpy.driver.error_code import ErrorCode, refuse, text_of
from aeronpy.driver.events import SilentEvent
from aeronpy.driver.network_publications import NetworkPublications
from aeronpy.driver.office import Office
from aeronpy.driver.send_endpoints import SendEndpoint
from aeronpy.driver.tasks import Task
from aeronpy.errors import AeronError, RegistrationError


class SendDestinations:
    """Of all publications. Belongs to the decision thread."""

    def __init__(self, office: Office, publications: NetworkPublications) -> None:
        self._office = office
        self._publications = publications
        self._in_resolution: set[tuple[int, int]] = set()

    def add(self, command: Destination) -> Task[None]:
        """ADD_DESTINATION. A host that nobody knows is accepted, and looked up again from time to time."""
        endpoint, text, address = yield from self._find(command)
        if address is not None and address.is_v6 != endpoint.channel.local.is_v6:
            raise refuse(
                ErrorCode.GENERIC_ERROR,
                f"destination {address} and the socket of {endpoint.channel.text} are of different address families",
            )
        endpoint.add_destination(command.correlation_id, text, address)

    def remove(self, command: Destination) -> Task[None]:
        """REMOVE_DESTINATION: all that are at the channel's address, or were written so. None is fine, too."""
        endpoint, text, address = yield from self._find(command)
        for destination_id, one in list(endpoint.destinations.items()):
            if one.text == text or (address is not None and one.address == address):
                endpoint.remove_destination(destination_id)

    def _find(self, command: Destination) -> Task[tuple[SendEndpoint, str, Address | None]]:
        """Whose destination it is, how its address is written, and where that is: None for a host nobody knows."""
        self._endpoint_of(command.registration_id, command.client_id)
        text = _endpoint_text(command.channel)
        address: Address | None = None
        try:
            address = yield from self._office.naming.resolve(text, command.channel, is_again=False)
        except RegistrationError as error:
            if error.error_code != ErrorCode.UNKNOWN_HOST:
                raise
            self._office.warn(f"destination of registrationId={command.registration_id}: {text_of(error)}")
        return self._endpoint_of(command.registration_id, command.client_id), text, address  # it may have gone

    def remove_by_id(self, command: RemoveDestinationById) -> None:
        """REMOVE_DESTINATION_BY_ID: fine when it is gone already."""
        self._endpoint_of(command.registration_id, command.client_id).remove_destination(command.destination_id)

    def on_silent(self, event: SilentEvent) -> Task[None]:
        """Nothing is heard from where a name points: look it up again, and go where it points now."""
        key = (event.endpoint_id, event.destination_id)
        endpoint = self._publications.endpoints.get(event.endpoint_id)
        text = None if endpoint is None else endpoint.text_of(event.destination_id)
        if endpoint is None or text is None or is_literal(text) or key in self._in_resolution:
            return
        self._in_resolution.add(key)
        try:
            address = yield from self._office.naming.resolve(text, endpoint.channel.text, is_again=True)
        except AeronError as error:
            self._office.core.record_error(text_of(error))
            return
        finally:
            self._in_resolution.discard(key)
        if not endpoint.is_closing and address.is_v6 == endpoint.channel.local.is_v6:
            if endpoint.move(event.destination_id, address):
                self._office.core.count(system_counters.RESOLUTION_CHANGES)

    def _endpoint_of(self, registration_id: int, client_id: int) -> SendEndpoint:
        publication = self._publications.get(registration_id)
        if publication is None or publication.endpoint.is_closing:
            raise refuse(
                ErrorCode.UNKNOWN_PUBLICATION,
                f"unknown publication: client_id={client_id} registration_id={registration_id}",
            )
        if not publication.endpoint.is_manual:
            raise refuse(
                ErrorCode.GENERIC_ERROR,
                f"channel does not allow manual control of destinations: {publication.endpoint.channel.text}",
            )
        return publication.endpoint


def _endpoint_text(channel: str) -> str:
    """The address that a destination's channel names, checked but not resolved."""
    if channel.startswith(SPY_CHANNEL_PREFIX):
        raise refuse(ErrorCode.INVALID_CHANNEL, f"spies are invalid as destinations of a publication: {channel}")
    uri = parse_channel(channel)
    if channel.startswith(IPC_PREFIX) or not uri.is_udp:
        raise refuse(ErrorCode.GENERIC_ERROR, f"a destination of a publication is a UDP channel: {channel}")
    check_destination(uri)
    text = uri.get("endpoint")
    if text is None:
        raise refuse(ErrorCode.GENERIC_ERROR, f"a destination of a publication needs an endpoint: {channel}")
    _, port = parse_address(text, channel)
    if port == 0:
        raise refuse(ErrorCode.GENERIC_ERROR, f"endpoint has port=0 for send destination: channel={channel}")
    return text
