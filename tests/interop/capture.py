"""A wire that remembers: a relay between a publisher and a subscriber that notes each datagram, and may lose some."""

from __future__ import annotations

import contextlib
import itertools
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Literal, NamedTuple, Self

from tests.system.wire import DATA, ERR, NAK, PAD, RSP_SETUP, RTTM, SETUP, SM

EOS, REVOKED = 0x20, 0x10
SO_TIMESTAMPNS, TIMESPEC = 35, struct.Struct("@qq")
SM_EOS = 0x40
RECEIVER, ECHO = "receiver_id", "echo_timestamp"

# What follows the common header of 8 bytes, by type.
LAYOUTS = {
    PAD: ("<iiiiq", ("term_offset", "session_id", "stream_id", "term_id", "reserved_value")),
    DATA: ("<iiiiq", ("term_offset", "session_id", "stream_id", "term_id", "reserved_value")),
    NAK: ("<iiiii", ("session_id", "stream_id", "term_id", "term_offset", "length")),
    SM: ("<iiiiiq", ("session_id", "stream_id", "term_id", "term_offset", "window", RECEIVER)),
    ERR: ("<iiqqii", ("session_id", "stream_id", RECEIVER, "group_tag", "error_code", "error_length")),
    SETUP: (
        "<iiiiiiii",
        ("term_offset", "session_id", "stream_id", "initial_term_id", "active_term_id", "term_length", "mtu", "ttl"),
    ),
    RTTM: ("<iiqqq", ("session_id", "stream_id", ECHO, "reception_delta", RECEIVER)),
    RSP_SETUP: ("<iii", ("session_id", "stream_id", "response_session_id")),
}
# What no two runs have in common.
OWN = (RECEIVER, ECHO)

Fields = dict[str, int | str]


class Sent(NamedTuple):
    """One datagram on its way: from the publisher, or back to it."""

    time: float
    way: Literal["out", "back"]
    bytes: bytes

    @property
    def type(self) -> int:
        return int(struct.unpack_from("<H", self.bytes, 6)[0])

    @property
    def flags(self) -> int:
        return self.bytes[5]

    def i32(self, offset: int) -> int:
        return int(struct.unpack_from("<i", self.bytes, offset)[0])

    @property
    def is_heartbeat(self) -> bool:
        return self.type == DATA and len(self.bytes) == 32 and self.i32(0) == 0


def fields(datagram: bytes) -> Fields:
    """Each field of the first frame by its name, what follows as hex, and how long the datagram is."""
    frame_length, version, flags, kind = struct.unpack_from("<iBBH", datagram)
    layout, names = LAYOUTS[kind]
    values = struct.unpack_from(layout, datagram, 8)
    found: Fields = {"frame_length": frame_length, "version": version, "flags": flags, "type": kind}
    found.update(zip(names, values, strict=True))
    found.update({"rest": datagram[8 + struct.calcsize(layout) :].hex(), "datagram_length": len(datagram)})
    return found


def common(datagram: bytes) -> Fields:
    """The fields that two runs of one situation share."""
    return {name: value for name, value in fields(datagram).items() if name not in OWN}


class Relay:
    """Between a publication (``port``) and a subscription on ``target``; times are those of arrival in the kernel."""

    def __init__(self, target: int, host: str = "127.0.0.1") -> None:
        self._target = (host, target)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._front, self._back = (socket.socket(family, socket.SOCK_DGRAM) for _ in range(2))
        for each in (self._front, self._back):
            each.bind((host, 0))
            each.setblocking(False)
            each.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.port = int(self._front.getsockname()[1])
        self.loses: Callable[[Sent], bool] = lambda _: False
        self._seen: list[Sent] = []
        self._source: tuple[object, ...] | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="relay")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(5)
        self._front.close()
        self._back.close()

    def _run(self) -> None:
        while not self._over.is_set():
            ready, _, _ = select.select([self._front, self._back], [], [], 0.05)
            for each in ready:
                # A peer that is gone shows as a refused send: nothing that a wire would tell.
                with contextlib.suppress(OSError):
                    self._pass(each)

    def _pass(self, came_on: socket.socket) -> None:
        datagram, told, _, source = came_on.recvmsg(65536, socket.CMSG_SPACE(TIMESPEC.size))
        sent = Sent(arrival(told), "out" if came_on is self._front else "back", datagram)
        self._seen.append(sent)
        if sent.way == "out":
            self._source = source
        if self.loses(sent):
            return
        if sent.way == "out":
            self._back.sendto(datagram, self._target)
        elif self._source is not None:
            self._front.sendto(datagram, self._source)

    @staticmethod
    def now() -> float:
        """The clock of the times."""
        return time.monotonic()

    def seen(self, *kinds: int) -> list[Sent]:
        """What passed so far, lost or not, of these types."""
        return [each for each in list(self._seen) if not kinds or each.type in kinds]


def arrival(told: list[tuple[int, int, bytes]]) -> float:
    """When the kernel had the datagram, by the monotonic clock."""
    now, wall_ns = time.monotonic(), time.time_ns()
    for level, kind, value in told:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, nanoseconds = TIMESPEC.unpack(value)
            return now - (wall_ns - seconds * 1_000_000_000 - nanoseconds) / 1e9
    return now


def intervals(frames: list[Sent]) -> list[float]:
    """Seconds between each and the next."""
    return [later.time - earlier.time for earlier, later in itertools.pairwise(frames)]


def distinct(datagrams: list[bytes]) -> list[Fields]:
    """What differs, in the order of its first appearance."""
    found: list[Fields] = []
    for each in map(common, datagrams):
        if each not in found:
            found.append(each)
    return found
