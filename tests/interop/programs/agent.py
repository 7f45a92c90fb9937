"""What the general client programs share: lines in, one JSON line out for each.

A line is ``VERB [=ARGUMENT...]``, each argument percent-encoded. The answer is ``= VALUE`` in JSON, or ``! TEXT`` where
the client refused. Things are named by handles that the answers give.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from urllib.parse import unquote


def hexes(text: str) -> list[bytes]:
    return [bytes.fromhex(each) for each in text.split(",")]


class Agent:
    """The verbs over one module."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self._things: dict[str, Any] = {}

    def _keep(self, thing: Any) -> str:
        handle = f"h{len(self._things)}"
        self._things[handle] = thing
        return handle

    def answer(self, verb: str, args: list[str]) -> Any:
        return getattr(self, f"do_{verb}")(*args)

    def do_connect(self, aeron_dir: str, timeout_ms: str, name: str = "") -> Any:
        client = self._api.Client(aeron_dir, int(timeout_ms), name)
        return [self._keep(client), client.id]

    def do_publication(self, client: str, kind: str, channel: str, stream: str) -> str:
        return self._keep(self._api.Publication(self._things[client], kind, channel, stream))

    def do_subscription(self, client: str, channel: str, stream: str) -> str:
        return self._keep(self._api.Subscription(self._things[client], channel, stream))

    def do_counter(self, client: str, kind: str, label: str, key: str, registration: str = "") -> str:
        number = int(registration) if registration else None
        return self._keep(self._api.Counter(self._things[client], int(kind), label, bytes.fromhex(key), number))

    def do_send(self, handle: str, timeout_ms: str, payloads: str, reserved: str = "") -> Any:
        number = int(reserved) if reserved else None
        return self._things[handle].send(hexes(payloads), number, int(timeout_ms) / 1000)

    def do_offer(self, handle: str, payload: str) -> Any:
        return self._things[handle].offer(bytes.fromhex(payload), None)

    def do_receive(self, handle: str, count: str, timeout_ms: str) -> Any:
        return self._things[handle].receive(int(count), int(timeout_ms) / 1000)

    def do_look(self, handle: str) -> Any:
        return self._things[handle].look()

    def do_add_destination(self, handle: str, uri: str) -> Any:
        return self._things[handle].add_destination(uri)

    def do_remove_destination(self, handle: str, uri: str) -> None:
        self._things[handle].remove_destination(uri)

    def do_remove_destination_by_id(self, handle: str, number: str) -> None:
        self._things[handle].remove_destination(int(number))

    def do_reject(self, handle: str, session: str, reason: str) -> None:
        self._things[handle].reject(int(session), reason)

    def do_set(self, handle: str, value: str) -> None:
        self._things[handle].set(int(value))

    def do_revoke(self, handle: str) -> None:
        self._things[handle].revoke()

    def do_close(self, handle: str) -> None:
        self._things[handle].close()

    def do_events(self, client: str) -> Any:
        events = self._things[client].events
        taken = list(events)
        del events[: len(taken)]
        return taken

    def do_counters(self, client: str) -> Any:
        return self._api.counters(self._things[client])

    def do_next_session_id(self, client: str, stream: str) -> Any:
        return self._api.next_session_id(self._things[client], int(stream))

    def do_terminate(self, aeron_dir: str, token: str) -> None:
        self._api.terminate(aeron_dir, bytes.fromhex(token))


def serve(api: Any) -> int:
    """Answer lines until the input ends."""
    agent = Agent(api)
    print("READY", flush=True)
    for line in sys.stdin:
        verb, *args = line.split()
        try:
            text = "= " + json.dumps(agent.answer(verb, [unquote(each[1:]) for each in args]))
        except Exception as error:
            text = "! " + f"{type(error).__name__}: {error}".replace("\n", "; ")
        print(text, flush=True)
    return 0
