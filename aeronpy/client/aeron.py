"""The client: connects to a media driver, and makes publications, subscriptions and counters there."""

from __future__ import annotations

import os
import sys
import weakref
from os import PathLike
from typing import Any, Final, TextIO, TypeVar

from aeronpy._core.native import ClientCore, CncMapping, CountersReader, driver_is_active
from aeronpy.agent import AgentInvoker
from aeronpy.client import context as client_context
from aeronpy.client import protocol
from aeronpy.client.adds import Adds
from aeronpy.client.conductor import Conductor
from aeronpy.client.context import CloseHandler, CounterHandler, ImageHandler, PublicationErrorHandler
from aeronpy.client.counter import Counter
from aeronpy.client.handlers import Handler, Kind
from aeronpy.client.invoked import ConductorAgent
from aeronpy.client.publication import ExclusivePublication, Publication
from aeronpy.client.subscription import Subscription
from aeronpy.client.version import VERSION
from aeronpy.config import default_aeron_dir
from aeronpy.diagnosis import diagnosed
from aeronpy.errors import ArgumentError, StateError
from aeronpy.protocol import CommandType

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
        """Connect by a context; raises DriverTimeout where no driver lives, VersionError, ArgumentError.

        A context serves one client: ConcurrentConclude for the second one.
        """
        context = context if context is not None else client_context.Context()
        context.conclude()
        self.context: Final = context
        with diagnosed(context.aeron_dir):
            cnc = CncMapping(context.aeron_dir, context.driver_timeout_ms)
        core = ClientCore(
            cnc,
            driver_timeout_ms=context.driver_timeout_ms,
            keepalive_interval_ns=context.keepalive_interval_ns,
            idle_sleep_ns=context.idle_sleep_duration_ns,
            woken_sleep_ns=context.woken_sleep_duration_ns,
            client_name=context.client_name,
            version=VERSION,
            commit="aeronpy",
        )
        context.inter_service_timeout_ns = cnc.client_liveness_timeout_ns
        self._core = core
        self._conductor = Conductor(core, context)
        self._adds = Adds(self, self._conductor)
        self._invoker: AgentInvoker | None = None
        context.register(self._conductor.handlers)
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

    def invoker(self) -> AgentInvoker:
        """The client's duty cycle for callers who own the thread, with ``use_conductor_agent_invoker``.

        Its ``agent`` may take part in a `CompositeAgent`; closing either closes the client.
        """
        if not self.context.use_conductor_agent_invoker:
            raise StateError("the client runs its own threads: set use_conductor_agent_invoker to invoke it")
        if self._invoker is None:
            self._invoker = AgentInvoker(ConductorAgent(self), self._conductor.report)
            self._invoker.start()
        return self._invoker

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
        self._conductor.check_live()
        return self._core.next_correlation_id()

    @property
    def counters_reader(self) -> CountersReader:
        """All counters of the driver; closes with this client."""
        self._conductor.check_live()
        return self._core.counters

    def print_counters(self, out: TextIO | None = None) -> None:
        """Print all counters of the driver, one a line: id, value, label."""
        out = out if out is not None else sys.stdout
        for counter in self.counters_reader:
            print(f"{counter.counter_id:3d}: {counter.value:20,d} - {counter.label}", file=out)

    # --- adding ---

    def _finish(self, kind: type[R], correlation_id: int) -> R:
        call = self._conductor.calls.pending(correlation_id)
        assert call is not None
        result = self._conductor.calls.finish(correlation_id, call)
        assert isinstance(result, kind)
        return result

    def async_add_publication(self, channel: object, stream_id: int, *, strict: bool = True) -> int:
        """Start adding a publication; returns its registration id, for `get_publication`."""
        return self._adds.publication(Publication, channel, stream_id, strict)

    def add_publication(self, channel: object, stream_id: int, *, strict: bool = True) -> Publication:
        """Add a publication that others may share; waits for the driver.

        Raises ChannelError, RegistrationError with the driver's code and text, or DriverTimeout. ``strict=False``
        passes parameters on that are not known here.
        """
        return self._finish(Publication, self.async_add_publication(channel, stream_id, strict=strict))

    def async_add_exclusive_publication(self, channel: object, stream_id: int, *, strict: bool = True) -> int:
        """Start adding an exclusive publication; returns its registration id, for `get_exclusive_publication`."""
        return self._adds.publication(ExclusivePublication, channel, stream_id, strict)

    def add_exclusive_publication(
        self, channel: object, stream_id: int, *, strict: bool = True
    ) -> ExclusivePublication:
        """Add a publication with a stream of its own, for one thread; otherwise as `add_publication`."""
        correlation_id = self.async_add_exclusive_publication(channel, stream_id, strict=strict)
        return self._finish(ExclusivePublication, correlation_id)

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
        return self._adds.subscription(channel, stream_id, available_image_handler, unavailable_image_handler, strict)

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
        return self._finish(Subscription, correlation_id)

    def async_add_counter(self, type_id: int, label: str, key: bytes = b"") -> int:
        """Start adding a counter; returns its registration id, for `get_counter`."""
        return self._adds.counter(type_id, label, key)

    def add_counter(self, type_id: int, label: str, key: bytes = b"") -> Counter:
        """Add a counter of this client's own; types from 1000 on are free for applications.

        Raises ArgumentError for keys above 112 bytes and labels above 380, RegistrationError, DriverTimeout.
        """
        return self._finish(Counter, self.async_add_counter(type_id, label, key))

    def async_add_static_counter(self, type_id: int, label: str, registration_id: int, key: bytes = b"") -> int:
        """Start adding, or finding, a static counter; returns the command's id, for `get_counter`."""
        return self._adds.static_counter(type_id, label, registration_id, key)

    def add_static_counter(self, type_id: int, label: str, registration_id: int, key: bytes = b"") -> Counter:
        """Add, or find, a counter that stays after this client, known by its type and ``registration_id``."""
        return self._finish(Counter, self.async_add_static_counter(type_id, label, registration_id, key))

    # --- asynchronous adds ---

    def _get(self, kind: type[R], registration_id: int) -> R | None:
        conductor = self._conductor
        conductor.check_open()
        call = conductor.calls.pending(registration_id)
        found = call.kind if call is not None else type(conductor.resource(registration_id))
        if found is type(None):
            raise ArgumentError(f"nothing is being added, or open, under registration id {registration_id}")
        if found is not kind:
            raise ArgumentError(f"registration id {registration_id} is of a {found.__name__}, not a {kind.__name__}")
        if call is None:
            resource = conductor.resource(registration_id)
            return resource if isinstance(resource, kind) else None
        if not call.waiter.done and self.context.use_conductor_agent_invoker:
            conductor.invoke()
        if not call.waiter.done:
            return None
        return self._finish(kind, registration_id)

    def get_publication(self, registration_id: int) -> Publication | None:
        """The publication of a registration id, None until it is there.

        Raises RegistrationError once where the driver refused it, ArgumentError where the id is not one's.
        """
        return self._get(Publication, registration_id)

    def get_exclusive_publication(self, registration_id: int) -> ExclusivePublication | None:
        """The exclusive publication of a registration id, None until it is there; raises as `get_publication`."""
        return self._get(ExclusivePublication, registration_id)

    def get_subscription(self, registration_id: int) -> Subscription | None:
        """The subscription of a registration id, None until it is there; raises as `get_publication`."""
        return self._get(Subscription, registration_id)

    def get_counter(self, registration_id: int) -> Counter | None:
        """The counter of a registration id, None until it is there; raises as `get_publication`."""
        return self._get(Counter, registration_id)

    def _remove(self, registration_id: int, *kinds: type) -> None:
        conductor = self._conductor
        conductor.check_open()
        call = conductor.calls.pending(registration_id)
        resource = conductor.resource(registration_id)
        kind = call.kind if call is not None else type(resource)
        if kind not in kinds:
            names = " or ".join(each.__name__ for each in kinds)
            raise ArgumentError(
                f"registration id {registration_id} is not that of a {names} that is being added, or open"
            )
        if call is not None:
            conductor.calls.cancel(registration_id)
        elif resource is not None:
            resource.close()

    def async_remove_publication(self, registration_id: int) -> None:
        """Remove a publication of either kind by its id, without waiting; one that is being added is cancelled."""
        self._remove(registration_id, Publication, ExclusivePublication)

    def async_remove_subscription(self, registration_id: int) -> None:
        """Remove a subscription by its id, without waiting; one that is being added is cancelled."""
        self._remove(registration_id, Subscription)

    def async_remove_counter(self, registration_id: int) -> None:
        """Remove a counter by its id, without waiting; one that is being added is cancelled."""
        self._remove(registration_id, Counter)

    def is_command_active(self, correlation_id: int) -> bool:
        """Whether a command has not been answered yet."""
        return self._conductor.calls.is_active(correlation_id)

    @property
    def has_active_commands(self) -> bool:
        """Whether any command has not been answered yet."""
        return self._conductor.calls.has_active

    def next_session_id(self, stream_id: int) -> int:
        """A session id that is free on a stream; random where the driver is too old to tell."""
        version = self.counters_reader.info(_CONTROL_PROTOCOL_COUNTER)
        is_known = version is not None and (version.type_id, version.registration_id) == (0, _CONTROL_PROTOCOL_COUNTER)
        if version is None or not is_known or version.value < _SESSION_ID_VERSION:
            return int.from_bytes(os.urandom(4), "little", signed=True)
        return self._finish(int, self._adds.session_id(stream_id))

    # --- handlers ---

    def _add_handler(self, kind: Kind, handler: Handler, subscription: Subscription | None = None) -> int:
        self._conductor.check_live()
        subscription_id = subscription.registration_id if subscription is not None else None
        handler_id = self._conductor.handlers.add(kind, handler, subscription_id)
        self._conductor.watch_counters()
        return handler_id

    def add_available_image_handler(self, handler: ImageHandler, subscription: Subscription | None = None) -> int:
        """Call ``handler(image)`` for new images, of one subscription or of all; returns an id."""
        return self._add_handler(Kind.AVAILABLE_IMAGE, handler, subscription)

    def add_unavailable_image_handler(self, handler: ImageHandler, subscription: Subscription | None = None) -> int:
        """Call ``handler(image)`` for images that went away, of one subscription or of all; returns an id."""
        return self._add_handler(Kind.UNAVAILABLE_IMAGE, handler, subscription)

    def add_available_counter_handler(self, handler: CounterHandler) -> int:
        """Call ``handler(counters_reader, registration_id, counter_id)`` for new counters; returns an id."""
        return self._add_handler(Kind.AVAILABLE_COUNTER, handler)

    def add_unavailable_counter_handler(self, handler: CounterHandler) -> int:
        """Call ``handler(counters_reader, registration_id, counter_id)`` for freed counters; returns an id."""
        return self._add_handler(Kind.UNAVAILABLE_COUNTER, handler)

    def add_publication_error_handler(self, handler: PublicationErrorHandler) -> int:
        """Call ``handler(publication_error)`` when a receiver refuses a publication of this client; returns an id."""
        return self._add_handler(Kind.PUBLICATION_ERROR, handler)

    def add_close_handler(self, handler: CloseHandler) -> int:
        """Call ``handler()`` once when this client closes or ends, in the order of adding; returns an id."""
        return self._add_handler(Kind.CLOSE, handler)

    def remove_handler(self, handler: int | Handler) -> bool:
        """Remove a handler by the id that adding it returned, or by itself; whether there was one."""
        found = self._conductor.handlers.remove(handler)
        if not self.is_closed:
            self._conductor.watch_counters()
        return found


def is_driver_active(aeron_dir: str | PathLike[str] | None = None, timeout_ms: int = 10_000) -> bool:
    """Whether a media driver lives in a directory; waits for one that is starting."""
    return driver_is_active(os.fspath(aeron_dir or default_aeron_dir()), timeout_ms)


def request_driver_termination(
    aeron_dir: str | PathLike[str] | None = None, token: bytes = b"", timeout_ms: int = 1_000
) -> None:
    """Ask a media driver to end, if its validator takes the token. Nothing is answered: its heartbeat tells.

    Raises DriverTimeout where no driver lives, CapacityError where its command ring is full.
    """
    cnc = CncMapping(os.fspath(aeron_dir or default_aeron_dir()), timeout_ms)
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
    core.command(CommandType.TERMINATE_DRIVER, body)
