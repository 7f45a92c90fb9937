"""The client's settings."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from aeronpy import config
from aeronpy._core.native import IdleStrategy
from aeronpy.client.handlers import Handlers, Kind
from aeronpy.errors import ArgumentError, ConcurrentConclude
from aeronpy.uri import parse_duration_ns

if TYPE_CHECKING:
    from aeronpy._core.native import CountersReader, Image
    from aeronpy.client.protocol import PublicationError

ErrorHandler = Callable[[Exception], None]
ImageHandler = Callable[["Image"], None]
CounterHandler = Callable[["CountersReader", int, int], None]
PublicationErrorHandler = Callable[["PublicationError"], None]
CloseHandler = Callable[[], None]
NewPublicationHandler = Callable[[str, int, int, int], None]
NewSubscriptionHandler = Callable[[str, int, int], None]
ThreadFactory = Callable[[Callable[[], None]], threading.Thread]

CLIENT_NAME_MAX: Final = 100
QUIET_SLEEP_NS: Final = 250_000_000
_AWAITING_DEFAULT: Final = ("sleep-ns", "1ms")


_ARGUMENTS: Final = (
    "error_handler",
    "subscriber_error_handler",
    "available_image_handler",
    "unavailable_image_handler",
    "available_counter_handler",
    "unavailable_counter_handler",
    "publication_error_handler",
    "new_publication_handler",
    "new_exclusive_publication_handler",
    "new_subscription_handler",
    "close_handler",
    "driver_agent_invoker",
    "thread_factory",
    "agent_on_start",
)


class NoOpLock:
    """A lock that locks nothing: for a client with the invoker that one thread alone uses."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Succeed at once."""
        return True

    def release(self) -> None:
        """Do nothing."""

    def __enter__(self) -> NoOpLock:
        return self

    def __exit__(self, *exception: object) -> None: ...


