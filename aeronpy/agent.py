"""Agents: objects with a duty cycle, run on a thread of their own, together on one, or by whoever invokes them.

An agent has a ``role_name``, ``on_start``, ``do_work`` (which returns how much it did, 0 for nothing) and ``on_close``.
What it raises is counted and handed to the error handler, and the agent goes on; `AgentTermination` ends it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final, Protocol, Self

from aeronpy._core.native import IdleStrategy
from aeronpy.errors import AgentTermination, ArgumentError, StateError
from aeronpy.loggers import logger_of

__all__ = [
    "Agent",
    "AgentInvoker",
    "AgentRunner",
    "AgentTermination",
    "CompositeAgent",
    "DynamicCompositeAgent",
    "IdleStrategy",
]

_log: Final = logger_of("aeronpy")

RETRY_CLOSE_TIMEOUT_S: Final = 5.0
ErrorHandler = Callable[[Exception], None]


class Agent(Protocol):
    """Something with a duty cycle."""

    @property
    def role_name(self) -> str:
        """What it is, for thread names and reports."""

    def on_start(self) -> None:
        """Called once, on the thread that runs it, before any work."""

    def do_work(self) -> int:
        """Do what there is to do, without waiting; returns how much that was."""

    def on_close(self) -> None:
        """Called once, after all work."""


class ErrorCounter(Protocol):
    """What counts errors: a `Counter`, for one."""

    def increment(self) -> object:
        """Add one."""


class Idle(Protocol):
    """What waits between cycles without work: an `IdleStrategy`, or one of the caller's."""

    def idle(self, work_count: int, /) -> object:
        """Wait a little if there was no work."""


class _Errors:
    """Counts errors and hands them on."""

    def __init__(self, handler: ErrorHandler | None, counter: ErrorCounter | None) -> None:
        self._handler = handler
        self._counter = counter

    def on(self, role_name: str, error: Exception) -> None:
        if self._counter is not None and not isinstance(error, AgentTermination):
            self._counter.increment()
        try:
            if self._handler is not None:
                self._handler(error)
            else:
                _log.error("%s: %s: %s", role_name, type(error).__name__, error, exc_info=error)
        except Exception:
            _log.exception("the error handler of %s failed", role_name)


