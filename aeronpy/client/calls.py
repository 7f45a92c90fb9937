"""Commands that wait for the driver's answer: awaited by a caller, fetched later, or only noted."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, runtime_checkable

from aeronpy._core.native import ClientCore, Waiter
from aeronpy.client import protocol
from aeronpy.client.protocol import Command
from aeronpy.errors import DriverTimeout, RegistrationError, StateError


@runtime_checkable
class Closeable(Protocol):
    """What a call may have made, that lives at the driver."""

    def close(self) -> None:
        """Take it away."""


Undo = Callable[[int, int, int], tuple[Command, bytes]]


def undo_publication(client_id: int, correlation_id: int, registration_id: int) -> tuple[Command, bytes]:
    """What takes an added publication back."""
    body = protocol.remove_publication(client_id, correlation_id, registration_id, False)
    return Command.REMOVE_PUBLICATION, body


def undo_subscription(client_id: int, correlation_id: int, registration_id: int) -> tuple[Command, bytes]:
    """What takes an added subscription back."""
    return Command.REMOVE_SUBSCRIPTION, protocol.remove(client_id, correlation_id, registration_id)


def undo_counter(client_id: int, correlation_id: int, registration_id: int) -> tuple[Command, bytes]:
    """What takes an added counter back."""
    return Command.REMOVE_COUNTER, protocol.remove(client_id, correlation_id, registration_id)


class Call:
    """A command, what its answer is made into, and how to take it back while it waits."""

    def __init__(
        self, kind: type, make: Callable[[int, bytes], object], what: str = "", undo: Undo | None = None
    ) -> None:
        self.kind = kind
        self.make = make
        self.what = what
        self.undo = undo
        self.waiter = Waiter()


class _Note:
    """A command whose answer nobody waits for; a refusal is reported, unless it is expected."""

    def __init__(self, what: str, may_fail: bool) -> None:
        self.what = what
        self.may_fail = may_fail


class Calls:
    """The open commands of one client. Methods may be called from any thread."""

    def __init__(self, core: ClientCore, timeout_ms: int) -> None:
        self._core: Final = core
        self._timeout_ms: Final = timeout_ms
        self._calls: Final[dict[int, Call]] = {}
        self._notes: Final[dict[int, _Note]] = {}
        self._unsent: Final[deque[tuple[int, Command, bytes]]] = deque()
        # Waits with the caller's own work, in a client without threads; set by the conductor.
        self.wait_by_work: Callable[[Waiter, float], bool] | None = None

    def begin(self, command: Command, body: bytes, correlation_id: int, call: Call) -> None:
        """Send a command whose answer will be made into something."""
        self._calls[correlation_id] = call
        try:
            self._core.watch(correlation_id)
            self._core.command(command, body)
        except BaseException:
            self.forget(correlation_id)
            raise

    def forget(self, correlation_id: int) -> None:
        """Stop waiting for an answer."""
        self._calls.pop(correlation_id, None)
        self._core.unwatch(correlation_id)

    def finish(self, correlation_id: int, call: Call) -> object:
        """Wait for the answer; raises DriverTimeout, RegistrationError, or what ended the client.

        What the driver makes after all, for a caller that has given up, is taken back.
        """
        timeout_s = self._timeout_ms / 1e3
        wait = self.wait_by_work or Waiter.wait
        self._core.awaiting(1)
        try:
            if not wait(call.waiter, timeout_s):
                raise DriverTimeout(
                    f"no response from the media driver within {timeout_s} s: {call.what}; {self._driver_life()}"
                )
        except BaseException:
            self.cancel(correlation_id)
            raise
        finally:
            self._core.awaiting(-1)
        return self.take(correlation_id, call)

    def _driver_life(self) -> str:
        age_ms = time.time_ns() // 1_000_000 - self._core.cnc.heartbeat_timestamp_ms
        if age_ms > self._timeout_ms:
            return f"its last heartbeat is {age_ms} ms old: is it stopped, or dead?"
        return f"its last heartbeat is {age_ms} ms old: it lives, and is busy; raise driver_timeout_ms, or try again"

    def take(self, correlation_id: int, call: Call) -> object:
        """The answer that has come; a refusal is raised, once."""
        self._calls.pop(correlation_id, None)
        if call.waiter.error is not None:
            raise call.waiter.error
        return call.waiter.result

    def pending(self, correlation_id: int) -> Call | None:
        """The call of an id, answered or not."""
        return self._calls.get(correlation_id)

    def cancel(self, correlation_id: int) -> None:
        """Give up on a call; what it asked for is taken back at the driver, whether it is there yet or not."""
        call = self._calls.get(correlation_id)
        self.forget(correlation_id)
        if call is None or call.waiter.error is not None:
            return
        if isinstance(call.waiter.result, Closeable):
            call.waiter.result.close()
        else:
            self._take_back(correlation_id, call)

    def _take_back(self, correlation_id: int, call: Call) -> None:
        if call.undo is not None:
            undo_id = self._core.next_correlation_id()
            command, body = call.undo(self._core.client_id, undo_id, correlation_id)
            self.note(undo_id, command, body, f"take back {call.what}", may_fail=True)

    def note(self, correlation_id: int, command: Command, body: bytes, what: str, may_fail: bool = False) -> None:
        """Send a command whose answer is only noted. Never fails for want of room: it is sent later then."""
        self._notes[correlation_id] = _Note(what, may_fail)
        try:
            self._core.watch(correlation_id)
        except StateError:
            self._notes.pop(correlation_id, None)  # closed meanwhile: the driver forgets the client as a whole
            return
        if self._unsent or not self._core.post(command, body):
            self._unsent.append((correlation_id, command, body))
            self._core.wake()

    @property
    def has_unsent(self) -> bool:
        """Whether commands wait for room in the driver's ring."""
        return bool(self._unsent)

    def send_unsent(self) -> None:
        """Send what had no room; called by the conductor alone."""
        while self._unsent:
            _, command, body = self._unsent[0]
            if not self._core.post(command, body):
                return
            self._unsent.popleft()

    def complete(self, correlation_id: int, kind: int, body: bytes) -> object:
        """Take an answer; returns what was made of it. The caller tells who waits, by `Call.waiter`."""
        if self._notes.pop(correlation_id, None) is not None:
            self._core.unwatch(correlation_id)
            return None
        call = self._calls.get(correlation_id)
        if call is None:
            return None
        try:
            return call.make(kind, body)
        except Exception as error:
            # The driver has made what cannot be used here, for want of memory or mappings: it is not to stay there.
            self._core.unwatch(correlation_id)
            self._take_back(correlation_id, call)
            call.waiter.complete(None, error)
            return None

    def fail(self, correlation_id: int, error: RegistrationError) -> RegistrationError | None:
        """Take a refusal; returns it where nobody waits for it and it is to be reported."""
        self._core.unwatch(correlation_id)
        call = self._calls.get(correlation_id)
        if call is not None:
            call.waiter.complete(None, error)
            return None
        note = self._notes.pop(correlation_id, None)
        if note is None or note.may_fail:
            return None
        return RegistrationError(f"{note.what}: {error}", error.code, error.error_code, correlation_id)

    def fail_all(self, error: Exception) -> None:
        """Tell all who wait that there will be no answer."""
        self._notes.clear()
        self._unsent.clear()
        for call in list(self._calls.values()):
            if not call.waiter.done:
                call.waiter.complete(None, error)

    def is_active(self, correlation_id: int) -> bool:
        """Whether a command has not been answered yet."""
        call = self._calls.get(correlation_id)
        return correlation_id in self._notes or (call is not None and not call.waiter.done)

    @property
    def has_active(self) -> bool:
        """Whether any command has not been answered yet."""
        return bool(self._notes) or any(not call.waiter.done for call in list(self._calls.values()))


def wait_working(waiter: Waiter, timeout_s: float, work: Callable[[], int], idle: Callable[[int], object]) -> bool:
    """Wait for an answer by doing the client's own work; False when timeout_s passed first."""
    deadline = time.monotonic() + timeout_s
    while not waiter.done:
        done = work()
        if time.monotonic() > deadline:
            return False
        if not waiter.done:
            idle(done)
    return True
