"""A publisher made of a socket and struct: what a driver hears, and what it answers, byte by byte."""

from __future__ import annotations

import socket
import struct
import time
from typing import NamedTuple, Self

from tests.system.protocol_client import DEADLINE_S

PAD, DATA, NAK, SM, ERR, SETUP, RTTM, RSP_SETUP = 0, 1, 2, 3, 4, 5, 6, 11
TERM_LENGTH = 65536
MTU = 1408
INITIAL_TERM = 7
GROUP, SEND_RESPONSE = 0x40, 0x80


class Frame(NamedTuple):
    """One datagram that came."""

    type: int
    flags: int
    bytes: bytes
    source: tuple[str, int]

    def i32(self, offset: int) -> int:
        return int(struct.unpack_from("<i", self.bytes, offset)[0])

    def i64(self, offset: int) -> int:
        return int(struct.unpack_from("<q", self.bytes, offset)[0])


def address_of(text: str) -> tuple[str, int]:
    """``127.0.0.1:40123`` as sockets take it."""
    host, _, port = text.rpartition(":")
    return host, int(port)


class RawSocket:
    """Hears frames."""

    def __init__(self, bind_to: tuple[str, int]) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(bind_to)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def receive(self, timeout_s: float) -> Frame | None:
        """The next datagram, or None when there is none in time."""
        self.socket.settimeout(max(timeout_s, 0.001))
        try:
            datagram, source = self.socket.recvfrom(65536)
        except TimeoutError:
            return None
        flags, kind = struct.unpack_from("<BH", datagram, 5)
        return Frame(kind, flags, datagram, source)

    def expect(self, kind: int, timeout_s: float = DEADLINE_S, **offsets: int) -> Frame:
        """The next frame of a type, with these values of 32 bits at their offsets (``at8=5``); others are skipped."""
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            frame = self.receive(left)
            if frame is not None and frame.type == kind:
                if all(frame.i32(int(name.removeprefix("at"))) == value for name, value in offsets.items()):
                    return frame
        raise AssertionError(f"no frame of type {kind} with {offsets} within {timeout_s} s")

    def drain(self) -> list[Frame]:
        """What is there already."""
        frames = []
        while (frame := self.receive(0)) is not None:
            frames.append(frame)
        return frames


class GroupListener(RawSocket):
    """Hears what is sent to a multicast group on the loopback interface."""

    def __init__(self, group: str, port: int) -> None:
        super().__init__((group, port))
        membership = socket.inet_aton(group) + socket.inet_aton("127.0.0.1")
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)


class RawPublisher(RawSocket):
    """One session of a stream, from a port of its own, to one address."""

    def __init__(self, to: tuple[str, int], session_id: int = 0x1234, stream_id: int = 7) -> None:
        super().__init__(("127.0.0.1", 0))
        self.to = to
        self.session_id = session_id
        self.stream_id = stream_id

    @property
    def address(self) -> str:
        """Where it sends from, as channels write it."""
        return "{}:{}".format(*self.socket.getsockname())

    def send(self, datagram: bytes) -> None:
        self.socket.sendto(datagram, self.to)

    def setup(self, *, flags: int = 0, position: int = 0, mtu: int = MTU, ttl: int = 0) -> None:
        term, offset = divmod(position, TERM_LENGTH)
        self.send(
            struct.pack(
                "<iBBHiiiiiiii",
                *(40, 0, flags, SETUP, offset, self.session_id, self.stream_id),
                *(INITIAL_TERM, INITIAL_TERM + term, TERM_LENGTH, mtu, ttl),
            )
        )

    def frame(self, length: int, flags: int, position: int, payload: bytes = b"") -> None:
        term, offset = divmod(position, TERM_LENGTH)
        header = struct.pack(
            "<iBBHiiiiq",
            *(length, 0, flags, DATA, offset, self.session_id, self.stream_id, INITIAL_TERM + term, 0),
        )
        padding = bytes(-len(payload) % 32)
        self.send(header + payload + padding)

    def data(self, position: int, payload: bytes) -> int:
        """One message; the position after it."""
        self.frame(32 + len(payload), 0xC0, position, payload)
        return position + 32 + (len(payload) + 31) // 32 * 32

    def heartbeat(self, position: int, flags: int = 0xC0) -> None:
        self.frame(0, flags, position)
