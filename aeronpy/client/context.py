"""The client's settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from aeronpy import config
from aeronpy.errors import ArgumentError

if TYPE_CHECKING:
    from aeronpy._core.native import CountersReader, Image
    from aeronpy.client.protocol import PublicationError

ErrorHandler = Callable[[Exception], None]
ImageHandler = Callable[["Image"], None]
CounterHandler = Callable[["CountersReader", int, int], None]
PublicationErrorHandler = Callable[["PublicationError"], None]
CloseHandler = Callable[[], None]

CLIENT_NAME_MAX: Final = 100


class Context(config.Settings):
    """Settings of an `Aeron` client: keyword arguments, ``aeron.*`` properties, ``AERON_*`` variables, defaults.

    Handlers run on the client's conductor thread and must not call back into the client; exceptions in them go
    to the error handler. That is the ``aeronpy`` logger unless given.
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
    idle_sleep_duration_ns = config.duration(
        "aeron.client.idle.sleep.duration", 16_000_000, minimum_ns=1_000, doc="The conductor's sleep between looks."
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

    def __init__(
        self,
        *,
        error_handler: ErrorHandler | None = None,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
        available_counter_handler: CounterHandler | None = None,
        unavailable_counter_handler: CounterHandler | None = None,
        publication_error_handler: PublicationErrorHandler | None = None,
        close_handler: CloseHandler | None = None,
        driver_agent_invoker: Callable[[], object] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        if not self.aeron_dir:
            self._values["aeron_dir"] = config.default_aeron_dir()
        if len(self.client_name) > CLIENT_NAME_MAX:
            raise ArgumentError(f"client_name has {len(self.client_name)} characters: at most {CLIENT_NAME_MAX}")
        self.error_handler = error_handler
        self.available_image_handler = available_image_handler
        self.unavailable_image_handler = unavailable_image_handler
        self.available_counter_handler = available_counter_handler
        self.unavailable_counter_handler = unavailable_counter_handler
        self.publication_error_handler = publication_error_handler
        self.close_handler = close_handler
        self.driver_agent_invoker = driver_agent_invoker
