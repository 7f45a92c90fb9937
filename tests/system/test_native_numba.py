"""What compiled Python gets of a header, and a loop that polls without the interpreter."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from numba import carray, cfunc, njit

from aeronpy.native import function
from aeronpy.native.numba import CONTROLLED_HANDLER, FRAGMENT_HANDLER, frame_of, header_of, view
from tests.system.clients import Pair
from tests.waiting import until

CLOSED = -4

poll, offer = function("poll"), function("offer")


@cfunc(FRAGMENT_HANDLER)
def note(context: Any, buffer: Any, length: Any, header: Any) -> None:
    into = carray(context, 8, np.int64)
    frame = frame_of(header)
    into[0] += 1
    into[1] = length
    into[2] = carray(buffer, length, np.uint8)[length - 1]
    into[3] = header_of(header).position
    into[4] = frame.session_id
    into[5] = frame.stream_id
    into[6] = frame.reserved_value
    into[7] = frame.flags


@cfunc(CONTROLLED_HANDLER)
def stop_at_third(context: Any, buffer: Any, length: Any, header: Any) -> int:
    into = carray(context, 1, np.int64)
    into[0] += 1
    return 2 if into[0] == 3 else 4


@njit(nogil=True)
def echo(ends: tuple[int, int], handler: int, noted: Any, message: Any, count: int) -> int:
    publication, subscription = ends
    refused = 0
    while noted[0] < count:
        while offer(publication, message.ctypes.data, message.size) < 0:
            refused += 1
        while poll(subscription, handler, noted.ctypes.data, 10) == 0:
            pass
    return refused


def test_a_compiled_handler_sees_the_fragment_and_its_header(pair: Pair) -> None:
    publication, subscription = pair
    noted = np.zeros(8, np.int64)
    position = publication.offer(bytes([1, 2, 250]), reserved_value=-5)

    assert subscription.poll_native(note, noted.ctypes.data) == 1
    assert noted.tolist() == [1, 3, 250, position, publication.session_id, publication.stream_id, -5, 0xC0]


def test_a_compiled_controlled_handler_ends_its_poll(pair: Pair) -> None:
    publication, subscription = pair
    seen = np.zeros(1, np.int64)
    for _ in range(5):
        publication.offer(b"x")

    assert subscription.poll_native(stop_at_third, seen.ctypes.data, controlled=True) == 3


def test_a_compiled_loop_sends_and_polls(pair: Pair) -> None:
    publication, subscription = pair
    noted = np.zeros(8, np.int64)
    write, read = publication.native_handle, subscription.native_handle
    before = publication.position

    echo((write.address, read.address), note.address, noted, np.arange(40, dtype=np.uint8), 5000)

    assert noted[:3].tolist() == [5000, 40, 39]
    assert noted[3] == publication.position
    assert publication.position >= before + 5000 * 96


@cfunc(FRAGMENT_HANDLER)
def count_in_order(context: Any, buffer: Any, length: Any, header: Any) -> None:
    into = carray(context, 3, np.int64)
    number = carray(buffer, 1, np.int64)[0]
    into[1] += number != into[0]  # out of order
    into[0] = number + 1


@njit(nogil=True)
def poll_to_the_end(subscription: int, handler: int, context: int) -> int:
    answer = 0
    while answer >= 0:
        answer = poll(subscription, handler, context, 64)
    return answer


@njit(nogil=True)
def offer_to_the_end(publication: int, counts: Any) -> int:
    message = np.zeros(4, np.int64)
    while True:
        answer = offer(publication, message.ctypes.data, 32)
        if answer > 0:
            message[0] += 1
            counts[2] += 1
        elif answer == CLOSED:
            return answer


@pytest.mark.parametrize("round_number", range(6))
def test_closing_under_native_loops_ends_them(round_number: int, pair: Pair) -> None:
    publication, subscription = pair
    write, read = publication.native_handle, subscription.native_handle
    counts, ended = np.zeros(3, np.int64), []
    context = counts.ctypes.data
    polling = threading.Thread(
        target=lambda: ended.append(poll_to_the_end(read.address, count_in_order.address, context))
    )
    offering = threading.Thread(target=lambda: ended.append(offer_to_the_end(write.address, counts)))
    polling.start()
    offering.start()
    until(lambda: counts[0] > 1000)
    for end in (publication, subscription) if round_number % 2 else (subscription, publication):
        end.close()
    polling.join(30)
    offering.join(30)

    assert ended == [CLOSED, CLOSED]
    assert counts[1] == 0
    assert counts[0] <= counts[2]


def test_memory_at_an_address_is_seen_in_place() -> None:
    array = np.arange(4, dtype=np.int32)

    @njit
    def double(address: int) -> None:
        view(address, 4, np.int32)[:] *= 2

    double(array.ctypes.data)
    assert array.tolist() == [0, 2, 4, 6]
