"""A media driver: embedded in this process, or on its own (spec: client/driver protocol, section 21)."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, ClassVar, Final, Self

from aeronpy import __version__
from aeronpy._core.native import DriverCore
from aeronpy.config import default_aeron_dir
from aeronpy.diagnosis import diagnosed
from aeronpy.driver import directory, system_counters
from aeronpy.driver.conductor import resource_agent
from aeronpy.driver.conductor.conductor import DriverConductor
from aeronpy.driver.settings import start_checks
from aeronpy.driver.settings.context import MS, MediaDriverContext, ThreadingMode
from aeronpy.errors import StateError
from aeronpy.loggers import logger_of

_log: Final = logger_of(__name__)


class _Running:
    """What lives while a driver runs. It never refers to the MediaDriver, so that one can be collected."""

    def __init__(self, context: MediaDriverContext, terminated: threading.Event) -> None:
        self.context = context
        self.directory = context.directory
        self.pid = os.getpid()
        self.terminated = terminated
        self._lock = threading.Lock()
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self.core = DriverCore(self.directory, context.core_config(), _labels(context))
        try:
            self.conductor = DriverConductor(context, self.core, terminated.set)
        except BaseException:
            self.core.close()
            raise
        try:
            self.core.set_counter(system_counters.AERON_VERSION_ID, system_counters.AERON_VERSION)
            self.core.set_counter(system_counters.CONTROL_PROTOCOL_VERSION_ID, system_counters.CONTROL_PROTOCOL_VERSION)
            self._start()
            self.core.ready()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        self.core.start(self.context.threading_mode, self.context.agent_settings())
        if self.context.threading_mode is not ThreadingMode.INVOKER:
            self._thread = threading.Thread(target=self.conductor.run, name="aeron-md-decisions", daemon=True)
            self._thread.start()

    @property
    def is_open(self) -> bool:
        return not self._is_closed and self.pid == os.getpid()

    def close(self) -> None:
        """Decisions end first, then the native threads, then the files. In a forked child: nothing."""
        if self.pid != os.getpid():
            return
        if threading.current_thread() is self._thread or threading.current_thread().name == resource_agent.THREAD_NAME:
            # The garbage collector may find the driver on one of its own threads, which cannot wait for itself.
            threading.Thread(target=self.close, name="aeron-md-close").start()
            return
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            interrupt = self._join()
            self.conductor.close()
            self.core.close()
            if self.context.dir_delete_on_shutdown:
                directory.remove(self.directory)
            self.terminated.set()
        if interrupt is not None:
            raise interrupt

    def _join(self) -> KeyboardInterrupt | None:
        """End the decision thread; Ctrl-C meanwhile is kept for when the rest is closed too."""
        interrupt = None
        if self._thread is not None:
            self.conductor.stop()
            while self._thread.is_alive():
                try:
                    self._thread.join()
                except KeyboardInterrupt as error:
                    interrupt = error
        return interrupt


def _labels(context: MediaDriverContext) -> list[bytes]:
    return system_counters.labels(
        __version__,
        context.threading_mode,
        conductor_ns=context.driver_conductor_cycle_threshold,
        sender_ns=context.driver_sender_cycle_threshold,
        receiver_ns=context.driver_receiver_cycle_threshold,
        resolver_ns=context.name_resolver_threshold,
    )


class MediaDriver:
    """A running media driver. Close it, or use it in a ``with`` statement; exit of the interpreter closes it too.

    In a child made by ``fork`` it refuses to work and leaves its parent's files alone.
    """

    Context: ClassVar = MediaDriverContext

    def __init__(self, running: _Running) -> None:
        self._running = running
        self._finalizer = weakref.finalize(self, running.close)

    @classmethod
    def launch(cls, context: MediaDriverContext | None = None, **arguments: Any) -> Self:
        """Start in the context's directory; keyword arguments make a context.

        Raises `ActiveError` where a live driver has the directory, `ArgumentError` for settings that do not fit
        together, `StorageError` when the files do not fit.
        """
        if context is None:
            context = MediaDriverContext(**arguments)
        elif arguments:
            raise TypeError("give a context or keyword arguments, not both")
        context.conclude()
        start_checks.check_sockets(context)
        start_checks.check_cpuset(context)
        if context.print_configuration:
            for setting in context.describe():
                print(f"{setting.property_name}={setting.value} ({setting.origin})")
        with diagnosed(context.directory, starting=context):
            directory.prepare(
                context.directory,
                timeout_ms=context.driver_timeout // MS,
                delete_on_start=context.dir_delete_on_start,
                warn_if_exists=context.dir_warn_if_exists,
                permissions=context.dir_permissions,
            )
            try:
                return cls(_Running(context, threading.Event()))
            except BaseException:
                if context.dir_delete_on_shutdown:
                    directory.remove(context.directory)
                raise

    @classmethod
    def launch_embedded(cls, context: MediaDriverContext | None = None, **arguments: Any) -> Self:
        """Start in a directory of its own, or in the ``aeron_dir`` given; it is deleted on close."""
        if context is None:
            context = MediaDriverContext(**arguments)
        elif arguments:
            raise TypeError("give a context or keyword arguments, not both")
        origins = {setting.name: setting.origin for setting in context.describe()}
        if origins["aeron_dir"] != "argument":
            context.aeron_dir = _random_directory()
        context.dir_delete_on_shutdown = True
        return cls.launch(context)

    @property
    def context(self) -> MediaDriverContext:
        """The settings in use."""
        return self._running.context

    @property
    def aeron_dir(self) -> str:
        """The directory that clients connect to."""
        return self._running.directory

    @property
    def is_open(self) -> bool:
        """True until closed, in the process that launched it."""
        return self._running.is_open

    @property
    def terminated(self) -> threading.Event:
        """Set when a client's TERMINATE_DRIVER was accepted, and by close."""
        return self._running.terminated

    def do_work(self) -> int:
        """A cycle of all agents on the caller's thread; only with ThreadingMode.INVOKER. Returns work done."""
        running = self._check_open()
        if running.context.threading_mode is not ThreadingMode.INVOKER:
            raise StateError(
                f"do_work is for INVOKER; this driver has threads of its own ({self.context.threading_mode.name})"
            )
        return running.core.do_work() + running.conductor.do_work()

    def idle(self, work: int) -> None:
        """Wait as the shared idle strategy does after a `do_work` that did so much."""
        self._check_open().core.idle(work)

    def _check_open(self) -> _Running:
        if self._running.pid != os.getpid():
            raise StateError("this media driver belongs to the parent process: a fork cannot use it")
        if not self._running.is_open:
            raise StateError("the media driver is closed")
        return self._running

    def close(self) -> None:
        """Stop; clients see it at once. Safe twice, from any thread, and in a forked child, where it does nothing."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<MediaDriver {self.aeron_dir} {'open' if self.is_open else 'closed'}>"


def _random_directory() -> str:
    return f"{default_aeron_dir()}-{os.urandom(16).hex()}"
