"""Clients that the driver knows, and what they hold (spec: client/driver protocol, section 7)."""

from __future__ import annotations

import time
from typing import Protocol

from aeronpy.driver import system_counters
from aeronpy.driver.conductor import counters, replies
from aeronpy.driver.conductor.office import Office


class Held(Protocol):
    """A publication, which lives as long as somebody holds it."""

    def release(self) -> None:
        """One holder less."""

    def revoke(self) -> None:
        """It ends for all holders and readers."""


class Client:
    """One client: what it added, by the registration ids of its own adds."""

    def __init__(self, client_id: int, heartbeat_id: int) -> None:
        self.client_id = client_id
        self.heartbeat_id = heartbeat_id
        self.is_closed = False
        self.publications: dict[int, Held] = {}
        self.counters: dict[int, int] = {}


class Clients:
    """Who is there. Registration is by the first command that adds something."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._clients: dict[int, Client] = {}

    def get(self, client_id: int) -> Client | None:
        """A known client."""
        return self._clients.get(client_id)

    def hold(self, registration_id: int) -> bool:
        """Does any of them hold a publication or counter by this id?"""
        return any(
            registration_id in one.publications or registration_id in one.counters for one in self._clients.values()
        )

    def get_or_add(self, client_id: int) -> Client:
        """The client, made known to all with its heartbeat counter when it is new."""
        client = self._clients.get(client_id)
        if client is None:
            core = self._office.core
            heartbeat_id = counters.add_client_heartbeat(core, client_id, time.time_ns() // 1_000_000)
            core.add_client(client_id, heartbeat_id)
            client = self._clients[client_id] = Client(client_id, heartbeat_id)
            self._office.send(replies.counter_ready(client_id, heartbeat_id))
        return client

    def close(self, client_id: int) -> None:
        """The client said goodbye: the core finds it without heartbeat at its next tick."""
        client = self._clients.get(client_id)
        if client is not None:
            client.is_closed = True
            self._office.core.set_counter(client.heartbeat_id, 0)

    def remove(self, client_id: int) -> Client | None:
        """The core found it dead or closed: tell all, drop what it held."""
        client = self._clients.pop(client_id, None)
        if client is None:
            return None
        core, send = self._office.core, self._office.send
        core.remove_client(client_id)
        if not client.is_closed:
            core.count(system_counters.CLIENT_TIMEOUTS)
            send(replies.client_timeout(client_id))
        send(replies.unavailable_counter(client_id, client.heartbeat_id))
        for publication in client.publications.values():
            publication.release()
        for registration_id, counter_id in client.counters.items():
            send(replies.unavailable_counter(registration_id, counter_id))
            core.free_counter(counter_id)
        core.free_counter(client.heartbeat_id)
        return client
