"""The handlers of one client: added and removed at run time, called in the order in which they were added."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final, NamedTuple

Handler = Callable[..., Any]


class Kind(Enum):
    """What a handler is told of."""

    AVAILABLE_IMAGE = auto()
    UNAVAILABLE_IMAGE = auto()
    AVAILABLE_COUNTER = auto()
    UNAVAILABLE_COUNTER = auto()
    PUBLICATION_ERROR = auto()
    CLOSE = auto()


class _Entry(NamedTuple):
    kind: Kind
    subscription_id: int | None
    handler: Handler


class Handlers:
    """Handlers by id. Its methods may be called from any thread: each changes or copies the one dict at once."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._entries: Final[dict[int, _Entry]] = {}

    def add(self, kind: Kind, handler: Handler, subscription_id: int | None = None) -> int:
        """Add a handler, for one subscription or for all; returns its id."""
        if not callable(handler):
            raise TypeError(f"a handler is called, and {handler!r} cannot be")
        handler_id = next(self._ids)
        self._entries[handler_id] = _Entry(kind, subscription_id, handler)
        return handler_id

    def add_if_given(self, kind: Kind, handler: Handler | None, subscription_id: int | None = None) -> None:
        """Add a handler that may be none."""
        if handler is not None:
            self.add(kind, handler, subscription_id)

    def of(self, kind: Kind, subscription_id: int | None = None) -> list[Handler]:
        """Handlers to call, oldest first."""
        return [
            entry.handler
            for entry in list(self._entries.values())
            if entry.kind is kind and entry.subscription_id in (None, subscription_id)
        ]

    def remove(self, which: int | Handler) -> bool:
        """Remove a handler by its id, or all that are this object; whether there was one."""
        found = [key for key, entry in list(self._entries.items()) if key == which or entry.handler is which]
        return sum(self._entries.pop(key, None) is not None for key in found) > 0

    def remove_subscription(self, subscription_id: int) -> None:
        """Remove what was added for one subscription."""
        for key, entry in list(self._entries.items()):
            if entry.subscription_id == subscription_id:
                self._entries.pop(key, None)

    def take(self, kind: Kind) -> list[Handler]:
        """Remove and return all of a kind, so that they are called once whoever asks."""
        found = [key for key, entry in list(self._entries.items()) if entry.kind is kind]
        taken = [self._entries.pop(key, None) for key in found]
        return [entry.handler for entry in taken if entry is not None]
