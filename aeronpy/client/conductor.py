"""The client's conductor: takes what the driver says, keeps the resources, runs the handlers.

It runs on a Python thread of its own (or the caller's, with the invoker) behind the native core, which alone is on
time: a stalled interpreter delays what happens here, and nothing else.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Final, TypeVar

from aeronpy._core.native import ClientCore, ClientLog, Image, Waiter
from aeronpy.client import protocol
from aeronpy.client.context import CloseHandler, Context, CounterHandler, ImageHandler
from aeronpy.client.counter import Counter
from aeronpy.client.protocol import Command, ErrorCode, Event
from aeronpy.client.publication import ExclusivePublication, Publication
from aeronpy.client.subscription import Subscription
from aeronpy.errors import (
    AeronError,
    ClientTimeout,
    ConductorServiceTimeout,
    DriverTimeout,
    RegistrationError,
    StateError,
)

_log: Final = logging.getLogger("aeronpy")

EXPLICIT_CLOSE_LINGER_NS: Final = 1_000_000_000
_ENDED: Final[dict[int, type[AeronError]]] = {
    1000: DriverTimeout,
    1001: ClientTimeout,
    1002: ConductorServiceTimeout,
}

Resource = Publication | ExclusivePublication | Subscription | Counter
R = TypeVar("R")


class Call:
    """A command that waits for its answer."""

    def __init__(self, kind: type, make: Callable[[int, bytes], object]) -> None:
        self.kind = kind
        self.make = make
        self.waiter = Waiter()


class Conductor:
    """Keeps a client's resources; its methods are called by the client's objects, from any thread."""

    def __init__(self, core: ClientCore, context: Context) -> None:
        self.core = core
        self.context = context
        self.is_closed = False
        self.ended: AeronError | None = None
        self._lock = threading.RLock()
        self._calls: dict[int, Call] = {}
        self._resources: weakref.WeakValueDictionary[int, Resource] = weakref.WeakValueDictionary()
        self._logs: weakref.WeakValueDictionary[str, ClientLog] = weakref.WeakValueDictionary()
        self._lingering: deque[tuple[int, Resource | Image]] = deque()
        self.image_handlers: dict[int, tuple[ImageHandler | None, ImageHandler | None]] = {}
        self.available_counter: dict[int, CounterHandler] = {}
        self.unavailable_counter: dict[int, CounterHandler] = {}
        self.close_handlers: dict[int, CloseHandler] = {}
        self._thread: threading.Thread | None = None
        self._handler_thread = 0
        self._names = iter(range(1, 1 << 62))

    # --- threads ---

    def start(self) -> None:
        """Start the core's thread and the conductor's own."""
        self.core.start()
        self._thread = threading.Thread(target=self._run, name="aeron-client-conductor", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self.is_closed:
            self.core.wait(0.5 if self._lingering else 10.0)
            self.service()

    def service(self) -> int:
        """Handle what has come; returns how many events."""
        events = 0
        while not self.is_closed:
            event = self.core.next_event()
            if event is None:
                break
            events += 1
            try:
                self._on_event(*event)
            except Exception as error:
                self.report(error)
        self._unmap_lingering()
        return events

    def invoke(self) -> int:
        """Run the core and the conductor once, on the caller's thread."""
        if self._thread is not None:
            raise StateError("the client runs its own threads: set use_conductor_agent_invoker to call invoke")
        self.check_open()
        work = self.core.do_work()
        return work + self.service()

    def check_open(self) -> None:
        """Raise where calls are not possible: closed, ended, or from inside a handler."""
        if self.ended is not None:
            raise type(self.ended)(f"the client ended: {self.ended}")
        if self.is_closed:
            raise StateError("the client is closed")
        if self._handler_thread == threading.get_ident():
            raise StateError("calls into the client are not possible from inside its handlers")

    def report(self, error: Exception) -> None:
        """Hand an error to the error handler, or to the log."""
        handler = self.context.error_handler
        try:
            if handler is None:
                _log.error("%s: %s", type(error).__name__, error, exc_info=error)
            else:
                handler(error)
        except Exception:
            _log.exception("the error handler failed")

    def _handle(self, handler: Callable[..., None] | None, *arguments: object) -> None:
        """Run a user's handler; what it raises is reported."""
        if handler is None:
            return
        before, self._handler_thread = self._handler_thread, threading.get_ident()
        try:
            handler(*arguments)
        except Exception as error:
            self.report(error)
        finally:
            self._handler_thread = before

    # --- calls ---

    def begin(self, command: Command, body: bytes, correlation_id: int, call: Call) -> None:
        """Send a command whose answer will be made into something."""
        with self._lock:
            self.check_open()
            self._calls[correlation_id] = call
        try:
            self.core.watch(correlation_id)
            self.core.command(command, body)
        except BaseException:
            self.forget(correlation_id)
            raise

    def forget(self, correlation_id: int) -> None:
        """Stop waiting for an answer."""
        with self._lock:
            self._calls.pop(correlation_id, None)
        self.core.unwatch(correlation_id)

    def finish(self, correlation_id: int, call: Call, what: str) -> object:
        """Wait for the answer; raises DriverTimeout, RegistrationError, or what ended the client."""
        timeout_s = self.context.driver_timeout_ms / 1e3
        self.core.awaiting(1)
        try:
            if not self._wait(call.waiter, timeout_s):
                raise DriverTimeout(f"no response from the media driver within {timeout_s} s: {what}")
        except BaseException:
            self.forget(correlation_id)
            raise
        finally:
            self.core.awaiting(-1)
        with self._lock:
            self._calls.pop(correlation_id, None)
        if call.waiter.error is not None:
            raise call.waiter.error
        return call.waiter.result

    def _wait(self, waiter: Waiter, timeout_s: float) -> bool:
        if self._thread is not None:
            return waiter.wait(timeout_s)
        deadline = time.monotonic() + timeout_s
        while not waiter.done:
            if self.context.driver_agent_invoker is not None:
                self.context.driver_agent_invoker()
            self.invoke()
            if time.monotonic() > deadline:
                return False
            if not waiter.done and self.context.driver_agent_invoker is None:
                waiter.wait(0.001)
        return True

    def call(self, command: Command, body: bytes, correlation_id: int, what: str) -> int:
        """Send a command and wait for its plain success; returns its correlation id."""
        call = Call(int, lambda _event, _body: correlation_id)
        self.begin(command, body, correlation_id, call)
        self.finish(correlation_id, call, what)
        return correlation_id

    def pending(self, correlation_id: int) -> Call | None:
        """The call of an id, done or not."""
        with self._lock:
            return self._calls.get(correlation_id)

    def active_calls(self) -> list[int]:
        """Ids of the calls that are not answered yet."""
        with self._lock:
            return [key for key, call in self._calls.items() if not call.waiter.done]

    # --- events ---

    def _on_event(self, kind: int, body: bytes) -> None:
        if kind == Event.ON_AVAILABLE_IMAGE:
            self._on_available_image(protocol.AvailableImage.parse(body))
        elif kind == Event.ON_UNAVAILABLE_IMAGE:
            self._on_unavailable_image(*protocol.parse_unavailable_image(body))
        elif kind == Event.ON_ERROR:
            self._on_error(*protocol.parse_error(body))
        elif kind == Event.ON_UNAVAILABLE_COUNTER:
            self._on_counter(self.unavailable_counter, self.context.unavailable_counter_handler, body)
        elif kind == Event.ON_PUBLICATION_ERROR:
            self._on_publication_error(protocol.PublicationError.parse(body))
        elif kind == Event.CLIENT_TERMINATED:
            self._on_terminated(*protocol.parse_termination(body))
        else:
            self._complete(protocol.parse_id(body), kind, body)
            if kind == Event.ON_COUNTER_READY:
                self._on_counter(self.available_counter, self.context.available_counter_handler, body)

    def _complete(self, correlation_id: int, kind: int, body: bytes) -> None:
        with self._lock:
            call = self._calls.get(correlation_id)
        if call is None:
            return
        try:
            result = call.make(kind, body)
        except Exception as error:
            self.core.unwatch(correlation_id)
            call.waiter.complete(None, error)
            return
        if isinstance(result, Subscription | Publication | ExclusivePublication | Counter):
            with self._lock:
                self._resources[correlation_id] = result
        if not isinstance(result, Subscription):
            self.core.unwatch(correlation_id)  # subscriptions go on to be told of images
        call.waiter.complete(result)

    def _on_error(self, correlation_id: int, code: int, text: str) -> None:
        if code == ErrorCode.CHANNEL_ENDPOINT_ERROR:
            status_id = correlation_id & 0xFFFFFFFF
            for resource in self._of(Subscription, Publication, ExclusivePublication):
                if not isinstance(resource, Counter) and resource.channel_status_id == status_id:
                    self.report(RegistrationError(f"{resource.channel}: {text}", 0, code, resource.registration_id))
        with self._lock:
            call = self._calls.get(correlation_id)
        self.core.unwatch(correlation_id)
        if call is not None:
            name = ErrorCode.of(code).name
            error = RegistrationError(f"{text} (the driver's error code {code}, {name})", 0, code, correlation_id)
            call.waiter.complete(None, error)

    def _on_counter(self, handlers: dict[int, CounterHandler], default: CounterHandler | None, body: bytes) -> None:
        registration_id, counter_id = protocol.parse_pair(body)
        for handler in [default, *handlers.values()]:
            self._handle(handler, self.core.counters, registration_id, counter_id)

    def _on_publication_error(self, error: protocol.PublicationError) -> None:
        for resource in self._of(Publication, ExclusivePublication):
            if (
                not isinstance(resource, Counter | Subscription)
                and resource.original_registration_id == error.registration_id
            ):
                self._handle(self.context.publication_error_handler, error)

    def _of(self, *kinds: type) -> list[Resource]:
        with self._lock:
            return [resource for resource in self._resources.values() if isinstance(resource, kinds)]

    def watch_counters(self) -> None:
        """Ask for the events of all counters where somebody wants them."""
        context = self.context
        wanted = bool(
            self.available_counter
            or self.unavailable_counter
            or context.available_counter_handler
            or context.unavailable_counter_handler
        )
        self.core.watch_counters(wanted)

    # --- images ---

    def open_log(self, path: str) -> ClientLog:
        """Map a log, or share the mapping of it."""
        with self._lock:
            log = self._logs.get(path)
            if log is None:
                log = self._logs[path] = self.core.open_log(path, self.context.pre_touch_mapped_memory)
            return log

    def _on_available_image(self, event: protocol.AvailableImage) -> None:
        with self._lock:
            subscription = self._resources.get(event.subscription_id)
        if not isinstance(subscription, Subscription):
            return
        image = Image(
            self.core,
            self.open_log(event.log_path),
            subscription=subscription,
            correlation_id=event.correlation_id,
            session_id=event.session_id,
            stream_id=event.stream_id,
            subscriber_position_id=event.position_id,
            source_identity=event.source_identity,
        )
        with self._lock:
            if subscription.is_closed:
                return
            subscription._set_images((*subscription.images, image))
        self._handle(self.image_handlers.get(event.subscription_id, (None, None))[0], image)

    def _on_unavailable_image(self, image_id: int, subscription_id: int) -> None:
        with self._lock:
            subscription = self._resources.get(subscription_id)
            if not isinstance(subscription, Subscription):
                return
            gone = [image for image in subscription.images if image.correlation_id == image_id]
            for image in gone:
                image._close()
            subscription._set_images(tuple(image for image in subscription.images if image not in gone))
            for image in gone:
                self._linger(image, self.context.resource_linger_duration_ns)
        for image in gone:
            self._handle(self.image_handlers.get(subscription_id, (None, None))[1], image)

    def _linger(self, holder: Resource | Image, duration_ns: int) -> None:
        self._lingering.append((time.monotonic_ns() + duration_ns, holder))

    def _unmap_lingering(self, everything: bool = False) -> None:
        now = time.monotonic_ns()
        for _ in range(len(self._lingering)):
            deadline, holder = self._lingering.popleft()
            if everything or now >= deadline:
                if isinstance(holder, Image | Publication | ExclusivePublication):
                    holder._release_log()
            else:
                self._lingering.append((deadline, holder))

    # --- closing ---

    def _close_images(self, subscription: Subscription, linger_ns: int) -> None:
        with self._lock:
            images = subscription.images
            for image in images:
                image._close()
                self._linger(image, linger_ns)
            subscription._mark_closed()
        handler = self.image_handlers.pop(subscription.registration_id, (None, None))[1]
        for image in images:
            self._handle(handler, image)

    def close_resource(self, resource: Resource, command: Command, body: Callable[[int], bytes]) -> None:
        """Close a resource here and tell the driver; the driver's answer is not awaited."""
        with self._lock:
            if resource.is_closed:
                return
            self._resources.pop(resource.registration_id, None)
            if not isinstance(resource, Subscription):
                resource._mark_closed()
        if isinstance(resource, Subscription):
            self._close_images(resource, EXPLICIT_CLOSE_LINGER_NS)
        elif not isinstance(resource, Counter):
            self._linger(resource, EXPLICIT_CLOSE_LINGER_NS)
        self.core.unwatch(resource.registration_id)
        if not self.is_closed and self.ended is None:
            self.core.post(command, body(self.core.next_correlation_id()))

    def _on_terminated(self, reason: int, text: str) -> None:
        self.ended = _ENDED.get(reason, AeronError)(text, -reason)
        self._close_all()
        self.report(self.ended)

    def _close_all(self) -> None:
        for resource in self._of(Subscription, Publication, ExclusivePublication, Counter):
            if isinstance(resource, Subscription):
                if not resource.is_closed:
                    self._close_images(resource, self.context.resource_linger_duration_ns)
            else:
                resource._mark_closed()
        with self._lock:
            calls = [call for call in self._calls.values() if not call.waiter.done]
            handlers = list(self.close_handlers.values())
            self.close_handlers.clear()
        for call in calls:
            call.waiter.complete(None, self.ended or StateError("the client was closed meanwhile"))
        for handler in handlers:
            self._handle(handler)

    def close(self) -> None:
        """Close everything, tell the driver, stop the threads. Twice is fine, and from any thread."""
        with self._lock:
            if self.is_closed:
                return
            self.is_closed = True
        self._close_all()
        self.core.close()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread() and thread.is_alive():
            thread.join(5.0)
        if self.context.close_linger_duration_ns:
            time.sleep(self.context.close_linger_duration_ns / 1e9)
        self._unmap_lingering(everything=True)

    def next_name(self) -> int:
        """An id for a handler that is added."""
        with self._lock:
            return next(self._names)
