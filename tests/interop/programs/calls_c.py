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
from ctypes import c_int32, c_int64, c_size_t, c_void_p
from typing import Any

from tests.interop.programs import c_api
from tests.interop.programs.c_api import call, done

RETRY = (-1, -2, -3)


class Claim(ctypes.Structure):
    _fields_ = (("frame", c_void_p), ("data", c_void_p), ("length", c_size_t))


def say(line: str) -> None:
    print(line, flush=True)


def pattern(length: int) -> bytes:
    return bytes((7 * i) & 255 for i in range(length))


@c_api.RESERVED
def supplier(_context: int, frame: int, length: int) -> int:
    (term_offset,) = struct.unpack_from("<i", ctypes.string_at(frame, 32), 8)
    return int(term_offset * 1_000_003 + length)


class Publisher:
    """Sends in the ways that it is told."""

    def __init__(self, client: c_void_p, channel: str, stream_id: int) -> None:
        self._publication = done("async_add_exclusive_publication", client, channel.encode(), c_int32(stream_id))
        self.constants = c_api.PublicationConstants()
        self._call("constants", ctypes.byref(self.constants))

    def _call(self, name: str, *arguments: object) -> int:
        return int(call(f"exclusive_publication_{name}", self._publication, *arguments))

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
        parts = (c_api.Bytes * len(held))(*(c_api.Bytes(ctypes.addressof(each), len(each)) for each in held))
        return self._await(lambda: self._call("offerv", parts, c_size_t(len(held)), supplier, None))

    def _claim(self, length: int, flags: int, reserved: int, end: str) -> int:
        claim = Claim()
        position = self._await(lambda: self._call("try_claim", c_size_t(length), ctypes.byref(claim)))
        ctypes.memmove(claim.data, pattern(length), length)
        ctypes.c_uint8.from_address(claim.frame + 5).value = flags
        c_int64.from_address(claim.frame + 24).value = reserved
        call(f"buffer_claim_{end}", ctypes.byref(claim))
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
        return self._call("revoke", None, None)

    def turn(self, words: list[str]) -> None:
        if words:
            result = getattr(self, words[0])(*map(int, words[1:]))
            say(f"DONE position={result}")


class Subscriber:
    """Tells every fragment, once it is told to poll."""

    def __init__(self, client: c_void_p, channel: str, stream_id: int) -> None:
        self._told: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._polls = False
        self._handlers = (
            c_api.FRAGMENT(self._on_fragment),
            c_api.IMAGE(self._on_image),
            c_api.IMAGE(self._on_gone),
        )
        self._subscription = done(
            "async_add_subscription",
            client,
            channel.encode(),
            c_int32(stream_id),
            self._handlers[1],
            None,
            self._handlers[2],
            None,
        )

    @staticmethod
    def _session(image: int) -> int:
        constants = c_api.ImageConstants()
        call("image_constants", c_void_p(image), ctypes.byref(constants))
        return int(constants.session_id)

    def _on_image(self, _context: int, _subscription: int, image: int) -> None:
        self._told.put(f"IMAGE session={self._session(image)}")

    def _on_gone(self, _context: int, _subscription: int, image: int) -> None:
        at = c_void_p(image)
        revoked = str(call("image_is_publication_revoked", at)).lower()
        ended = str(call("image_is_end_of_stream", at)).lower()
        position = call("image_position", at)
        self._told.put(f"GONE session={self._session(image)} position={position} revoked={revoked} end={ended}")

    def _on_fragment(self, _context: int, data: Any, length: int, header: int) -> None:
        values = ctypes.create_string_buffer(64)
        call("header_values", c_void_p(header), values)
        flags, offset, session, reserved = struct.unpack_from("<5xB2xii8xq", values)
        say(
            f"FRAGMENT offset={offset} length={length} flags={flags} reserved={reserved} "
            f"crc={zlib.crc32(ctypes.string_at(data, length))} "
            f"position={call('header_position', c_void_p(header))} session={session}"
        )

    def turn(self, words: list[str]) -> None:
        self._polls = self._polls or words == ["poll"]
        while not self._told.empty():
            say(self._told.get())
        if self._polls:
            call("subscription_poll", self._subscription, self._handlers[0], None, c_size_t(10))


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
    call("context_init", ctypes.byref(context))
    call("context_set_dir", context, options.dir.encode())
    call("init", ctypes.byref(client), context)
    call("start", client)
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
    call("close", client)
    call("context_close", context)


if __name__ == "__main__":
    main()
