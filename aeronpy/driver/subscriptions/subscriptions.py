"""What all kinds of subscriptions have in common (spec: client/driver protocol, sections 10.1 and 10.5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from aeronpy.driver.conductor.clients import Clients
from aeronpy.driver.conductor.office import Office
from aeronpy.driver.subscriptions.streams import Stream, Subscription

S = TypeVar("S", bound=Subscription)


class Subscriptions(Generic[S]):
    """All of one kind."""

    def __init__(self, office: Office, clients: Clients) -> None:
        self._office = office
        self._clients = clients
        self._subscriptions: list[S] = []

    def __iter__(self) -> Iterator[S]:
        return iter(list(self._subscriptions))

    def find(self, registration_id: int, client_id: int | None = None) -> S | None:
        """One of them, of any client or of one."""
        for one in self._subscriptions:
            if one.registration_id == registration_id and client_id in (None, one.client_id):
                return one
        return None

    def remove(self, client_id: int, registration_id: int) -> bool:
        """True when the client had it."""
        found = [one for one in self if one.client_id == client_id and one.registration_id == registration_id]
        for subscription in found:
            self.drop(subscription)
        return bool(found)

    def find_destination(self, client_id: int, registration_id: int, channel: str) -> S | None:
        """The part of a multi-destination subscription with this very channel."""
        for one in self._subscriptions:
            if (one.client_id, one.registration_id, one.channel) == (client_id, registration_id, channel):
                return one
        return None

    def remove_client(self, client_id: int) -> None:
        """All of a client's."""
        for subscription in self:
            if subscription.client_id == client_id:
                self.drop(subscription)

    def drop(self, subscription: S) -> None:
        """Forget one; its client is not told."""
        self._subscriptions.remove(subscription)
        for stream in list(subscription.streams):
            stream.unlink(subscription)

    def _link(self, subscription: S, stream: Stream) -> None:
        # Two destinations of one subscription may see the same stream, which is read once.
        if stream.reader_of(subscription.registration_id) is None:
            stream.link(subscription)
