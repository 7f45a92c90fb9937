"""The programs of tests/interop/calls.py on the real C client, spoken to through its own C API.

``calls_c publish|subscribe --dir DIR --channel CHANNEL --stream ID``. Ends when its input does.
"""

from __future__ import annotations

import argparse
import ctypes
import queue
import struct
import sys
import threading
import time
import zlib
from collections.abc import Callable
from ctypes import c_char_p, c_int32, c_int64, c_size_t, c_void_p
from typing import Any

import pyaeron

RETRY = (-1, -2, -3)
Supplier = ctypes.CFUNCTYPE(c_int64, c_void_p, c_void_p, c_size_t)
Handler = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t, c_void_p)
OnImage = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)


class Part(ctypes.Structure):
    _fields_ = (("base", c_void_p), ("length", c_size_t))


class Claim(ctypes.Structure):
    _fields_ = (("frame", c_void_p), ("data", c_void_p), ("length", c_size_t))


class PublicationConstants(ctypes.Structure):
    _fields_ = (
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
        ("room", c_int32 * 16),  # for what later versions add
    )


class ImageConstants(ctypes.Structure):
    _fields_ = (
        ("subscription", c_void_p),
        ("source_identity", c_char_p),
        ("correlation_id", c_int64),
        ("join_position", c_int64),
        ("position_bits_to_shift", c_size_t),
        ("term_buffer_length", c_size_t),
        ("mtu_length", c_size_t),
        ("session_id", c_int32),
        ("initial_term_id", c_int32),
        ("room", c_int32 * 16),
    )


def load() -> Any:
    """The client's library, with the results that are not an int."""
    library = ctypes.CDLL(pyaeron._pyaeron.__file__)
    for name in ("offer", "offerv", "try_claim", "append_padding", "offer_block", "position"):
        getattr(library, f"aeron_exclusive_publication_{name}").restype = c_int64
    library.aeron_header_position.restype = c_int64
    library.aeron_image_position.restype = c_int64
    library.aeron_errmsg.restype = c_char_p
    library.aeron_image_is_publication_revoked.restype = ctypes.c_bool
    library.aeron_image_is_end_of_stream.restype = ctypes.c_bool
    return library


LIBRARY = load()


def must(rc: int) -> int:
    if rc < 0:
        raise RuntimeError(LIBRARY.aeron_errmsg().decode())
    return rc


def say(line: str) -> None:
    print(line, flush=True)


def pattern(length: int) -> bytes:
    return bytes((7 * i) & 255 for i in range(length))


@Supplier
def supplier(_context: int, frame: int, length: int) -> int:
    (term_offset,) = struct.unpack_from("<i", ctypes.string_at(frame, 32), 8)
    return int(term_offset * 1_000_003 + length)


def await_added(poll: Any, pending: c_void_p) -> c_void_p:
    resource = c_void_p()
    while must(poll(ctypes.byref(resource), pending)) == 0:
        time.sleep(0.001)
    return resource


class Publisher:
    """Sends in the ways that it is told."""

    def __init__(self, client: c_void_p, channel: str, stream_id: int) -> None:
        pending = c_void_p()
        must(
            LIBRARY.aeron_async_add_exclusive_publication(
                ctypes.byref(pending), client, channel.encode(), c_int32(stream_id)
            )
        )
        self._publication = await_added(LIBRARY.aeron_async_add_exclusive_publication_poll, pending)
        self.constants = PublicationConstants()
        must(LIBRARY.aeron_exclusive_publication_constants(self._publication, ctypes.byref(self.constants)))

    def _call(self, name: str, *arguments: object) -> int:
        return int(getattr(LIBRARY, f"aeron_exclusive_publication_{name}")(self._publication, *arguments))

    @staticmethod
    def _await(offer: Callable[[], int]) -> int:
        while (position := offer()) in RETRY:
            time.sleep(0.0002)
        return position

    def offer(self, length: int) -> int:
        return self._await(lambda: self._call("offer", pattern(length), c_size_t(length), None, None))

    def reserved(self, length: int) -> int:
        # One part of a vector: the contiguous offer hands its supplier the first frame for every fragment.
        return self.vector(length)

    def vector(self, *lengths: int) -> int:
        held = [ctypes.create_string_buffer(pattern(length), length) for length in lengths]
        parts = (Part * len(held))(*(Part(ctypes.addressof(each), len(each)) for each in held))
        return self._await(lambda: self._call("offerv", parts, c_size_t(len(held)), supplier, None))

    def _claim(self, length: int, flags: int, reserved: int, end: str) -> int:
        claim = Claim()
        position = self._await(lambda: self._call("try_claim", c_size_t(length), ctypes.byref(claim)))
        ctypes.memmove(claim.data, pattern(length), length)
        ctypes.c_uint8.from_address(claim.frame + 5).value = flags
        c_int64.from_address(claim.frame + 24).value = reserved
        must(getattr(LIBRARY, f"aeron_buffer_claim_{end}")(ctypes.byref(claim)))
        return position

    def claim(self, length: int) -> int:
        return self._claim(length, 0xC0, -7, "commit")

    def abort(self, length: int) -> int:
        return self._claim(length, 0xC0, 0, "abort")

    def begin(self, count: int) -> int:
        return [self._claim(1000, 0x80 if n == 0 else 0, 0, "commit") for n in range(count)][-1]

    def padding(self, length: int) -> int:
        return self._await(lambda: self._call("append_padding", c_size_t(length)))

    def block(self, count: int) -> int:
        position = self._call("position")
        begin = position % self.constants.term_buffer_length
        term = self.constants.initial_term_id + (position >> self.constants.position_bits_to_shift)
        where = (self.constants.session_id, self.constants.stream_id, term)
        frames = b""
        for n in range(count):
            payload = pattern(40 * (n + 1))
            at = begin + len(frames)
            frame = struct.pack("<iBBHiiiiq", len(payload) + 32, 0, 0xC0, 1, at, *where, n) + payload
            frames += frame + bytes(-len(frame) % 32)
        return self._await(lambda: self._call("offer_block", frames, c_size_t(len(frames))))

    def revoke(self) -> int:
        return must(self._call("revoke", None, None))

    def turn(self, words: list[str]) -> None:
        if words:
            result = getattr(self, words[0])(*map(int, words[1:]))
            say(f"DONE position={result}")


