"""The C client's functions and structures inside pyaeron's extension, as ctypes knows them."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    byref,
    c_bool,
    c_char_p,
    c_int,
    c_int16,
    c_int32,
    c_int64,
    c_size_t,
    c_ubyte,
    c_uint8,
    c_uint16,
    c_void_p,
)
from typing import Any

import pyaeron

DEADLINE_S = 15.0
ADDRESS_LENGTH = 64


class Header(Structure):
    _pack_ = 4
    _fields_ = [
        ("frame_length", c_int32),
        ("version", ctypes.c_int8),
        ("flags", c_uint8),
        ("type", c_int16),
        ("term_offset", c_int32),
        ("session_id", c_int32),
        ("stream_id", c_int32),
        ("term_id", c_int32),
        ("reserved_value", c_int64),
        ("initial_term_id", c_int32),
        ("position_bits_to_shift", c_size_t),
    ]


class PublicationConstants(Structure):
    _fields_ = [
        ("channel", c_char_p),
        ("original_registration_id", c_int64),
        ("registration_id", c_int64),
        ("max_possible_position", c_int64),
        ("position_bits_to_shift", c_size_t),
        ("term_buffer_length", c_size_t),
        ("max_message_length", c_size_t),
        ("max_payload_length", c_size_t),
        ("stream_id", c_int32),
        ("session_id", c_int32),
        ("initial_term_id", c_int32),
        ("position_limit_id", c_int32),
        ("channel_status_id", c_int32),
    ]


class SubscriptionConstants(Structure):
    _fields_ = [
        ("channel", c_char_p),
        ("on_available", c_void_p),
        ("on_unavailable", c_void_p),
        ("registration_id", c_int64),
        ("stream_id", c_int32),
        ("channel_status_id", c_int32),
    ]


class ImageConstants(Structure):
    _fields_ = [
        ("subscription", c_void_p),
        ("source_identity", c_char_p),
        ("correlation_id", c_int64),
        ("join_position", c_int64),
        ("position_bits_to_shift", c_size_t),
        ("term_buffer_length", c_size_t),
        ("mtu_length", c_size_t),
        ("session_id", c_int32),
        ("initial_term_id", c_int32),
        ("subscriber_position_id", c_int32),
    ]


class CounterConstants(Structure):
    _fields_ = [("correlation_id", c_int64), ("registration_id", c_int64), ("counter_id", c_int32)]


class Bytes(Structure):
    _fields_ = [("base", c_void_p), ("length", c_size_t)]


class ErrorFrame(Structure):
    _pack_ = 4
    _fields_ = [
        ("registration_id", c_int64),
        ("destination_registration_id", c_int64),
        ("session_id", c_int32),
        ("stream_id", c_int32),
        ("receiver_id", c_int64),
        ("group_tag", c_int64),
        ("address_type", c_int16),
        ("source_port", c_uint16),
        ("source_address", c_ubyte * 16),
        ("error_code", c_int32),
        ("error_message_length", c_int32),
    ]


FRAGMENT = CFUNCTYPE(None, c_void_p, POINTER(c_uint8), c_size_t, c_void_p)
RESERVED = CFUNCTYPE(c_int64, c_void_p, c_void_p, c_size_t)
IMAGE = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
ERROR = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
ERROR_FRAME = CFUNCTYPE(None, c_void_p, POINTER(ErrorFrame))
COUNTER = CFUNCTYPE(None, c_void_p, c_void_p, c_int64, c_int32)
CLOSED = CFUNCTYPE(None, c_void_p)
EACH_COUNTER = CFUNCTYPE(None, c_int64, c_int32, c_int32, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p)

LIB = ctypes.CDLL(pyaeron._pyaeron.__file__)
_LONG = {
    "next_correlation_id", "client_id", "async_destination_get_registration_id", "header_position", "image_position",
    "image_end_of_stream_position", "subscription_channel_status",
    *(f"async_add_{kind}_get_registration_id" for kind in ("publication", "exclusive_publication", "subscription")),
    *(
        f"{kind}_{name}"
        for kind in ("publication", "exclusive_publication")
        for name in (
            "offer", "offerv", "offer_block", "try_claim", "position", "position_limit", "channel_status",
            "append_padding",
        )
    ),
}  # fmt: skip
_BOOL = {
    "publication_is_connected", "exclusive_publication_is_connected", "publication_is_closed",
    "exclusive_publication_is_closed", "subscription_is_connected", "subscription_is_closed", "image_is_closed",
    "image_is_end_of_stream", "image_is_publication_revoked",
}  # fmt: skip
_VOID = {"counters_reader_foreach_counter", "driver_main_idle_strategy"}
_POINTER = {
    "subscription_image_at_index", "subscription_image_by_session_id", "counter_addr", "counters_reader",
    "counters_reader_addr",
}  # fmt: skip


class CError(Exception):
    """What aeron_errmsg said."""


def call(name: str, *args: Any) -> Any:
    """Call aeron_<name>. Plain ints are passed as int32: wrap longer ones."""
    function = getattr(LIB, f"aeron_{name}")
    if name in _LONG:
        function.restype = c_int64
    elif name in _BOOL:
        function.restype = c_bool
    elif name in _POINTER:
        function.restype = c_void_p
    elif name in _VOID:
        function.restype = None
    result = function(*args)
    if function.restype is c_int and result < 0:
        raise CError(message())
    return result


def message() -> str:
    """The text of this thread's last error."""
    LIB.aeron_errmsg.restype = c_char_p
    text = LIB.aeron_errmsg()
    return str(text.decode(errors="replace")) if text else ""


def awaited(poll: str, pending: c_void_p, result: Any = None) -> Any:
    """Poll until the driver has answered; returns what ``result`` holds then."""
    deadline = time.monotonic() + DEADLINE_S
    args = [pending] if result is None else [byref(result), pending]
    while call(poll, *args) == 0:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{poll}: no answer")
        time.sleep(0.0005)
    return result


def begin(name: str, *args: Any) -> c_void_p:
    """Start something asynchronous; returns its handle."""
    pending = c_void_p()
    call(name, byref(pending), *args)
    return pending


def done(name: str, *args: Any, into: Callable[[], Any] | None = c_void_p, poll: str = "") -> Any:
    """Start something asynchronous and wait for it."""
    return awaited(poll or f"{name}_poll", begin(name, *args), into() if into else None)


def addresses(name: str, resource: c_void_p) -> list[str]:
    """Local socket addresses by aeron_<name>."""
    room = 8
    buffers = [ctypes.create_string_buffer(ADDRESS_LENGTH) for _ in range(room)]
    vector = (Bytes * room)(*(Bytes(ctypes.addressof(each), ADDRESS_LENGTH) for each in buffers))
    found = call(name, resource, vector, c_size_t(room))
    return [each.value.decode() for each in buffers[: min(found, room)]]
