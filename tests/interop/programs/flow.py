"""One flow in two programs: a publisher and a subscriber that speak in lines, whatever client is underneath.

Message ``i`` has ``size_of(i)`` bytes; byte ``j`` of it is ``(seed + 31*i + 7*j) mod 256``. A stream starts at
position 0, so that the position where a message ends tells its index: a late joiner knows where it came in, and
every position is checked against arithmetic that no Aeron took part in.

``publish`` says ``READY session=``, then ``AT`` now and then, ``HELD at=`` where it was told to pause, ``SENT count=
bytes= crc= position= session=`` at the end. It hears ``go`` (after HELD) and ``close``. ``--count 0`` goes on until it
is closed, and then says ``LEFT count= session=``.
``subscribe`` says ``READY``, ``IMAGE session=``, ``AT``, ``DONE session= first= count= bytes= crc= position=`` when
a session has brought ``--until`` messages, ``GONE session= ...`` when an image goes, ``END session= ...`` for each
session after ``stop``. It hears ``add CHANNEL`` and ``remove CHANNEL``, which are destinations, and says ``ADDED`` and
``REMOVED``.
Both say ``FAILED <reason>`` and exit with 3 when something is wrong, and end when their input does.
"""

from __future__ import annotations

import argparse
import queue
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

HEADER_BYTES = 32
PROGRESS_MESSAGES = 64
FRAGMENTS_PER_POLL = 64
_RAMP = bytes((7 * j) & 255 for j in range(256))