class Context(config.Settings):
    """Settings of an `Aeron` client: keyword arguments, ``aeron.*`` properties, ``AERON_*`` variables, defaults.

    A context serves one client. Handlers run on the client's conductor thread and must not call back into the
    client, except to close what is open; exceptions in them go to the error handler. That is the ``aeronpy`` logger
    unless given.
    """

    aeron_dir = config.text("aeron.dir", "", environment="AERON_DIR", doc="The driver's directory.")
    driver_timeout_ms = config.integer(
        "aeron.driver.timeout", 10_000, minimum=1, doc="Deadline of connecting and of calls, and age of a dead driver."
    )
    keepalive_interval_ns = config.duration(
        "aeron.client.keepalive.interval", 500_000_000, minimum_ns=1_000_000, doc="Between heartbeats."
    )
    resource_linger_duration_ns = config.duration(
        "aeron.client.resource.linger.duration", 3_000_000_000, doc="Logs stay mapped so long after their image."
    )
    close_linger_duration_ns = config.duration(
        "aeron.client.close.linger.duration", 0, doc="Logs stay mapped so long after the client."
    )
    idle_sleep_duration_ns = config.Option(
        "aeron.client.idle.sleep.duration",
        16_000_000,
        parse_duration_ns,
        minimum=0,
        maximum=1_000_000_000,
        doc="The conductor's sleep between looks, and how often time-outs are checked.",
    )
    profile = config.Choice(
        "aeronpy.client.profile",
        "default",
        {"default": (), "quiet": ()},
        doc="quiet: under a driver of ours the conductor sleeps up to 250 ms at a time, and is woken on need.",
    )
    idle_strategy = config.text(
        "aeron.client.idle.strategy",
        "",
        doc="How the conductor idles, by name; empty: it sleeps for idle_sleep_duration_ns, and wakes when needed.",
    )
    idle_strategy_init_args = config.text("aeron.client.idle.strategy.init.args", "", doc="Arguments of idle_strategy.")
    awaiting_idle_strategy = config.text(
        "aeron.client.awaiting.idle.strategy",
        "",
        doc="How a call idles that waits with the invoker, by name; empty: it sleeps 1 ms.",
    )
    awaiting_idle_strategy_init_args = config.text(
        "aeron.client.awaiting.idle.strategy.init.args", "", doc="Arguments of awaiting_idle_strategy."
    )
    pre_touch_mapped_memory = config.boolean(
        "aeron.pre.touch.mapped.memory",
        False,
        environment="AERON_CLIENT_PRE_TOUCH_MAPPED_MEMORY",
        doc="Touch every page of a log when it is mapped.",
    )
    client_name = config.text("aeron.client.name", "", doc="Appended to the label of the heartbeat counter.")
    use_conductor_agent_invoker = config.boolean(
        "aeronpy.client.use.invoker", False, doc="Start no thread: the application calls Aeron.invoke."
    )
    agent_on_start_function = config.text(
        "aeron.agent.on.start.function",
        "",
        doc="package.module:function, called with its name on the conductor thread.",
    )

    def __init__(
        self,
        *,
        error_handler: ErrorHandler | None = None,
        subscriber_error_handler: ErrorHandler | None = None,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
        available_counter_handler: CounterHandler | None = None,
        unavailable_counter_handler: CounterHandler | None = None,
        publication_error_handler: PublicationErrorHandler | None = None,
        new_publication_handler: NewPublicationHandler | None = None,
        new_exclusive_publication_handler: NewPublicationHandler | None = None,
        new_subscription_handler: NewSubscriptionHandler | None = None,
        close_handler: CloseHandler | None = None,
        driver_agent_invoker: Callable[[], int] | None = None,
        thread_factory: ThreadFactory | None = None,
        agent_on_start: Callable[[str], None] | None = None,
        client_lock: Any = None,
        **settings: Any,
    ) -> None:
        """See the options for what they mean; handlers, hooks and locks are arguments only.

        subscriber_error_handler takes what fragment handlers raise; without one it reaches who polls.
        new_publication_handler and its kin are told ``(channel, stream_id, session_id, registration_id)`` of what the
        driver has added, new_subscription_handler all but the session. driver_agent_invoker runs a driver that has no
        threads, while a call waits for it: its ``do_work``, or an invoker's ``invoke``. client_lock is a
        `threading.RLock` of the caller's, or with the invoker a `NoOpLock`.
        """
        super().__init__(**settings)
        if not self.aeron_dir:
            self._values["aeron_dir"] = config.default_aeron_dir()
        if len(self.client_name) > CLIENT_NAME_MAX:
            raise ArgumentError(f"client_name has {len(self.client_name)} characters: at most {CLIENT_NAME_MAX}")
        self.error_handler = error_handler
        self.subscriber_error_handler = subscriber_error_handler
        self.available_image_handler = available_image_handler
        self.unavailable_image_handler = unavailable_image_handler
        self.available_counter_handler = available_counter_handler
        self.unavailable_counter_handler = unavailable_counter_handler
        self.publication_error_handler = publication_error_handler
        self.new_publication_handler = new_publication_handler
        self.new_exclusive_publication_handler = new_exclusive_publication_handler
        self.new_subscription_handler = new_subscription_handler
        self.close_handler = close_handler
        self.driver_agent_invoker = driver_agent_invoker
        self.thread_factory = thread_factory
        self.agent_on_start = agent_on_start
        self.client_lock = client_lock if client_lock is not None else threading.RLock()
        self.inter_service_timeout_ns: int | None = None
        """The largest gap between two services, as the driver says; known once connected."""
        self._is_concluded = False

    def describe(self) -> config.Description:
        """Every setting with its value and where it came from, and the handlers and hooks that were given."""
        given = [(name, getattr(self, name)) for name in _ARGUMENTS]
        hooks = [config.Setting(name, "", hook, "argument") for name, hook in given if hook is not None]
        return config.Description([*super().describe(), *hooks])

    def conclude(self) -> None:
        """Check what depends on several settings, and take the context for one client; raises ConcurrentConclude."""
        if self._is_concluded:
            raise ConcurrentConclude("this context was used already: make one for each client")
        self._is_concluded = True
        self.check_choices()
        if isinstance(self.client_lock, NoOpLock) and not self.use_conductor_agent_invoker:
            raise ArgumentError("a NoOpLock is for use_conductor_agent_invoker: a client with threads needs a lock")
        self.make_idle_strategy()
        self.make_awaiting_idle_strategy()
        if self.agent_on_start is None and self.agent_on_start_function:
            self.agent_on_start = _resolve(self.agent_on_start_function)

    @property
    def woken_sleep_duration_ns(self) -> int:
        """The sleep between looks under a driver that wakes its clients: longer in the quiet profile."""
        if self.profile != "quiet":
            return self.idle_sleep_duration_ns
        return max(self.idle_sleep_duration_ns, min(QUIET_SLEEP_NS, self.keepalive_interval_ns // 2))

    def make_idle_strategy(self) -> IdleStrategy | None:
        """The conductor's idle strategy; None to sleep for `idle_sleep_duration_ns`."""
        if not self.idle_strategy:
            return None
        return IdleStrategy(self.idle_strategy, self.idle_strategy_init_args)

    def make_awaiting_idle_strategy(self) -> IdleStrategy:
        """The idle strategy of a call that waits with the invoker."""
        if not self.awaiting_idle_strategy:
            return IdleStrategy(*_AWAITING_DEFAULT)
        return IdleStrategy(self.awaiting_idle_strategy, self.awaiting_idle_strategy_init_args)

    def register(self, handlers: Handlers) -> None:
        """Put the handlers that are for the whole client among those that were added."""
        handlers.add_if_given(Kind.AVAILABLE_COUNTER, self.available_counter_handler)
        handlers.add_if_given(Kind.UNAVAILABLE_COUNTER, self.unavailable_counter_handler)
        handlers.add_if_given(Kind.PUBLICATION_ERROR, self.publication_error_handler)
        handlers.add_if_given(Kind.CLOSE, self.close_handler)


def _resolve(name: str) -> Callable[[str], None]:
    try:
        import pkgutil

        found = pkgutil.resolve_name(name)
    except (ValueError, ImportError, AttributeError) as error:
        raise ArgumentError(f"agent_on_start_function is {name!r}: {error}; give package.module:function") from error
    if not callable(found):
        raise ArgumentError(f"agent_on_start_function is {name!r}, which cannot be called")
    return found  # type: ignore[no-any-return]
