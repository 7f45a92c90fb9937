"""The client's conductor: takes what the driver says, keeps the resources, runs the handlers.

It runs on a Python thread of its own (or the caller's, with the invoker) behind the native core, which alone is on
time: a stalled interpreter delays what happens here, and nothing else.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Final

from aeronpy._core.native import ClientCore, Image, Waiter
from aeronpy.client import protocol
from aeronpy.client.calls import Call, Calls, wait_working
from aeronpy.client.context import Context
from aeronpy.client.counter import Counter
from aeronpy.client.ends import end_error
from aeronpy.client.handlers import Handlers, Kind
from aeronpy.client.logs import Logs
from aeronpy.client.publication import ExclusivePublication, Publication
from aeronpy.client.subscription import Subscription
from aeronpy.errors import AeronError, ChannelEndpointError, RegistrationError, StateError
from aeronpy.loggers import logger_of
from aeronpy.protocol import CommandType, ErrorCode, ReplyType

_log: Final = logger_of("aeronpy")

EXPLICIT_CLOSE_LINGER_NS: Final = 1_000_000_000
THREAD_NAME: Final = "aeron-client-conductor"

Resource = Publication | ExclusivePublication | Subscription | Counter


class Conductor:
    """Keeps a client's resources; its methods are called by the client's objects, from any thread."""

    def __init__(self, core: ClientCore, context: Context) -> None:
        self.core: Final = core
        self.context: Final = context
        self.is_closed = False
        self.ended: AeronError | None = None
        self.handlers: Final = Handlers()
        self.logs: Final = Logs(core, context.pre_touch_mapped_memory)
        self.calls: Final = Calls(core, context.driver_timeout_ms)
        self.calls.wait_by_work = self._wait_by_work
        self._lock: Final = context.client_lock
        self._resources: weakref.WeakValueDictionary[int, Resource] = weakref.WeakValueDictionary()
        # A counter lives until it is removed, also when nobody keeps the object: others read its value.
        self._own_counters: Final[dict[int, Counter]] = {}
        self._thread: threading.Thread | None = None
        self._in_handlers = threading.local()

    # --- the duty cycle ---

    def start(self) -> None:
        """Start the core's thread and the one that runs the handlers."""
        self.core.start(self.context.make_idle_strategy())
        self.calls.wait_by_work = None
        make_thread = self.context.thread_factory or _daemon_thread
        self._thread = make_thread(self._run)
        self._thread.start()

    def _run(self) -> None:
        on_start = self.context.agent_on_start
        if on_start is not None:
            try:
                on_start(THREAD_NAME)
            except Exception as error:
                self.report(error)
        while not self.is_closed:
            pause_s = 0.5 if self.logs.has_lingering else 10.0
            self.core.wait(0.01 if self.calls.has_unsent else pause_s)
            self.service()

    def service(self) -> int:
        """Handle what has come; returns how many events."""
        events = 0
        if self.calls.has_unsent:
            self.calls.send_unsent()
        while not self.is_closed:
            event = self.core.next_event()
            if event is None:
                break
            events += 1
            try:
                self._on_event(*event)
            except Exception as error:
                self.report(error)
        self.logs.unmap()
        return events

    def invoke(self) -> int:
        """Run the core and the conductor once, on the caller's thread; 0 where another thread is at it."""
        if self._thread is not None:
            raise StateError("the client runs its own threads: set use_conductor_agent_invoker to call invoke")
        self.check_open()
        if not self._lock.acquire(blocking=False):
            return 0
        try:
            work = self.core.do_work()
            return work + self.service()
        finally:
            self._lock.release()

    def _wait_by_work(self, waiter: Waiter, timeout_s: float) -> bool:
        invoke_driver = self.context.driver_agent_invoker
        idle = self.context.make_awaiting_idle_strategy()

        def work() -> int:
            done = invoke_driver() if invoke_driver is not None else 0
            return done + self.invoke()

        return wait_working(waiter, timeout_s, work, idle.idle)

    # --- who may call ---

    def check_live(self) -> None:
        """Raise where this client can do nothing any more: forked, ended, closed."""
        if self.core.is_forked:
            self.core.next_correlation_id()  # refuses, with the reason
        error = self.why_ended()
        if error is not None:
            raise type(error)(f"the client ended: {error}", error.code)
        if self.is_closed:
            raise StateError("the client is closed")

    def check_open(self) -> None:
        """As check_live, and for calls that talk to the driver: not from inside a handler."""
        self.check_live()
        if getattr(self._in_handlers, "depth", 0):
            raise StateError(
                "reentrant calls are not permitted during callbacks: this is called from inside one of the client's "
                "handlers; hand it to another thread, or do it after the handler"
            )

    def why_ended(self) -> AeronError | None:
        """What ended this client, from the moment on at which the core ended, also before handlers hear of it."""
        termination = self.core.termination
        if self.ended is None and termination is not None and not self.is_closed:
            return end_error(*termination, self.core.cnc, self.context.driver_timeout_ms)
        return self.ended

    def begin(self, command: CommandType, body: Callable[[int, int], bytes], call: Call) -> int:
        """Send a command, made of the client's id and its own, whose answer becomes something; returns its id.

        Raises what ended the client, StateError once closed, CapacityError.
        """
        self.check_open()
        try:
            correlation_id = self.core.next_correlation_id()
            self.calls.begin(command, body(self.core.client_id, correlation_id), correlation_id, call)
        except StateError:
            self.check_live()  # the client ended meanwhile, for a reason that says more
            raise
        return correlation_id

    def ask(self, command: CommandType, body: Callable[[int, int], bytes], what: str) -> int:
        """Send a command that is answered with done or not, and wait; returns its id. Raises as `Calls.finish`."""
        call = Call(int, lambda _event, _body: True, what)
        correlation_id = self.begin(command, body, call)
        self.calls.finish(correlation_id, call)
        return correlation_id

    def report(self, error: Exception) -> None:
        """Hand an error to the error handler, or to the log."""
        handler = self.context.error_handler
        try:
            if handler is None:
                _log.error("%s: %s", type(error).__name__, error, exc_info=error)
            else:
                self._enter(handler, error)
        except Exception:
            _log.exception("the error handler failed")

    def _enter(self, handler: Callable[..., Any], *arguments: object) -> None:
        self._in_handlers.depth = getattr(self._in_handlers, "depth", 0) + 1
        try:
            handler(*arguments)
        finally:
            self._in_handlers.depth -= 1

    def tell(self, handlers: list[Callable[..., Any]], *arguments: object) -> None:
        """Run users' handlers; what one raises is reported, and the next one runs."""
        for handler in handlers:
            try:
                self._enter(handler, *arguments)
            except Exception as error:
                self.report(error)

    # --- events ---

    def _on_event(self, kind: int, body: bytes) -> None:
        if kind == ReplyType.ON_AVAILABLE_IMAGE:
            self._on_available_image(protocol.AvailableImage.parse(body))
        elif kind == ReplyType.ON_UNAVAILABLE_IMAGE:
            self._on_unavailable_image(*protocol.parse_unavailable_image(body))
        elif kind == ReplyType.ON_ERROR:
            self._on_error(*protocol.parse_error(body))
        elif kind == ReplyType.ON_UNAVAILABLE_COUNTER:
            self._on_counter(Kind.UNAVAILABLE_COUNTER, body)
        elif kind == ReplyType.ON_PUBLICATION_ERROR:
            self._on_publication_error(protocol.PublicationError.parse(body))
        elif kind == protocol.CLIENT_TERMINATED:
            self._on_terminated()
        else:
            self._complete(protocol.parse_id(body), kind, body)
            if kind == ReplyType.ON_COUNTER_READY:
                self._on_counter(Kind.AVAILABLE_COUNTER, body)

    def _complete(self, correlation_id: int, kind: int, body: bytes) -> None:
        result = self.calls.complete(correlation_id, kind, body)
        call = self.calls.pending(correlation_id)
        if call is None or result is None:
            return
        if isinstance(result, Subscription | Publication | ExclusivePublication | Counter):
            with self._lock:
                self._resources[correlation_id] = result
                if isinstance(result, Counter) and not result.is_static:
                    self._own_counters[correlation_id] = result
            self._tell_of_new(result)
        if not isinstance(result, Subscription):
            self.core.unwatch(correlation_id)  # subscriptions go on to be told of images
        call.waiter.complete(result)

    def _tell_of_new(self, resource: Resource) -> None:
        context = self.context
        if isinstance(resource, Subscription):
            handler: Callable[..., Any] | None = context.new_subscription_handler
            self.tell([handler] if handler else [], resource.channel, resource.stream_id, resource.registration_id)
        elif not isinstance(resource, Counter):
            is_exclusive = isinstance(resource, ExclusivePublication)
            handler = context.new_exclusive_publication_handler if is_exclusive else context.new_publication_handler
            arguments = resource.channel, resource.stream_id, resource.session_id, resource.registration_id
            self.tell([handler] if handler else [], *arguments)

    def _on_error(self, correlation_id: int, code: int, text: str) -> None:
        if code == ErrorCode.CHANNEL_ENDPOINT_ERROR:
            self._on_endpoint_error(correlation_id & 0xFFFFFFFF, text)
        name = ErrorCode.of(code).name
        error = RegistrationError(f"{text} (the driver's error code {code}, {name})", 0, code, correlation_id)
        unheard = self.calls.fail(correlation_id, error)
        if unheard is not None:
            self.report(unheard)

    def _on_endpoint_error(self, status_id: int, text: str) -> None:
        for resource in self._of(Subscription, Publication, ExclusivePublication):
            if not isinstance(resource, Counter) and resource.channel_status_id == status_id:
                code = ErrorCode.CHANNEL_ENDPOINT_ERROR
                what = f"{resource.channel}: {text}"
                self.report(ChannelEndpointError(what, code, resource.registration_id, status_id))

    def _on_counter(self, kind: Kind, body: bytes) -> None:
        registration_id, counter_id = protocol.parse_pair(body)
        self.tell(self.handlers.of(kind), self.core.counters, registration_id, counter_id)

    def _on_publication_error(self, error: protocol.PublicationError) -> None:
        for resource in self._of(Publication, ExclusivePublication):
            if (
                not isinstance(resource, Counter | Subscription)
                and resource.original_registration_id == error.registration_id
            ):
                self.tell(self.handlers.of(Kind.PUBLICATION_ERROR), error)

    def _of(self, *kinds: type) -> list[Resource]:
        # A list of references first: a finalizer that runs meanwhile takes its resource out of the dictionary.
        with self._lock:
            found = [reference() for reference in self._resources.valuerefs()]
        return [resource for resource in found if isinstance(resource, kinds)]  # type: ignore[misc]

    def resource(self, registration_id: int) -> Resource | None:
        """What was added under an id and is open still."""
        with self._lock:
            return self._resources.get(registration_id)

    def watch_counters(self) -> None:
        """Ask for the events of all counters where somebody wants them."""
        wanted = [kind for kind in (Kind.AVAILABLE_COUNTER, Kind.UNAVAILABLE_COUNTER) if self.handlers.of(kind)]
        self.core.watch_counters(bool(wanted))

    # --- images ---

    def _on_available_image(self, event: protocol.AvailableImage) -> None:
        with self._lock:
            subscription = self._resources.get(event.subscription_id)
        if not isinstance(subscription, Subscription):
            return
        try:
            log = self.logs.open(event.log_path)
        except AeronError as error:
            raise type(error)(
                f"the image of session {event.session_id} on {subscription.channel} stream {event.stream_id} cannot be "
                f"used here: {error}; its publisher waits for this subscription until that is closed",
                error.code,
            ) from error
        image = Image(
            self.core,
            log,
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
        self.tell(self.handlers.of(Kind.AVAILABLE_IMAGE, event.subscription_id), image)

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
            self.logs.linger(image, self.context.resource_linger_duration_ns)
            self.tell(self.handlers.of(Kind.UNAVAILABLE_IMAGE, subscription_id), image)

    # --- closing ---

    def _close_subscription(self, subscription: Subscription, linger_ns: int) -> bool:
        with self._lock:
            if subscription.is_closed:
                return False
            images = subscription.images
            for image in images:
                image._close()
            subscription._mark_closed()
        handlers = self.handlers.of(Kind.UNAVAILABLE_IMAGE, subscription.registration_id)
        self.handlers.remove_subscription(subscription.registration_id)
        for image in images:
            self.logs.linger(image, linger_ns)
            self.tell(handlers, image)
        return True

    def _mark_closed(self, resource: Resource, linger_ns: int) -> bool:
        """Close a resource here; False where it was closed already, also by another thread just now."""
        if isinstance(resource, Subscription):
            return self._close_subscription(resource, linger_ns)
        with self._lock:
            if resource.is_closed:
                return False
            resource._mark_closed()
        if not isinstance(resource, Counter):
            self.logs.linger(resource, linger_ns)
        return True

    def close_resource(self, resource: Resource, command: CommandType, body: Callable[[int], bytes]) -> None:
        """Close a resource here and tell the driver; the driver's answer is only noted."""
        if self.core.is_forked or not self._mark_closed(resource, EXPLICIT_CLOSE_LINGER_NS):
            return
        with self._lock:
            self._resources.pop(resource.registration_id, None)
            self._own_counters.pop(resource.registration_id, None)
        self.core.unwatch(resource.registration_id)
        if not self.is_closed and self.ended is None:
            try:
                correlation_id = self.core.next_correlation_id()
            except StateError:
                return  # the client was closed meanwhile, and with it all that it made
            what = f"{command.name} {resource.registration_id}"
            self.calls.note(correlation_id, command, body(correlation_id), what, may_fail=True)

    def _on_terminated(self) -> None:
        error = self.ended = self.why_ended()
        self._close_all()
        if error is not None:
            self.report(error)
        self.core.close()  # a driver that lives need not wait until it misses us

    def _close_all(self) -> None:
        for resource in self._of(Subscription, Publication, ExclusivePublication, Counter):
            self._mark_closed(resource, self.context.resource_linger_duration_ns)
        self._own_counters.clear()
        self.calls.fail_all(self.ended or StateError("the client was closed meanwhile"))
        self.tell(self.handlers.take(Kind.CLOSE))

    def close(self) -> None:
        """Close everything, tell the driver, stop the threads. Twice is fine, and from any thread."""
        if self.core.is_forked:
            return
        with self._lock:
            if self.is_closed:
                return
            self.is_closed = True
        self._close_all()
        self.core.close()
        self.core.wake()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread() and thread.is_alive():
            thread.join(5.0)
        if self.context.close_linger_duration_ns:
            time.sleep(self.context.close_linger_duration_ns / 1e9)
        self.logs.unmap(everything=True)


def _daemon_thread(run: Callable[[], None]) -> threading.Thread:
    return threading.Thread(target=run, name=THREAD_NAME, daemon=True)