@dataclass(frozen=True)
class Shape:
    """What the messages of a flow look like: their seed, and the stream that they must fit."""

    seed: int = 11
    mtu_bytes: int = 1408
    term_bytes: int = 64 * 1024

    @property
    def payload_max(self) -> int:
        return self.mtu_bytes - HEADER_BYTES

    @property
    def sizes(self) -> tuple[int, ...]:
        """Empty, around one alignment, around one frame, several frames, the longest that the term allows."""
        one = self.payload_max
        return (0, 1, 31, 32, 33, one, one + 1, 3 * one, 3 * one + 17, self.term_bytes // 8)

    def size_of(self, index: int) -> int:
        sizes = self.sizes
        return sizes[index % len(sizes)]

    def payload(self, index: int) -> bytes:
        size, start = self.size_of(index), (self.seed + 31 * index) & 255
        # 7 * 183 = 5 * 256 + 1: the ramp that starts with this value starts 183 * value into the plain one.
        shift = (183 * start) & 255
        return (_RAMP * (size // 256 + 2))[shift : shift + size]

    def required(self, size: int) -> int:
        """Bytes that a message takes in the log."""
        full, rest = divmod(size, self.payload_max)
        if full == 0 or (rest == 0 and full == 1):
            return (size + HEADER_BYTES + 31) & ~31
        return full * self.mtu_bytes + ((rest + HEADER_BYTES + 31) & ~31 if rest else 0)

    def ends(self) -> Iterator[int]:
        """The position where each message ends, from the first on."""
        position, index = 0, 0
        while True:
            required = self.required(self.size_of(index))
            left = self.term_bytes - position % self.term_bytes
            if required > left:
                position += left
            position += required
            yield position
            index += 1


def tally(shape: Shape, first: int, count: int) -> dict[str, str]:
    """What a session that brought these messages must report."""
    crc = total = 0
    for index in range(first, first + count):
        payload = shape.payload(index)
        crc, total = zlib.crc32(payload, crc), total + len(payload)
    ends = shape.ends()
    position = 0
    for _ in range(first + count):
        position = next(ends)
    return {
        "first": str(first),
        "count": str(count),
        "bytes": str(total),
        "crc": f"{crc:08x}",
        "position": str(position),
    }


class FlowError(Exception):
    """A message, a position or an order that is not what it must be."""


@dataclass
class Session:
    """One image's messages, checked as they come."""

    shape: Shape
    session_id: int
    first: int = -1
    count: int = 0
    total: int = 0
    crc: int = 0
    position: int = 0
    _ends: Iterator[int] = field(init=False)

    def __post_init__(self) -> None:
        self._ends = self.shape.ends()

    def take(self, position: int, payload: bytes) -> None:
        skipped = 0
        while (end := next(self._ends)) < position:
            skipped += 1
        if end != position:
            raise FlowError(f"session {self.session_id}: position {position} is not the end of a message")
        if self.first < 0:
            self.first = skipped
        elif skipped:
            raise FlowError(f"session {self.session_id}: {skipped} messages missing before position {position}")
        index = self.first + self.count
        expected = self.shape.payload(index)
        if payload != expected:
            at = next((j for j, (a, b) in enumerate(zip(payload, expected, strict=False)) if a != b), -1)
            raise FlowError(
                f"session {self.session_id}: message {index} has {len(payload)} bytes and differs at {at}, "
                f"expected {len(expected)} bytes"
            )
        self.count += 1
        self.total += len(payload)
        self.crc = zlib.crc32(payload, self.crc)
        self.position = position

    def __str__(self) -> str:
        return (
            f"session={self.session_id} first={self.first} count={self.count} bytes={self.total} "
            f"crc={self.crc:08x} position={self.position}"
        )


class Publishing(Protocol):
    """What a client must offer to publish a flow."""

    @property
    def session_id(self) -> int: ...

    def offer(self, payload: bytes) -> int:
        """The new position, or 0 to be asked again; raises when it will never be."""
        ...

    def check(self) -> None:
        """Raise when the client or the publication is no more."""
        ...

    def add_destination(self, channel: str) -> None: ...


class Subscribing(Protocol):
    """What a client must offer to receive a flow."""

    def poll(self, on_message: Callable[[int, int, bytes], None]) -> int:
        """Hand over (session id, position, payload) of whole messages; raises when the client is no more."""
        ...

    def add_destination(self, channel: str) -> None: ...

    def remove_destination(self, channel: str) -> None: ...


class Client(Protocol):
    """A connected client."""

    def publish(self, channel: str, stream_id: int, exclusive: bool) -> Publishing: ...

    def subscribe(
        self, channel: str, stream_id: int, on_image: Callable[[int], None], on_gone: Callable[[int], None]
    ) -> Subscribing: ...

    def close(self) -> None: ...


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Ear:
    """Lines from stdin, without waiting for them."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in sys.stdin:
            self._lines.put(line.strip())
        self._lines.put("close")

    def heard(self) -> str:
        try:
            return self._lines.get_nowait()
        except queue.Empty:
            return ""


def idle() -> None:
    time.sleep(0.0002)


def publish(client: Client, options: argparse.Namespace, ear: Ear) -> None:
    shape = Shape(options.seed, options.mtu, options.term)
    publication = client.publish(options.channel, options.stream, options.exclusive)
    for channel in options.destination:
        publication.add_destination(channel)
    say(f"READY session={publication.session_id}")
    crc = total = position = index = 0
    ends = shape.ends()
    while options.count == 0 or index < options.count:
        if index == options.hold:
            say(f"HELD at={index}")
            while (word := ear.heard()) != "go":
                if word == "close":
                    return
                publication.check()
                idle()
        payload, end = shape.payload(index), next(ends)
        while (position := publication.offer(payload)) == 0:
            if ear.heard() == "close":
                say(f"LEFT count={index} session={publication.session_id}")
                return
            publication.check()
            idle()
        if position != end:
            raise FlowError(f"message {index} ended at position {position}, not {end}")
        crc, total, index = zlib.crc32(payload, crc), total + len(payload), index + 1
        if index % PROGRESS_MESSAGES == 0:
            say(f"AT {index}")
    say(f"SENT count={index} bytes={total} crc={crc:08x} position={position} session={publication.session_id} first=0")
    while ear.heard() != "close":
        publication.check()
        idle()


def subscribe(client: Client, options: argparse.Namespace, ear: Ear) -> None:
    shape = Shape(options.seed, options.mtu, options.term)
    sessions: dict[int, Session] = {}
    events: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()

    def on_message(session_id: int, position: int, payload: bytes) -> None:
        session = sessions.get(session_id)
        if session is None:
            session = sessions[session_id] = Session(shape, session_id)
        session.take(position, payload)
        if session.count == options.until:
            say(f"DONE {session}")
        elif session.count % PROGRESS_MESSAGES == 0:
            say(f"AT {session.count}")

    subscription = client.subscribe(
        options.channel,
        options.stream,
        lambda session_id: events.put(("IMAGE", session_id)),
        lambda session_id: events.put(("GONE", session_id)),
    )
    for channel in options.destination:
        subscription.add_destination(channel)
    say("READY")
    while (word := ear.heard()) not in ("stop", "close"):
        while not events.empty():
            what, session_id = events.get()
            say(f"{what} {sessions.get(session_id) or f'session={session_id}'}")
        order, _, channel = word.partition(" ")
        if order == "add":
            subscription.add_destination(channel)
            say("ADDED")
        elif order == "remove":
            subscription.remove_destination(channel)
            say("REMOVED")
        if subscription.poll(on_message) == 0:
            idle()
    if word == "stop":
        for session in sessions.values():
            say(f"END {session}")
        say("STOPPED")


def main(connect: Callable[[str, int], Client]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["publish", "subscribe"])
    parser.add_argument("--dir", required=True)
    parser.add_argument("--channel", required=True)
    parser.add_argument("--stream", type=int, default=1001)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--mtu", type=int, default=1408)
    parser.add_argument("--term", type=int, default=64 * 1024)
    parser.add_argument("--driver-timeout-ms", type=int, default=5000)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--hold", type=int, default=-1)
    parser.add_argument("--until", type=int, default=0)
    parser.add_argument("--exclusive", action="store_true")
    parser.add_argument("--destination", action="append", default=[])
    options = parser.parse_args()
    try:
        client = connect(options.dir, options.driver_timeout_ms)
        (publish if options.role == "publish" else subscribe)(client, options, Ear())
        client.close()
    except Exception as error:
        say(f"FAILED {type(error).__name__}: {error}")
        return 3
    return 0