class AgentInvoker:
    """Runs an agent on the caller's thread: `start`, then `invoke` again and again, then `close`."""

    def __init__(
        self, agent: Agent, error_handler: ErrorHandler | None = None, error_counter: ErrorCounter | None = None
    ) -> None:
        self.agent: Final = agent
        self._errors = _Errors(error_handler, error_counter)
        self._is_started = False
        self._is_closed = False

    @property
    def is_started(self) -> bool:
        """Whether start was called."""
        return self._is_started

    @property
    def is_running(self) -> bool:
        """Whether it was started, and neither failed at that nor was closed."""
        return self._is_started and not self._is_closed

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or ended by itself."""
        return self._is_closed

    def start(self) -> None:
        """Start the agent; one that fails to start is closed. Twice is fine."""
        if self._is_started or self._is_closed:
            return
        self._is_started = True
        try:
            self.agent.on_start()
        except Exception as error:
            self._errors.on(self.agent.role_name, error)
            self.close()

    def invoke(self) -> int:
        """Run one duty cycle; returns the work done, 0 where the agent does not run."""
        if not self.is_running:
            return 0
        try:
            return self.agent.do_work()
        except AgentTermination as error:
            self._errors.on(self.agent.role_name, error)
            self.close()
        except Exception as error:
            self._errors.on(self.agent.role_name, error)
        return 0

    def close(self) -> None:
        """Close the agent. Twice is fine."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self.agent.on_close()
        except Exception as error:
            self._errors.on(self.agent.role_name, error)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class AgentRunner:
    """Runs an agent on a thread of its own, with an idle strategy between cycles without work."""

    def __init__(
        self,
        agent: Agent,
        idle_strategy: Idle | None = None,
        error_handler: ErrorHandler | None = None,
        error_counter: ErrorCounter | None = None,
    ) -> None:
        """idle_strategy is that of `IdleStrategy` by default: ``backoff``."""
        self.agent: Final = agent
        self._idle: Idle = idle_strategy if idle_strategy is not None else IdleStrategy("backoff")
        self._errors = _Errors(error_handler, error_counter)
        self._is_running = True
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_on_close_done = False

    @property
    def is_closed(self) -> bool:
        """Whether the agent has been closed, by `close` or by its own end."""
        return self._is_on_close_done

    @property
    def thread(self) -> threading.Thread | None:
        """The agent's thread, once started."""
        return self._thread

    def start(self) -> threading.Thread:
        """Start the thread, named after the agent. Raises StateError when it was started or closed before."""
        with self._lock:
            if self._thread is not None or not self._is_running:
                raise StateError(f"the runner of {self.agent.role_name} was started or closed already")
            self._thread = threading.Thread(target=self.run, name=self.agent.role_name, daemon=True)
        self._thread.start()
        return self._thread

    def run(self) -> None:
        """Run the agent on this thread until it is closed or ends by itself."""
        try:
            self.agent.on_start()
        except Exception as error:
            self._errors.on(self.agent.role_name, error)
            self._is_running = False
        try:
            while self._is_running:
                self._cycle()
        finally:
            self._is_running = False
            self._close_agent()

    def _cycle(self) -> None:
        try:
            self._idle.idle(self.agent.do_work())
        except AgentTermination as error:
            self._is_running = False
            self._errors.on(self.agent.role_name, error)
        except Exception as error:
            self._errors.on(self.agent.role_name, error)

    def _close_agent(self) -> None:
        with self._lock:
            if self._is_on_close_done:
                return
            self._is_on_close_done = True
        try:
            self.agent.on_close()
        except Exception as error:
            self._errors.on(self.agent.role_name, error)

    def close(
        self,
        retry_timeout_s: float = RETRY_CLOSE_TIMEOUT_S,
        on_fail: Callable[[threading.Thread], None] | None = None,
    ) -> None:
        """Stop, wait until the agent is closed, and call on_fail each retry_timeout_s that this takes.

        Safe twice, and from the agent's own thread, where it does not wait. A thread of Python cannot be interrupted:
        an agent that waits in its do_work holds this up.
        """
        self._is_running = False
        thread = self._thread
        if thread is None:
            self._close_agent()
            return
        while thread is not threading.current_thread() and thread.is_alive():
            thread.join(retry_timeout_s)
            if thread.is_alive():
                if on_fail is not None:
                    on_fail(thread)
                else:
                    _log.warning("%s has not closed within %s s", self.agent.role_name, retry_timeout_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _for_all(agents: Sequence[Agent], call: Callable[[Agent], None], what: str) -> None:
    """Call all agents whatever some raise; then raise what was collected."""
    errors = []
    for agent in agents:
        try:
            call(agent)
        except Exception as error:
            error.add_note(f"from {what} of {agent.role_name}")
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup(f"{len(errors)} agents failed in {what}", errors)


class CompositeAgent:
    """Several agents as one. Where one raises, the next cycle goes on behind it."""

    def __init__(self, *agents: Agent) -> None:
        if not agents:
            raise ArgumentError("a composite agent needs at least one agent")
        self.agents: Final = agents
        self._next = 0

    @property
    def role_name(self) -> str:
        """The agents' names, in brackets."""
        return f"[{', '.join(agent.role_name for agent in self.agents)}]"

    def on_start(self) -> None:
        """Start all; raises what they raised, in an ExceptionGroup where there were several."""
        _for_all(self.agents, lambda agent: agent.on_start(), "on_start")

    def do_work(self) -> int:
        """Run a cycle of each; returns the sum of their work."""
        work = 0
        while self._next < len(self.agents):
            agent = self.agents[self._next]
            self._next += 1
            work += agent.do_work()
        self._next = 0
        return work

    def on_close(self) -> None:
        """Close all; raises as `on_start`."""
        _for_all(self.agents, lambda agent: agent.on_close(), "on_close")


class DynamicCompositeAgent:
    """Several agents as one, which come and go while it runs.

    Another thread hands over one agent at a time with `try_add` and `try_remove`; the next cycle takes it up.
    """

    class Status(Enum):
        """Where its life is."""

        INIT = auto()
        ACTIVE = auto()
        CLOSED = auto()

    def __init__(self, role_name: str, *agents: Agent) -> None:
        self._role_name = role_name
        self._agents: list[Agent] = list(agents)
        self._next = 0
        self._to_add: Agent | None = None
        self._to_remove: Agent | None = None
        self._status = self.Status.INIT

    @property
    def role_name(self) -> str:
        """The name given."""
        return self._role_name

    @property
    def status(self) -> Status:
        """INIT before on_start, CLOSED from on_close on."""
        return self._status

    @property
    def agents(self) -> tuple[Agent, ...]:
        """Those that take part now."""
        return tuple(self._agents)

    def on_start(self) -> None:
        """Start all that are there; raises what they raised, in an ExceptionGroup where there were several."""
        _for_all(self._agents, lambda agent: agent.on_start(), "on_start")
        self._status = self.Status.ACTIVE

    def do_work(self) -> int:
        """Take up who comes and goes, then run a cycle of each; returns the sum of their work."""
        adding, removing = self._to_add, self._to_remove
        if adding is not None:
            self._to_add = None
            self._add(adding)
        if removing is not None:
            self._to_remove = None
            self._remove(removing)
        work = 0
        while self._next < len(self._agents):
            agent = self._agents[self._next]
            self._next += 1
            work += agent.do_work()
        self._next = 0
        return work

    def _add(self, agent: Agent) -> None:
        try:
            agent.on_start()
        except Exception:
            agent.on_close()
            raise
        self._agents.append(agent)

    def _remove(self, agent: Agent) -> None:
        if agent in self._agents:
            at = self._agents.index(agent)
            del self._agents[at]
            if at < self._next:
                self._next -= 1
            agent.on_close()

    def on_close(self) -> None:
        """Close all; raises as `on_start`."""
        self._status = self.Status.CLOSED
        _for_all(self._agents, lambda agent: agent.on_close(), "on_close")

    def _check_active(self) -> None:
        if self._status is not self.Status.ACTIVE:
            raise StateError(f"agents come and go while {self._role_name} is ACTIVE; it is {self._status.name}")

    def try_add(self, agent: Agent) -> bool:
        """Hand an agent over; False while the one before waits still."""
        self._check_active()
        if self._to_add is not None:
            return False
        self._to_add = agent
        return True

    @property
    def has_add_agent_completed(self) -> bool:
        """Whether the agent handed over last has been taken up."""
        self._check_active()
        return self._to_add is None

    def try_remove(self, agent: Agent) -> bool:
        """Ask an agent to go; False while the one before waits still."""
        self._check_active()
        if self._to_remove is not None:
            return False
        self._to_remove = agent
        return True

    @property
    def has_remove_agent_completed(self) -> bool:
        """Whether the agent named last has gone."""
        self._check_active()
        return self._to_remove is None
