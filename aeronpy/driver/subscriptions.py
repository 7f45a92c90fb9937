"""Subscriptions to what this driver's own publications write (spec: client/driver protocol, section 10)."""

from __future__ import annotations

from collections.abc import Iterator

from aeronpy.driver import replies
from aeronpy.driver.channel_values import flag_of, i32_of, parse_channel, refuse_unsupported
from aeronpy.driver.clients import Clients
from aeronpy.driver.commands import AddSubscription
from aeronpy.driver.counters import NULL_ID
from aeronpy.driver.ipc_publications import IpcPublication, IpcPublications
from aeronpy.driver.office import Office
from aeronpy.driver.streams import Subscription


class IpcSubscriptions:
    """Subscriptions to ``aeron:ipc``."""

    def __init__(self, office: Office, clients: Clients, publications: IpcPublications) -> None:
        self._office = office
        self._clients = clients
        self._publications = publications
        self._subscriptions: list[Subscription] = []

    def __iter__(self) -> Iterator[Subscription]:
        return iter(list(self._subscriptions))

    def add(self, command: AddSubscription) -> None:
        """ADD_SUBSCRIPTION: ready, then an image of each publication that matches."""
        uri = parse_channel(command.channel)
        refuse_unsupported(uri)
        context = self._office.context
        subscription = Subscription(
            command.correlation_id,
            command.client_id,
            command.stream_id,
            command.channel,
            i32_of(uri, "session-id"),
            flag_of(uri, "tether", context.tether_subscriptions),
            flag_of(uri, "rejoin", context.rejoin_stream),
        )
        self._clients.get_or_add(command.client_id)
        self._subscriptions.append(subscription)
        self._office.send(replies.subscription_ready(command.correlation_id, NULL_ID))
        for publication in self._publications:
            if subscription.takes(publication.stream_id, publication.session_id):
                publication.link(subscription)

    def on_publication(self, publication: IpcPublication) -> None:
        """One is new, or takes readers again: who wants it joins."""
        for subscription in self:
            is_reader = subscription in publication.readers
            if not is_reader and subscription.takes(publication.stream_id, publication.session_id):
                publication.link(subscription)

    def remove(self, client_id: int, registration_id: int) -> bool:
        """True when the client had it."""
        found = [one for one in self if one.client_id == client_id and one.registration_id == registration_id]
        for subscription in found:
            self._drop(subscription)
        return bool(found)

    def remove_client(self, client_id: int) -> None:
        """All of a client's."""
        for subscription in self:
            if subscription.client_id == client_id:
                self._drop(subscription)

    def _drop(self, subscription: Subscription) -> None:
        self._subscriptions.remove(subscription)
        for stream in list(subscription.streams):
            stream.unlink(subscription)
