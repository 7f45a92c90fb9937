"""The C API over a driver of ours: what handlers get, and what becomes of handles when their streams end.

ctypes lets go of the GIL in each call, as native code does, so polls here run beside Python.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aeronpy import Aeron, ControlledAction, MediaDriver, NativeHandle
from aeronpy.errors import ArgumentError, StateError
from aeronpy.native import function
from tests.system.clients import CHANNEL, Pair
from tests.waiting import until

CLOSED, ERROR, BUSY = -4, -6, -7
FRAGMENT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
CONTROLLED = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


class Frame(ctypes.Structure):
    _fields_ = [
        ("frame_length", ctypes.c_int32),
        ("version", ctypes.c_uint8),
        ("flags", ctypes.c_uint8),
        ("type", ctypes.c_uint16),
        ("term_offset", ctypes.c_int32),
        ("session_id", ctypes.c_int32),
        ("stream_id", ctypes.c_int32),
        ("term_id", ctypes.c_int32),
        ("reserved_value", ctypes.c_int64),
    ]


class Header(ctypes.Structure):
    _fields_ = [
        ("frame", ctypes.POINTER(Frame)),
        ("position", ctypes.c_int64),
        ("image", ctypes.c_void_p),
    ]


class Claim(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("position", ctypes.c_int64),
        ("frame", ctypes.c_void_p),
    ]


class Seen:
    """A handler that notes down what it gets."""

    def __init__(self, inside: Callable[[], object] | None = None) -> None:
        self.messages: list[tuple[bytes, int, int, int, int]] = []
        self.inside = inside
        self.handler = FRAGMENT(self._on_fragment)
        self.address = ctypes.cast(self.handler, ctypes.c_void_p).value or 0

    def _on_fragment(self, _context: int, buffer: int, length: int, header: int) -> None:
        if self.inside is not None:
            self.inside()
        found = Header.from_address(header)
        frame = found.frame.contents
        self.messages.append(
            (ctypes.string_at(buffer, length), found.position, frame.session_id, frame.stream_id, frame.reserved_value)
        )


def offer(handle: NativeHandle, data: bytes) -> int:
    held = np.frombuffer(data, np.uint8)
    return int(function("offer")(handle.address, held.ctypes.data, len(data)))


def test_a_handler_gets_bytes_positions_and_ids(pair: Pair) -> None:
    publication, subscription = pair
    seen = Seen()
    first = publication.offer(b"one", reserved_value=77)
    second = publication.offer(b"")

    assert subscription.poll_native(seen.address) == 2
    ids = publication.session_id, publication.stream_id
    assert seen.messages == [(b"one", first, *ids, 77), (b"", second, *ids, 0)]


def test_pointers_are_taken_as_they_come(pair: Pair) -> None:
    publication, subscription = pair
    seen = Seen()
    for _ in range(2):
        publication.offer(b"x")

    assert subscription.poll_native(seen.handler, ctypes.c_void_p(5), 1) == 1
    assert subscription.poll_native(seen, 5) == 1  # has an address
    with pytest.raises(TypeError, match="is none of them"):
        subscription.poll_native("handler")
    with pytest.raises(ArgumentError, match="address is 0"):
        subscription.poll_native(0)
    with pytest.raises(ArgumentError, match="one of them"):
        subscription.poll_native(seen, assemble=True, controlled=True)


def test_offers_and_claims_arrive(pair: Pair) -> None:
    publication, subscription = pair
    handle = publication.native_handle
    claim = Claim()
    at = ctypes.addressof(claim)

    assert offer(handle, b"offered") == publication.position
    assert function("try_claim")(handle.address, 7, at) == claim.position
    assert claim.length == 7
    ctypes.memmove(claim.data, b"claimed", 7)
    assert function("commit")(handle.address, at) == 0
    assert function("commit")(handle.address, at) == ERROR
    assert function("try_claim")(handle.address, 7, at) > 0
    assert function("abort")(handle.address, at) == 0
    assert function("offer")(handle.address, 0, 1 << 30) == ERROR
    assert function("position")(handle.address) == publication.position
    assert function("position_limit")(handle.address) == publication.position_limit
    assert function("max_payload_length")(handle.address) == publication.max_payload_length
    assert function("publication_is_connected")(handle.address) == 1

    seen = Seen()
    assert function("poll")(subscription.native_handle.address, seen.address, 0, 10) == 2
    assert [message[0] for message in seen.messages] == [b"offered", b"claimed"]


def test_a_controlled_handler_steers_a_native_poll(pair: Pair) -> None:
    publication, subscription = pair
    answers = [ControlledAction.CONTINUE, ControlledAction.ABORT, ControlledAction.BREAK]
    seen: list[bytes] = []

    @CONTROLLED
    def handler(_context: int, buffer: int, length: int, _header: int) -> int:
        seen.append(ctypes.string_at(buffer, length))
        return int(answers[len(seen) - 1])

    for message in (b"a", b"b", b"c"):
        publication.offer(message)
    assert [subscription.poll_native(handler, controlled=True) for _ in range(2)] == [1, 1]
    assert seen == [b"a", b"b", b"b"]


def test_whole_messages_come_from_a_handle(pair: Pair) -> None:
    publication, subscription = pair
    seen = Seen()
    sent = bytes(range(256)) * 20
    publication.offer(sent)

    handle = subscription.native_handle
    assert function("poll_assembled")(handle.address, seen.address, 0, 10) > 1
    assert [message[0] for message in seen.messages] == [sent]


def test_a_handle_after_close_answers_closed(pair: Pair) -> None:
    publication, subscription = pair
    write, read = publication.native_handle, subscription.native_handle
    publication.offer(b"x")
    claim, seen = Claim(), Seen()
    assert function("try_claim")(write.address, 1, ctypes.addressof(claim)) > 0
    publication.close()
    subscription.close()

    for name in ("poll", "poll_assembled", "controlled_poll"):
        assert function(name)(read.address, seen.address, 0, 10) == CLOSED
    assert function("image_count")(read.address) == CLOSED
    assert function("subscription_is_closed")(read.address) == 1
    assert function("subscription_is_connected")(read.address) == 0
    assert offer(write, b"x") == CLOSED
    assert function("position")(write.address) == CLOSED
    assert function("publication_is_connected")(write.address) == 0
    assert function("commit")(write.address, ctypes.addressof(claim)) == 0
    assert write.is_closed
    assert read.is_closed
    assert not seen.messages
    assert subscription.poll_native(seen) == 0


def test_a_handle_keeps_what_it_leads_to(aeron: Aeron) -> None:
    subscription = aeron.add_subscription(CHANNEL, 31)
    handle = aeron.add_publication(CHANNEL, 31).native_handle  # the publication itself is kept by nobody else

    until(lambda: offer(handle, b"kept") > 0)
    assert [message.payload for message in subscription.messages(limit=1, timeout_s=5)] == [b"kept"]
    with pytest.raises(TypeError, match="native_handle"):
        NativeHandle()
    assert int(handle) == handle.address
    assert "ublication" in repr(handle)


def test_a_native_poll_and_others_refuse_each_other(pair: Pair) -> None:
    publication, subscription = pair
    handle = subscription.native_handle
    other = Seen()
    answers: list[Any] = []

    def inside() -> None:
        answers.append(function("poll")(handle.address, other.address, 0, 10))
        for poll in (
            lambda: subscription.poll(print),
            lambda: subscription.poll_native(other),
            subscription.poll_batch,
        ):
            try:
                poll()
            except StateError as error:
                answers.append(type(error))

    publication.offer(b"x")
    assert function("poll")(handle.address, Seen(inside).address, 0, 10) == 1
    assert answers == [BUSY, StateError, StateError, StateError]

    publication.offer(b"x")
    with subscription.poll_batch():
        assert function("poll")(handle.address, other.address, 0, 10) == BUSY


@pytest.mark.parametrize("closes", ["subscription", "client"])
def test_closing_waits_for_nobody_and_takes_no_memory_from_a_running_poll(closes: str, driver: MediaDriver) -> None:
    aeron = Aeron.connect(aeron_dir=driver.aeron_dir)
    subscription = aeron.add_subscription(CHANNEL, 32)
    publication = aeron.add_publication(CHANNEL, 32)
    publication.send(b"first")
    publication.send(b"second")
    until(lambda: subscription.is_connected)
    entered, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        entered.set()
        assert go_on.wait(30)

    seen = Seen(wait)
    handle = subscription.native_handle
    answers: list[int] = []

    def poll() -> None:
        for _ in range(2):
            answers.append(function("poll")(handle.address, seen.address, 0, 10))

    poller = threading.Thread(target=poll)
    poller.start()
    assert entered.wait(30)
    closing = threading.Thread(target=(subscription if closes == "subscription" else aeron).close)
    closing.start()
    closing.join(30)
    assert not closing.is_alive()
    go_on.set()
    poller.join(30)

    assert [message[0] for message in seen.messages] == [b"first"]  # read after the close
    assert answers == [1, CLOSED]
    aeron.close()


def test_logs_are_unmapped_though_a_subscriptions_handle_lives(pair: Pair) -> None:
    publication, subscription = pair
    log = f"/{publication.registration_id}.logbuffer"
    read, seen = subscription.native_handle, Seen()
    publication.offer(b"x")
    assert function("poll")(read.address, seen.address, 0, 10) == 1
    assert log in Path("/proc/self/maps").read_text()

    publication.close()
    subscription.close()

    until(lambda: log not in Path("/proc/self/maps").read_text())
    assert function("poll")(read.address, seen.address, 0, 10) == CLOSED


def test_polls_beside_closes_and_new_images(aeron: Aeron) -> None:
    for _ in range(10):
        subscription = aeron.add_subscription(CHANNEL, 33)
        handle, seen, answers = subscription.native_handle, Seen(), []

        def poll(handle: NativeHandle = handle, seen: Seen = seen, answers: list[int] = answers) -> None:
            answer = 0
            while answer >= 0:
                answer = function("poll")(handle.address, seen.address, 0, 10)
            answers.append(answer)

        poller = threading.Thread(target=poll)
        poller.start()
        for number in range(3):
            with aeron.add_exclusive_publication(CHANNEL, 33) as publication:
                publication.send(bytes([number]))
                until(lambda seen=seen, number=number: len(seen.messages) == number + 1)
        subscription.close()
        poller.join(30)
        assert answers == [CLOSED]


def test_handles_outlive_their_driver() -> None:
    code = """
