"""The C API without a compiler: cffi's ABI mode, with callbacks of Python as handlers."""

from __future__ import annotations

from typing import Any

import cffi
import pytest

from aeronpy.native import api_address, declarations
from tests.system.clients import Pair

CLOSED, ERROR = -4, -6
HANDLER = "void(void *, const uint8_t *, size_t, const aeronpy_header_t *)"


@pytest.fixture(scope="module")
def ffi() -> Any:
    ffi = cffi.FFI()
    ffi.cdef(declarations())
    return ffi


@pytest.fixture
def api(ffi: Any) -> Any:
    return ffi.cast("const aeronpy_api_t *", api_address())


def test_messages_go_out_and_come_in(ffi: Any, api: Any, pair: Pair) -> None:
    publication, subscription = pair
    held = publication.native_handle, subscription.native_handle
    write = ffi.cast("aeronpy_publication_t *", held[0].address)
    read = ffi.cast("aeronpy_subscription_t *", held[1].address)
    seen = []

    @ffi.callback(HANDLER)
    def on_fragment(context: Any, buffer: Any, length: int, header: Any) -> None:
        seen.append((ffi.from_handle(context), bytes(ffi.buffer(buffer, length)), header.position))
        assert header.frame.session_id == publication.session_id

    mine = ffi.new_handle("mine")
    first = api.offer(write, b"whole", 5)
    pieces = [ffi.from_buffer(piece) for piece in (b"in ", b"", b"parts")]
    second = api.offer_vectored(write, [{"data": piece, "length": len(piece)} for piece in pieces], len(pieces))
    claim = ffi.new("aeronpy_claim_t *")
    third = api.try_claim(write, 7, claim)
    ffi.buffer(claim.data, claim.length)[:] = b"claimed"
    assert api.commit(write, claim) == 0

    assert api.poll(read, on_fragment, mine, 2) == 2
    assert subscription.poll_native(on_fragment, mine) == 1  # its pointers are taken as they are
    assert seen == [("mine", b"whole", first), ("mine", b"in parts", second), ("mine", b"claimed", third)]


def test_errors_are_told_in_words(ffi: Any, api: Any, pair: Pair) -> None:
    publication, _ = pair
    handle = publication.native_handle
    write = ffi.cast("aeronpy_publication_t *", handle.address)

    assert api.offer(write, ffi.NULL, publication.max_message_length + 1) == ERROR
    assert f"here 0 to {publication.max_message_length}" in ffi.string(api.error_text()).decode()
    assert api.commit(write, ffi.new("aeronpy_claim_t *")) == ERROR
    assert "there is no claim" in ffi.string(api.error_text()).decode()
    publication.close()
    assert api.offer(write, b"x", 1) == CLOSED
