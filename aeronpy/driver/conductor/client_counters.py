"""Counters that clients make (spec: client/driver protocol, section 12)."""

from __future__ import annotations

from typing import Final

from aeronpy.driver.conductor import replies
from aeronpy.driver.conductor.clients import Clients
from aeronpy.driver.conductor.commands import AddCounter, AddStaticCounter, RemoveCounter
from aeronpy.driver.conductor.office import Office
from aeronpy.driver.conductor.refusals import refuse
from aeronpy.protocol import ErrorCode

STATIC_OWNER: Final = -1


class ClientCounters:
    """Adds, finds and removes them."""

    def __init__(self, office: Office, clients: Clients) -> None:
        self._office = office
        self._clients = clients

    def add(self, command: AddCounter) -> None:
        """ADD_COUNTER."""
        client = self._clients.get_or_add(command.client_id)
        counter_id = self._office.core.allocate_counter(
            command.type_id, command.key, command.label, command.correlation_id, command.client_id
        )
        client.counters[command.correlation_id] = counter_id
        self._office.send(replies.counter_ready(command.correlation_id, counter_id))

    def add_static(self, command: AddStaticCounter) -> None:
        """ADD_STATIC_COUNTER: found by type and registration id, or made."""
        self._clients.get_or_add(command.client_id)
        core = self._office.core
        found = core.find_counter(command.type_id, command.registration_id)
        if found is None:
            counter_id = core.allocate_counter(
                command.type_id, command.key, command.label, command.registration_id, STATIC_OWNER
            )
        else:
            counter_id, owner_id = found
            if owner_id != STATIC_OWNER:
                raise refuse(
                    ErrorCode.GENERIC_ERROR,
                    f"cannot add static counter, because a non-static counter exists (counterId={counter_id}) for "
                    f"typeId={command.type_id} and registrationId={command.registration_id}",
                )
        self._office.send(replies.static_counter(command.correlation_id, counter_id))

    def remove(self, command: RemoveCounter) -> None:
        """REMOVE_COUNTER: only its client's own."""
        client = self._clients.get(command.client_id)
        counter_id = None if client is None else client.counters.pop(command.registration_id, None)
        if counter_id is None:
            raise refuse(
                ErrorCode.UNKNOWN_COUNTER,
                f"unknown counter: client_id={command.client_id} registration_id={command.registration_id}",
            )
        self._office.send(replies.operation_success(command.correlation_id))
        self._office.send(replies.unavailable_counter(command.registration_id, counter_id))
        self._office.core.free_counter(counter_id)
