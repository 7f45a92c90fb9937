"""A receiver that knows nothing but bytes: a plain socket that reads and writes the frames of the wire."""

from __future__ import annotations

import socket
import struct
import time
from typing import NamedTuple

DEADLINE_S = 10.0
PAD, DATA, NAK, SM, ERR, SETUP, RTTM, RSP_SETUP = 0, 1, 2, 3, 4, 5, 6, 0x0B
SEND_SETUP, GROUP, SEND_RESPONSE = 0x80, 0x40, 0x80


class Frame(NamedTuple):
    """One datagram."""

    type: int
    flags: int
    body: bytes
    source: tuple[str, int]

    def i32(self, offset: int) -> int:
        return int(struct.unpack_from("<i", self.body, offset)[0])

    def i64(self, offset: int) -> int:
        return int(struct.unpack_from("<q", self.body, offset)[0])


class WireReceiver:
    """A socket with a receiver id."""

    def __init__(self, receiver_id: int = 1, host: str = "127.0.0.1", port: int = 0) -> None:
        self.receiver_id = receiver_id
        self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((host, port))
        self.socket.settimeout(0.02)

    def __enter__(self) -> WireReceiver:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    def take(self) -> Frame | None:
        """The next datagram, waited for a short while."""
        try:
            body, source = self.socket.recvfrom(65536)
        except TimeoutError:
            return None
        return Frame(struct.unpack_from("<H", body, 6)[0], body[5], body, source[:2])

    def expect(self, *types: int) -> Frame:
        """The next datagram of one of these types; others are passed over."""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            frame = self.take()
            if frame is not None and frame.type in types:
                return frame
        raise AssertionError(f"no frame of types {types} within {DEADLINE_S} s")

    def is_silent_for(self, seconds: float) -> bool:
        """Nothing more comes: what was on its way is passed over first."""
        while self.take() is not None:
            pass
        self.socket.settimeout(seconds)
        try:
            return self.take() is None
        finally:
            self.socket.settimeout(0.02)

    def drain(self) -> None:
        """Pass over what is there."""
        self.socket.settimeout(0)
        try:
            while True:
                self.socket.recvfrom(65536)
        except BlockingIOError:
            self.socket.settimeout(0.02)

    def sm(
        self,
        to: tuple[str, int],
        setup: Frame | None,
        *,
        flags: int = 0,
        position: int = 0,
        window: int = 32768,
        tag: int | None = None,
    ) -> None:
        """Send a status message for the stream that a SETUP announced, in its first term; for none when None."""
        session, stream, term = (0, 0, 0) if setup is None else (setup.i32(12), setup.i32(16), setup.i32(20))
        if flags & SEND_SETUP:
            term, window = 0, 0
        extra = b"" if tag is None else struct.pack("<q", tag)
        head = struct.pack("<iBBH", 36 + len(extra), 0, flags, SM)
        body = struct.pack("<iiiiiq", session, stream, term, position, window, self.receiver_id)
        self.socket.sendto(head + body + extra, to)

    def error(self, to: tuple[str, int], setup: Frame, text: bytes) -> None:
        """Refuse the stream."""
        head = struct.pack("<iBBH", 40 + len(text), 0, 0, ERR)
        body = struct.pack("<iiqqii", setup.i32(12), setup.i32(16), self.receiver_id, -1, 13, len(text))
        self.socket.sendto(head + body + text, to)
