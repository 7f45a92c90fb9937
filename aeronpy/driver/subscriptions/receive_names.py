"""Names of control addresses that get new addresses (spec: network protocol, section 2.18)."""

from __future__ import annotations

from aeronpy.driver import system_counters
from aeronpy.driver.channels.addresses import is_literal
from aeronpy.driver.conductor.events import SilentEvent
from aeronpy.driver.conductor.office import Office
from aeronpy.driver.conductor.refusals import text_of
from aeronpy.driver.conductor.tasks import Task
from aeronpy.driver.subscriptions.network_subscriptions import NetworkSubscriptions
from aeronpy.errors import AeronError


class ReceiveNames:
    """Of all receive endpoints' destinations. Belongs to the decision thread."""

    def __init__(self, office: Office, subscriptions: NetworkSubscriptions) -> None:
        self._office = office
        self._subscriptions = subscriptions
        self._in_resolution: set[tuple[int, int]] = set()

    def on_silent(self, event: SilentEvent) -> Task[None]:
        """Nothing comes from a publisher: look the name of its control address up again, and ask where it is now."""
        key = (event.endpoint_id, event.destination_id)
        endpoint = self._subscriptions.endpoints.get(event.endpoint_id)
        destination = None if endpoint is None else endpoint.destination(event.destination_id)
        text = None if destination is None else destination.channel.uri.get("control")
        if destination is None or text is None or is_literal(text) or key in self._in_resolution:
            return
        self._in_resolution.add(key)
        try:
            address = yield from self._office.naming.resolve(text, destination.channel.text, is_again=True)
        except AeronError as error:
            self._office.core.record_error(text_of(error))
            return
        finally:
            self._in_resolution.discard(key)
        endpoint = self._subscriptions.endpoints.get(event.endpoint_id)
        if endpoint is None or endpoint.is_closing or endpoint.destination(event.destination_id) is not destination:
            return
        if address != destination.control and address.is_v6 == destination.control.is_v6:
            destination.redirect(address)
            self._office.core.count(system_counters.RESOLUTION_CHANGES)