import os, signal, subprocess, sys
from aeronpy import Aeron
from aeronpy.native import function
from tests.system.test_native_api import Seen, offer
driver = subprocess.Popen([sys.executable, "-m", "aeronpy.cli.main", "driver", "-Daeron.dir=" + sys.argv[1]])
errors = []
aeron = Aeron.connect(aeron_dir=sys.argv[1], driver_timeout_ms=1500, error_handler=errors.append)
subscription = aeron.add_subscription("aeron:ipc", 1)
publication = aeron.add_publication("aeron:ipc", 1)
publication.send(b"x")
write, read, seen = publication.native_handle, subscription.native_handle, Seen()
os.kill(driver.pid, signal.SIGKILL)
driver.wait()
while (answer := offer(write, b"y")) != -4:
    assert answer > 0 or answer in (-1, -2, -3), answer
while (answer := function("poll")(read.address, seen.address, 0, 100)) != -4:
    assert answer >= 0, answer
assert len(errors) == 1, errors
print(type(errors[0]).__name__)
"""
    directory = f"/dev/shm/aeronpy-test-native-{os.getpid()}"
    ran = subprocess.run(
        [sys.executable, "-c", code, directory], capture_output=True, text=True, timeout=50, check=False
    )
    subprocess.run(["rm", "-rf", directory], check=True)
    assert (ran.returncode, ran.stdout) == (0, "DriverTimeout\n"), ran.stderr


def test_a_forked_child_finds_its_handles_closed(pair: Pair) -> None:
    publication, subscription = pair
    write, read, seen = publication.native_handle, subscription.native_handle, Seen()
    position = publication.offer(b"x")

    child = os.fork()
    if child == 0:
        right = offer(write, b"y") == CLOSED and function("poll")(read.address, seen.address, 0, 10) == CLOSED
        try:
            publication.native_handle  # noqa: B018
            right = False
        except StateError:
            pass
        os._exit(0 if right else 1)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert publication.position == position
    assert function("poll")(read.address, seen.address, 0, 10) == 1
