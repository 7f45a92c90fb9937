"""What a client asks its driver to make, and what it makes of the answers."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from aeronpy.client import protocol
from aeronpy.client.arguments import channel_text, check_i32
from aeronpy.client.calls import Call, Undo, undo_counter, undo_publication, undo_subscription
from aeronpy.client.conductor import Conductor
from aeronpy.client.context import ImageHandler
from aeronpy.client.counter import Counter
from aeronpy.client.handlers import Kind
from aeronpy.client.protocol import Command
from aeronpy.client.publication import ExclusivePublication, Publication
from aeronpy.client.subscription import Subscription
from aeronpy.errors import ArgumentError

if TYPE_CHECKING:
    from aeronpy.client.aeron import Aeron

Body = Callable[[int, int], bytes]


class Adds:
    """Begins the commands that add resources; each returns the id under which the resource is fetched."""

    def __init__(self, aeron: Aeron, conductor: Conductor) -> None:
        self._aeron: Final = weakref.ref(aeron)
        self._conductor: Final = conductor
        self._core: Final = conductor.core

    def begin(  # noqa: PLR0917
        self,
        kind: type,
        command: Command,
        body: Body,
        make: Callable[[int, bytes], object],
        what: str,
        undo: Undo | None = None,
    ) -> int:
        """Send a command; its answer is made into something of a kind."""
        return self._conductor.begin(command, body, Call(kind, make, what, undo))

    def publication(
        self, kind: type[Publication | ExclusivePublication], channel: object, stream_id: int, strict: bool
    ) -> int:
        """Begin adding a publication of either kind."""
        text = channel_text(channel, strict)
        check_i32("stream_id", stream_id)
        is_exclusive = kind is ExclusivePublication
        return self.begin(
            kind,
            Command.ADD_EXCLUSIVE_PUBLICATION if is_exclusive else Command.ADD_PUBLICATION,
            lambda client, correlation: protocol.add_publication(client, correlation, stream_id, text),
            lambda _kind, body: self._make_publication(kind, text, body),
            f"add {'exclusive ' if is_exclusive else ''}publication {text} stream {stream_id}",
            undo_publication,
        )

    def _make_publication(self, kind: type[Publication | ExclusivePublication], channel: str, body: bytes) -> object:
        event = protocol.PublicationReady.parse(body)
        publication = kind()
        publication._attach(
            self._core,
            self._conductor.logs.open(event.log_path),
            kind is ExclusivePublication,
            channel,
            event.stream_id,
            event.session_id,
            event.correlation_id,
            event.registration_id,
            event.position_limit_id,
            event.channel_status_id,
        )
        publication._own(self._aeron(), self._conductor)
        return publication

    def subscription(
        self,
        channel: object,
        stream_id: int,
        available: ImageHandler | None,
        unavailable: ImageHandler | None,
        strict: bool,
    ) -> int:
        """Begin adding a subscription; where no handlers are given, the context's are taken."""
        text = channel_text(channel, strict)
        check_i32("stream_id", stream_id)
        context = self._conductor.context
        handlers = self._conductor.handlers

        def make(_kind: int, body: bytes) -> Subscription:
            registration_id, status_id = protocol.parse_pair(body)
            subscription = Subscription()
            on_error = context.subscriber_error_handler
            subscription._attach(self._core, text, stream_id, registration_id, status_id, on_error)
            subscription._own(self._aeron(), self._conductor)
            handlers.add_if_given(Kind.AVAILABLE_IMAGE, available or context.available_image_handler, registration_id)
            lost = unavailable or context.unavailable_image_handler
            handlers.add_if_given(Kind.UNAVAILABLE_IMAGE, lost, registration_id)
            return subscription

        return self.begin(
            Subscription,
            Command.ADD_SUBSCRIPTION,
            lambda client, correlation: protocol.add_subscription(client, correlation, stream_id, text),
            make,
            f"add subscription {text} stream {stream_id}",
            undo_subscription,
        )

    @staticmethod
    def _check_counter(type_id: int, key: bytes, label: str) -> None:
        check_i32("type_id", type_id)
        if len(key) > protocol.MAX_KEY_LENGTH:
            raise ArgumentError(f"a counter's key of {len(key)} bytes: at most {protocol.MAX_KEY_LENGTH}")
        if len(label) > protocol.MAX_LABEL_LENGTH:
            raise ArgumentError(f"a counter's label of {len(label)} characters: at most {protocol.MAX_LABEL_LENGTH}")

    def _make_counter(self, body: bytes, registration_id: int | None) -> Counter:
        correlation_id, counter_id = protocol.parse_pair(body)
        is_static = registration_id is not None
        name = correlation_id if registration_id is None else registration_id
        return Counter(self._core, counter_id, name, self._conductor, is_static)

    def counter(self, type_id: int, label: str, key: bytes) -> int:
        """Begin adding a counter of the client's own."""
        self._check_counter(type_id, key, label)
        return self.begin(
            Counter,
            Command.ADD_COUNTER,
            lambda client, correlation: protocol.add_counter(client, correlation, type_id, key, label),
            lambda _kind, body: self._make_counter(body, None),
            f"add counter {label!r} of type {type_id}",
            undo_counter,
        )

    def static_counter(self, type_id: int, label: str, registration_id: int, key: bytes) -> int:
        """Begin adding, or finding, a counter that is nobody's."""
        self._check_counter(type_id, key, label)

        def body(client: int, correlation: int) -> bytes:
            return protocol.add_static_counter(client, correlation, registration_id, type_id, key, label)

        return self.begin(
            Counter,
            Command.ADD_STATIC_COUNTER,
            body,
            lambda _kind, body: self._make_counter(body, registration_id),
            f"add static counter {label!r} of type {type_id}",
        )

    def session_id(self, stream_id: int) -> int:
        """Begin asking for a free session id."""
        check_i32("stream_id", stream_id)
        return self.begin(
            int,
            Command.GET_NEXT_AVAILABLE_SESSION_ID,
            lambda client, correlation: protocol.next_session_id(client, correlation, stream_id),
            lambda _kind, body: protocol.parse_pair(body)[1],
            f"next session id of stream {stream_id}",
        )
