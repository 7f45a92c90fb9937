"""The client: connects to a media driver, and makes publications, subscriptions and counters there."""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar

from aeronpy._core.native import ClientCore, CncMapping, CountersReader, driver_is_active
from aeronpy.client import context as client_context
from aeronpy.client import protocol
from aeronpy.client.conductor import Call, Conductor
from aeronpy.client.context import CloseHandler, CounterHandler, ImageHandler
from aeronpy.client.counter import Counter
from aeronpy.client.protocol import Command
from aeronpy.client.publication import ExclusivePublication, Publication
from aeronpy.client.subscription import Subscription
from aeronpy.client.version import VERSION
from aeronpy.config import default_aeron_dir
from aeronpy.diagnosis import diagnosed
from aeronpy.errors import ArgumentError
from aeronpy.uri import ChannelUri

R = TypeVar("R")
_CONTROL_PROTOCOL_COUNTER: Final = 43
_SESSION_ID_VERSION: Final = 1 << 16


class Aeron:
    """A connection to a media driver. Make it with `connect`; close it, or leave its ``with`` block.

    Every method may be called from any thread, but not from inside a handler of this client. After a fork the
    child's copy refuses to work.
    """

    Context = client_context.Context

    def __init__(self, context: client_context.Context | None = None) -> None:
        """Connect by a context; raises DriverTimeout where no driver lives, VersionError, ArgumentError."""
        context = context if context is not None else client_context.Context()
        self.context: Final = context
        with diagnosed(context.aeron_dir):
            cnc = CncMapping(context.aeron_dir, context.driver_timeout_ms)
        core = ClientCore(
            cnc,
            driver_timeout_ms=context.driver_timeout_ms,
            keepalive_interval_ns=context.keepalive_interval_ns,
            idle_sleep_ns=context.idle_sleep_duration_ns,
            client_name=context.client_name,
            version=VERSION,
            commit="aeronpy",
        )
        self._core = core
        self._conductor = Conductor(core, context)
        if context.close_handler is not None:
            self._conductor.close_handlers[self._conductor.next_name()] = context.close_handler
        self._conductor.watch_counters()
        # The conductor knows nothing of this object, so that dropping it, or leaving the interpreter, closes it.
        self._finalizer = weakref.finalize(self, self._conductor.close)
        if not context.use_conductor_agent_invoker:
            self._conductor.start()

    @classmethod
    def connect(cls, context: client_context.Context | None = None, **settings: Any) -> Aeron:
        """Connect to a driver: ``Aeron.connect(aeron_dir=..., driver_timeout_ms=...)``, settings as of `Aeron.Context`.

        Raises DriverTimeout (a TimeoutError) where no driver lives, VersionError, ArgumentError.
        """
        if context is not None and settings:
            raise ArgumentError("give a context or keyword arguments, not both")
        return cls(context if context is not None else client_context.Context(**settings))

    # --- life ---

    def close(self) -> None:
        """Close everything that was made here, and leave the driver. Twice is fine."""
        self._finalizer()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or ended: driver gone, client given up."""
        return self._conductor.is_closed or self._conductor.ended is not None

    def __enter__(self) -> Aeron:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Aeron(aeron_dir={self.context.aeron_dir!r}, client_id={self.client_id})"

    def invoke(self) -> int:
        """Run the client's duty cycle once, with ``use_conductor_agent_invoker``; returns the work done."""
        return self._conductor.invoke()

    @property
    def client_id(self) -> int:
        """This client's id at its driver."""
        return self._core.client_id

    @property
    def aeron_dir(self) -> str:
        """The driver's directory."""
        return self.context.aeron_dir

    def next_correlation_id(self) -> int:
        """An id that nobody else at this driver has."""
        self._conductor.check_open()
        return self._core.next_correlation_id()

    @property
    def counters_reader(self) -> CountersReader:
        """All counters of the driver; closes with this client."""
        self._conductor.check_open()
        return self._core.counters

    # --- adding ---

    @staticmethod
    def _channel(channel: object, strict: bool) -> str:
        text = str(channel)
        ChannelUri.parse(text, strict)
        return text

    def _begin(
        self, kind: type, command: Command, body: Callable[[int, int], bytes], make: Callable[[int, bytes], object]
    ) -> int:
        self._conductor.check_open()
        correlation_id = self._core.next_correlation_id()
        call = Call(kind, make)
        self._conductor.begin(command, body(self._core.client_id, correlation_id), correlation_id, call)
        return correlation_id

    def _finish(self, kind: type[R], correlation_id: int, what: str) -> R:
        call = self._conductor.pending(correlation_id)
        assert call is not None
        result = self._conductor.finish(correlation_id, call, what)
        assert isinstance(result, kind)
        return result

    def _publication(self, kind: type[Publication | ExclusivePublication], channel: str, body: bytes) -> object:
        event = protocol.PublicationReady.parse(body)
        publication = kind()
        publication._attach(
            self._core,
            self._conductor.open_log(event.log_path),
            kind is ExclusivePublication,
            channel,
            event.stream_id,
            event.session_id,
            event.correlation_id,
            event.registration_id,
            event.position_limit_id,
            event.channel_status_id,
        )
        publication._own(self, self._conductor)
        return publication

    def async_add_publication(self, channel: object, stream_id: int, *, strict: bool = True) -> int:
        """Start adding a publication; returns its registration id, for `get_publication`."""
        text = self._channel(channel, strict)
        return self._begin(
            Publication,
            Command.ADD_PUBLICATION,
            lambda client, correlation: protocol.add_publication(client, correlation, stream_id, text),
            lambda _kind, body: self._publication(Publication, text, body),
        )

    def add_publication(self, channel: object, stream_id: int, *, strict: bool = True) -> Publication:
        """Add a publication that others may share; waits for the driver.

        Raises ChannelError, RegistrationError with the driver's code and text, or DriverTimeout. ``strict=False``
        passes parameters on that are not known here.
        """
        correlation_id = self.async_add_publication(channel, stream_id, strict=strict)
        return self._finish(Publication, correlation_id, f"add publication {channel} stream {stream_id}")

    def async_add_exclusive_publication(self, channel: object, stream_id: int, *, strict: bool = True) -> int:
        """Start adding an exclusive publication; returns its registration id, for `get_exclusive_publication`."""
        text = self._channel(channel, strict)
        return self._begin(
            ExclusivePublication,
            Command.ADD_EXCLUSIVE_PUBLICATION,
            lambda client, correlation: protocol.add_publication(client, correlation, stream_id, text),
            lambda _kind, body: self._publication(ExclusivePublication, text, body),
        )

    def add_exclusive_publication(
        self, channel: object, stream_id: int, *, strict: bool = True
    ) -> ExclusivePublication:
        """Add a publication with a stream of its own, for one thread; otherwise as `add_publication`."""
        correlation_id = self.async_add_exclusive_publication(channel, stream_id, strict=strict)
        return self._finish(
            ExclusivePublication, correlation_id, f"add exclusive publication {channel} stream {stream_id}"
        )

    def async_add_subscription(
        self,
        channel: object,
        stream_id: int,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
        *,
        strict: bool = True,
    ) -> int:
        """Start adding a subscription; returns its registration id, for `get_subscription`."""
        text = self._channel(channel, strict)
        context = self.context

        def make(_kind: int, body: bytes) -> Subscription:
            registration_id, status_id = protocol.parse_pair(body)
            self._conductor.image_handlers[registration_id] = (
                available_image_handler or context.available_image_handler,
                unavailable_image_handler or context.unavailable_image_handler,
            )
            subscription = Subscription()
            subscription._attach(self._core, text, stream_id, registration_id, status_id)
            subscription._own(self, self._conductor)
            return subscription

        return self._begin(
            Subscription,
            Command.ADD_SUBSCRIPTION,
            lambda client, correlation: protocol.add_subscription(client, correlation, stream_id, text),
            make,
        )

    def add_subscription(
        self,
        channel: object,
        stream_id: int,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
        *,
        strict: bool = True,
    ) -> Subscription:
        """Add a subscription; its handlers, or the context's, are told of images that come and go.

        Raises ChannelError, RegistrationError with the driver's code and text, or DriverTimeout.
        """
        correlation_id = self.async_add_subscription(
            channel, stream_id, available_image_handler, unavailable_image_handler, strict=strict
        )
        return self._finish(Subscription, correlation_id, f"add subscription {channel} stream {stream_id}")

    @staticmethod
    def _check_counter(key: bytes, label: str) -> None:
        if len(key) > protocol.MAX_KEY_LENGTH:
            raise ArgumentError(f"a counter's key of {len(key)} bytes: at most {protocol.MAX_KEY_LENGTH}")
        if len(label) > protocol.MAX_LABEL_LENGTH:
            raise ArgumentError(f"a counter's label of {len(label)} characters: at most {protocol.MAX_LABEL_LENGTH}")

    def _counter(self, body: bytes, is_static: bool, registration_id: int | None = None) -> Counter:
        correlation_id, counter_id = protocol.parse_pair(body)
        if registration_id is None:
            registration_id = correlation_id
        return Counter(self._core, counter_id, registration_id, self._conductor, is_static)

    def async_add_counter(self, type_id: int, label: str, key: bytes = b"") -> int:
        """Start adding a counter; returns its registration id, for `get_counter`."""
        self._check_counter(key, label)
        return self._begin(
            Counter,
            Command.ADD_COUNTER,
            lambda client, correlation: protocol.add_counter(client, correlation, type_id, key, label),
            lambda _kind, body: self._counter(body, False),
        )

    def add_counter(self, type_id: int, label: str, key: bytes = b"") -> Counter:
        """Add a counter of this client's own; types from 1000 on are free for applications.

        Raises ArgumentError for keys above 112 bytes and labels above 380, RegistrationError, DriverTimeout.
        """
        correlation_id = self.async_add_counter(type_id, label, key)
        return self._finish(Counter, correlation_id, f"add counter {label!r}")

    def add_static_counter(self, type_id: int, label: str, registration_id: int, key: bytes = b"") -> Counter:
        """Add, or find, a counter that stays after this client, known by its type and ``registration_id``."""
        self._check_counter(key, label)
        correlation_id = self._begin(
            Counter,
            Command.ADD_STATIC_COUNTER,
            lambda client, correlation: protocol.add_static_counter(
                client, correlation, registration_id, type_id, key, label
            ),
            lambda _kind, body: self._counter(body, True, registration_id),
        )
        return self._finish(Counter, correlation_id, f"add static counter {label!r}")

    # --- asynchronous adds ---

    def _get(self, kind: type[R], registration_id: int) -> R | None:
        call = self._conductor.pending(registration_id)
        if call is None:
            raise ArgumentError(f"nothing is being added under registration id {registration_id}")
        if call.kind is not kind:
            raise ArgumentError(
                f"registration id {registration_id} is of a {call.kind.__name__}, not a {kind.__name__}"
            )
        if not call.waiter.done:
            if self.context.use_conductor_agent_invoker:
                self._conductor.invoke()
            if not call.waiter.done:
                return None
        return self._finish(kind, registration_id, "")

    def get_publication(self, registration_id: int) -> Publication | None:
        """The publication that is being added, None until it is there; raises RegistrationError once."""
        return self._get(Publication, registration_id)

    def get_exclusive_publication(self, registration_id: int) -> ExclusivePublication | None:
        """The exclusive publication that is being added, None until it is there; raises RegistrationError once."""
        return self._get(ExclusivePublication, registration_id)

    def get_subscription(self, registration_id: int) -> Subscription | None:
        """The subscription that is being added, None until it is there; raises RegistrationError once."""
        return self._get(Subscription, registration_id)

    def get_counter(self, registration_id: int) -> Counter | None:
        """The counter that is being added, None until it is there; raises RegistrationError once."""
        return self._get(Counter, registration_id)

    def is_command_active(self, correlation_id: int) -> bool:
        """Whether a command has not been answered yet."""
        return correlation_id in self._conductor.active_calls()

    @property
    def has_active_commands(self) -> bool:
        """Whether any command has not been answered yet."""
        return bool(self._conductor.active_calls())

    def next_session_id(self, stream_id: int) -> int:
        """A session id that is free on a stream; random where the driver is too old to tell."""
        version_id = self.counters_reader.info(_CONTROL_PROTOCOL_COUNTER)
        is_known = version_id is not None and (version_id.type_id, version_id.registration_id) == (
            0,
            _CONTROL_PROTOCOL_COUNTER,
        )
        if version_id is None or not is_known or version_id.value < _SESSION_ID_VERSION:
            return random.randint(-(1 << 31), (1 << 31) - 1)
        correlation_id = self._begin(
            int,
            Command.GET_NEXT_AVAILABLE_SESSION_ID,
            lambda client, correlation: protocol.next_session_id(client, correlation, stream_id),
            lambda _kind, body: protocol.parse_pair(body)[1],
        )
        return self._finish(int, correlation_id, f"next session id of stream {stream_id}")

    # --- handlers ---

    def add_available_counter_handler(self, handler: CounterHandler) -> int:
        """Call ``handler(counters_reader, registration_id, counter_id)`` for new counters; returns an id."""
        return self._add_counter_handler(self._conductor.available_counter, handler)

    def add_unavailable_counter_handler(self, handler: CounterHandler) -> int:
        """Call ``handler(counters_reader, registration_id, counter_id)`` for freed counters; returns an id."""
        return self._add_counter_handler(self._conductor.unavailable_counter, handler)

    def _add_counter_handler(self, handlers: dict[int, CounterHandler], handler: CounterHandler) -> int:
        self._conductor.check_open()
        name = self._conductor.next_name()
        handlers[name] = handler
        self._conductor.watch_counters()
        return name

    def add_close_handler(self, handler: CloseHandler) -> int:
        """Call ``handler()`` when this client closes or ends; returns an id."""
        self._conductor.check_open()
        name = self._conductor.next_name()
        self._conductor.close_handlers[name] = handler
        return name

    def remove_handler(self, handler_id: int) -> bool:
        """Remove a handler by the id that adding it returned; whether there was one."""
        conductor = self._conductor
        found = [
            handlers.pop(handler_id, None)
            for handlers in (conductor.available_counter, conductor.unavailable_counter, conductor.close_handlers)
        ]
        if not conductor.is_closed:
            conductor.watch_counters()
        return any(handler is not None for handler in found)


def is_driver_active(aeron_dir: str | None = None, timeout_ms: int = 10_000) -> bool:
    """Whether a media driver lives in a directory; waits for one that is starting."""
    return driver_is_active(aeron_dir or default_aeron_dir(), timeout_ms)


def request_driver_termination(aeron_dir: str | None = None, token: bytes = b"", timeout_ms: int = 1_000) -> None:
    """Ask a media driver to end, if it allows that. Raises DriverTimeout where none lives."""
    cnc = CncMapping(aeron_dir or default_aeron_dir(), timeout_ms)
    core = ClientCore(
        cnc,
        driver_timeout_ms=10_000,
        keepalive_interval_ns=500_000_000,
        idle_sleep_ns=16_000_000,
        client_name="",
        version=VERSION,
        commit="aeronpy",
    )
    body = protocol.terminate_driver(core.client_id, core.next_correlation_id(), token)
    core.command(Command.TERMINATE_DRIVER, body)