class Subscriber:
    """Tells every fragment, once it is told to poll."""

    def __init__(self, client: c_void_p, channel: str, stream_id: int) -> None:
        self._told: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._polls = False
        self._handlers = (Handler(self._on_fragment), OnImage(self._on_image), OnImage(self._on_gone))
        pending = c_void_p()
        must(
            LIBRARY.aeron_async_add_subscription(
                ctypes.byref(pending),
                client,
                channel.encode(),
                c_int32(stream_id),
                self._handlers[1],
                None,
                self._handlers[2],
                None,
            )
        )
        self._subscription = await_added(LIBRARY.aeron_async_add_subscription_poll, pending)

    @staticmethod
    def _session(image: int) -> int:
        constants = ImageConstants()
        must(LIBRARY.aeron_image_constants(c_void_p(image), ctypes.byref(constants)))
        return int(constants.session_id)

    def _on_image(self, _context: int, _subscription: int, image: int) -> None:
        self._told.put(f"IMAGE session={self._session(image)}")

    def _on_gone(self, _context: int, _subscription: int, image: int) -> None:
        at = c_void_p(image)
        revoked = str(LIBRARY.aeron_image_is_publication_revoked(at)).lower()
        ended = str(LIBRARY.aeron_image_is_end_of_stream(at)).lower()
        position = LIBRARY.aeron_image_position(at)
        self._told.put(f"GONE session={self._session(image)} position={position} revoked={revoked} end={ended}")

    def _on_fragment(self, _context: int, data: int, length: int, header: int) -> None:
        values = ctypes.create_string_buffer(64)
        must(LIBRARY.aeron_header_values(c_void_p(header), values))
        flags, offset, session, reserved = struct.unpack_from("<5xB2xii8xq", values)
        say(
            f"FRAGMENT offset={offset} length={length} flags={flags} reserved={reserved} "
            f"crc={zlib.crc32(ctypes.string_at(data, length))} "
            f"position={LIBRARY.aeron_header_position(c_void_p(header))} session={session}"
        )

    def turn(self, words: list[str]) -> None:
        self._polls = self._polls or words == ["poll"]
        while not self._told.empty():
            say(self._told.get())
        if self._polls:
            must(LIBRARY.aeron_subscription_poll(self._subscription, self._handlers[0], None, c_size_t(10)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["publish", "subscribe"])
    parser.add_argument("--dir", required=True)
    parser.add_argument("--channel", required=True)
    parser.add_argument("--stream", type=int, default=1001)
    options = parser.parse_args()
    told: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            told.put(line.strip())
        told.put(None)

    context, client = c_void_p(), c_void_p()
    must(LIBRARY.aeron_context_init(ctypes.byref(context)))
    must(LIBRARY.aeron_context_set_dir(context, options.dir.encode()))
    must(LIBRARY.aeron_init(ctypes.byref(client), context))
    must(LIBRARY.aeron_start(client))
    try:
        peer: Publisher | Subscriber
        if options.role == "publish":
            peer = Publisher(client, options.channel, options.stream)
            say(f"READY session={peer.constants.session_id}")
        else:
            peer = Subscriber(client, options.channel, options.stream)
            say("READY")
        threading.Thread(target=listen, daemon=True).start()
        line: str | None = ""
        while line is not None:
            peer.turn(line.split(":") if line else [])
            try:
                line = told.get(timeout=0.0005)
            except queue.Empty:
                line = ""
    except Exception as error:
        say(f"FAILED {type(error).__name__}: {error}")
        raise
    LIBRARY.aeron_close(client)
    LIBRARY.aeron_context_close(context)


if __name__ == "__main__":
    main()
