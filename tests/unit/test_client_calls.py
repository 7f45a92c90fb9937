"""Commands that wait for their answer: what is sent when the driver's ring is full, and what becomes of refusals."""

from __future__ import annotations

import time
from typing import cast

import pytest

from aeronpy._core.native import ClientCore
from aeronpy.client.calls import Call, Calls, undo_counter
from aeronpy.client.handlers import Handlers, Kind
from aeronpy.client.protocol import Command
from aeronpy.errors import DriverTimeout, OutOfMemoryError, RegistrationError, StateError


class LatelyAlive:
    """A driver's file with a heartbeat of just now."""

    @property
    def heartbeat_timestamp_ms(self) -> int:
        return time.time_ns() // 1_000_000


class Ring:
    """The native core's side of the calls: what was sent, as long as there is room."""

    client_id = 7
    cnc = LatelyAlive()

    def __init__(self) -> None:
        self.room = 1 << 30
        self.sent: list[tuple[int, bytes]] = []
        self.watched: set[int] = set()
        self.ids = 100
        self.is_closed = False

    def next_correlation_id(self) -> int:
        self.ids += 1
        return self.ids

    def watch(self, name: int) -> None:
        if self.is_closed:
            raise StateError("closed")
        self.watched.add(name)

    def unwatch(self, name: int) -> None:
        self.watched.discard(name)

    def command(self, kind: int, body: bytes) -> None:
        self.sent.append((kind, body))

    def post(self, kind: int, body: bytes) -> bool:
        if self.room == 0:
            return False
        self.room -= 1
        self.sent.append((kind, body))
        return True

    def awaiting(self, delta: int) -> None: ...

    def wake(self) -> None: ...


@pytest.fixture
def ring() -> Ring:
    return Ring()


@pytest.fixture
def calls(ring: Ring) -> Calls:
    return Calls(cast(ClientCore, ring), 20)


def add_counter(calls: Calls, name: int) -> Call:
    call = Call(int, lambda kind, body: len(body), "add counter", undo_counter)
    calls.begin(Command.ADD_COUNTER, b"add", name, call)
    return call


def test_what_has_no_room_is_sent_later_and_in_order(calls: Calls, ring: Ring) -> None:
    ring.room = 1
    for name in (1, 2, 3):
        calls.note(name, Command.REMOVE_COUNTER, bytes([name]), "remove")
    assert ring.sent == [(Command.REMOVE_COUNTER, b"\1")]
    calls.send_unsent()
    assert (calls.has_unsent, len(ring.sent)) == (True, 1)
    ring.room = 1
    calls.note(4, Command.REMOVE_COUNTER, b"\4", "remove")  # does not overtake
    assert len(ring.sent) == 1
    ring.room = 10
    calls.send_unsent()
    assert ([body for _, body in ring.sent], calls.has_unsent) == ([b"\1", b"\2", b"\3", b"\4"], False)
    for name in (1, 2, 3, 4):
        assert calls.is_active(name)
        calls.complete(name, 0, b"")
    assert (calls.has_active, ring.watched) == (False, set())


def test_an_unanswered_call_is_taken_back(calls: Calls, ring: Ring) -> None:
    call = add_counter(calls, 1)
    with pytest.raises(
        DriverTimeout, match=r"no response from the media driver within 0.02 s: add counter; its last heartbeat .*lives"
    ):
        calls.finish(1, call)
    assert calls.pending(1) is None
    (_, _), (kind, body) = ring.sent
    assert kind == Command.REMOVE_COUNTER
    assert body == b"".join(n.to_bytes(8, "little") for n in (7, 101, 1))
    assert calls.is_active(101)
    # The driver may well answer that it knows no such counter.
    assert calls.fail(101, RegistrationError("unknown", 0, 5, 101)) is None
    assert not calls.has_active


def test_what_cannot_be_used_here_is_taken_back_at_the_driver(calls: Calls, ring: Ring) -> None:
    def no_memory(kind: int, body: bytes) -> object:
        raise OutOfMemoryError("no mapping")

    call = Call(int, no_memory, "add counter", undo_counter)
    calls.begin(Command.ADD_COUNTER, b"add", 1, call)
    assert calls.complete(1, 0x0F08, b"ready") is None
    with pytest.raises(OutOfMemoryError, match="no mapping"):
        calls.finish(1, call)
    assert ring.sent[1] == (Command.REMOVE_COUNTER, b"".join(n.to_bytes(8, "little") for n in (7, 101, 1)))


def test_a_refused_or_fetched_call_is_not_taken_back(calls: Calls, ring: Ring) -> None:
    refused = add_counter(calls, 1)
    assert calls.fail(1, RegistrationError("no", 0, 11, 1)) is None
    calls.cancel(1)
    assert len(ring.sent) == 1
    with pytest.raises(RegistrationError, match="no"):
        calls.take(1, refused)

    closed: list[str] = []

    class Made:
        def close(self) -> None:
            closed.append("closed")

    call = add_counter(calls, 2)
    call.waiter.complete(Made())
    calls.cancel(2)
    assert (closed, len(ring.sent)) == (["closed"], 2)


def test_a_refusal_that_nobody_waits_for_is_given_back_to_be_reported(calls: Calls) -> None:
    calls.note(1, Command.ADD_DESTINATION, b"", "ADD_DESTINATION x")
    error = calls.fail(1, RegistrationError("unknown host", 0, 9, 1))
    assert error is not None
    assert (str(error), error.error_code, error.correlation_id) == ("ADD_DESTINATION x: unknown host", 9, 1)
    assert calls.fail(99, RegistrationError("not ours", 0, 1, 99)) is None


def test_all_who_wait_are_told_of_the_end(calls: Calls, ring: Ring) -> None:
    call = add_counter(calls, 1)
    calls.note(2, Command.REMOVE_COUNTER, b"", "remove")
    calls.fail_all(StateError("the end"))
    assert not calls.has_active
    with pytest.raises(StateError, match="the end"):
        calls.finish(1, call)
    ring.is_closed = True
    calls.note(3, Command.REMOVE_COUNTER, b"", "remove")
    assert not calls.has_active


def test_handlers_are_called_in_the_order_of_adding_for_whom_they_are() -> None:
    handlers = Handlers()
    called: list[str] = []
    names = [
        handlers.add(Kind.AVAILABLE_IMAGE, lambda: called.append("all")),
        handlers.add(Kind.AVAILABLE_IMAGE, lambda: called.append("of 5"), 5),
        handlers.add(Kind.UNAVAILABLE_IMAGE, lambda: called.append("gone"), 5),
    ]
    for handler in handlers.of(Kind.AVAILABLE_IMAGE, 5) + handlers.of(Kind.AVAILABLE_IMAGE, 6):
        handler()
    assert called == ["all", "of 5", "all"]
    handlers.remove_subscription(5)
    assert [handlers.remove(name) for name in names] == [True, False, False]
    handlers.add(Kind.CLOSE, print)
    assert (handlers.take(Kind.CLOSE), handlers.take(Kind.CLOSE)) == ([print], [])
