"""A client that knows nothing but bytes: it writes commands into the ring and reads the broadcast with struct.

One writer per driver directory: the claim of a record is not atomic here.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from pathlib import Path
from typing import NamedTuple

DEADLINE_S = 10.0
RING_TRAILER = 768
BROADCAST_TRAILER = 128
CNC_VERSION = 512

ADD_PUBLICATION, REMOVE_PUBLICATION, ADD_EXCLUSIVE_PUBLICATION = 0x01, 0x02, 0x03
ADD_SUBSCRIPTION, REMOVE_SUBSCRIPTION, CLIENT_KEEPALIVE = 0x04, 0x05, 0x06
ADD_DESTINATION, REMOVE_DESTINATION = 0x07, 0x08
ADD_COUNTER, REMOVE_COUNTER, CLIENT_CLOSE = 0x09, 0x0A, 0x0B
TERMINATE_DRIVER, ADD_STATIC_COUNTER, REJECT_IMAGE = 0x0E, 0x0F, 0x10
REMOVE_DESTINATION_BY_ID, GET_NEXT_AVAILABLE_SESSION_ID = 0x11, 0x12

ERROR, AVAILABLE_IMAGE, PUBLICATION_READY, OPERATION_SUCCESS = 0x0F01, 0x0F02, 0x0F03, 0x0F04
UNAVAILABLE_IMAGE, EXCLUSIVE_PUBLICATION_READY, SUBSCRIPTION_READY = 0x0F05, 0x0F06, 0x0F07
COUNTER_READY, UNAVAILABLE_COUNTER, CLIENT_TIMEOUT = 0x0F08, 0x0F09, 0x0F0A
STATIC_COUNTER, PUBLICATION_ERROR, NEXT_AVAILABLE_SESSION_ID = 0x0F0B, 0x0F0C, 0x0F0D


class Event(NamedTuple):
    """One broadcast record."""

    type: int
    body: bytes

    def i32(self, offset: int) -> int:
        return int(struct.unpack_from("<i", self.body, offset)[0])

    def i64(self, offset: int) -> int:
        return int(struct.unpack_from("<q", self.body, offset)[0])

    def text(self, offset: int) -> str:
        length = self.i32(offset)
        return self.body[offset + 4 : offset + 4 + length].decode()


class Counter(NamedTuple):
    """One slot."""

    state: int
    type_id: int
    key: bytes
    label: str
    value: int
    registration_id: int
    owner_id: int
    reference_id: int


class ProtocolClient:
    """Attached to a directory."""

    def __init__(self, directory: str) -> None:
        fd = os.open(Path(directory) / "cnc.dat", os.O_RDWR)
        try:
            self._map = mmap.mmap(fd, 0)
        finally:
            os.close(fd)
        assert self._i32(0) == CNC_VERSION
        to_driver, to_clients, metadata, values, _errors = struct.unpack_from("<5i", self._map, 4)
        self._ring, self._ring_capacity = 128, to_driver - RING_TRAILER
        self._broadcast, self._broadcast_capacity = 128 + to_driver, to_clients - BROADCAST_TRAILER
        self._metadata = self._broadcast + to_clients
        self._values = self._metadata + metadata
        self._value_count = values // 128
        self._cursor = self._i64(self._broadcast + self._broadcast_capacity + 8)
        self.client_id = self.next_id()

    def close(self) -> None:
        self._map.close()

    def _i32(self, at: int) -> int:
        return int(struct.unpack_from("<i", self._map, at)[0])

    def _i64(self, at: int) -> int:
        return int(struct.unpack_from("<q", self._map, at)[0])

    # --- commands ---

    def next_id(self) -> int:
        at = self._ring + self._ring_capacity + 512
        taken = self._i64(at)
        struct.pack_into("<q", self._map, at, taken + 1)
        return taken

    def claim(self, type_id: int, length: int) -> int:
        """Reserve a record and leave it unfinished; returns where it begins."""
        trailer = self._ring + self._ring_capacity
        needed = (length + 8 + 7) & ~7
        tail = self._i64(trailer + 128)
        index = tail & (self._ring_capacity - 1)
        if index + needed > self._ring_capacity:
            padding = self._ring_capacity - index
            struct.pack_into("<ii", self._map, self._ring + index, padding, -1)
            tail += padding
            index = 0
        struct.pack_into("<q", self._map, trailer + 128, tail + needed)
        struct.pack_into("<ii", self._map, self._ring + index, -(length + 8), type_id)
        return self._ring + index

    def send(self, type_id: int, body: bytes) -> None:
        at = self.claim(type_id, len(body))
        self._map[at + 8 : at + 8 + len(body)] = body
        struct.pack_into("<i", self._map, at, len(body) + 8)

    def command(self, type_id: int, layout: str, *fields: int | bytes, client_id: int | None = None) -> int:
        """Send a command of this client with the usual prefix; returns its correlation id."""
        correlation_id = self.next_id()
        prefix = struct.pack("<qq", self.client_id if client_id is None else client_id, correlation_id)
        self.send(type_id, prefix + struct.pack("<" + layout, *fields))
        return correlation_id

    def add_publication(self, channel: str, stream_id: int, *, exclusive: bool = False) -> int:
        name = channel.encode()
        kind = ADD_EXCLUSIVE_PUBLICATION if exclusive else ADD_PUBLICATION
        return self.command(kind, f"ii{len(name)}s", stream_id, len(name), name)

    def add_subscription(self, channel: str, stream_id: int) -> int:
        name = channel.encode()
        return self.command(ADD_SUBSCRIPTION, f"qii{len(name)}s", -1, stream_id, len(name), name)

    def remove_publication(self, registration_id: int, flags: int = 0) -> int:
        return self.command(REMOVE_PUBLICATION, "qq", registration_id, flags)

    def add_counter(self, type_id: int, key: bytes, label: bytes) -> int:
        padded = key + bytes(-len(key) % 4)
        return self.command(
            ADD_COUNTER, f"ii{len(padded)}si{len(label)}s", type_id, len(key), padded, len(label), label
        )

    def add_static_counter(self, type_id: int, registration_id: int, key: bytes, label: bytes) -> int:
        padded = key + bytes(-len(key) % 4)
        layout = f"qii{len(padded)}si{len(label)}s"
        return self.command(ADD_STATIC_COUNTER, layout, registration_id, type_id, len(key), padded, len(label), label)

    def reject(self, image_id: int, position: int, reason: bytes) -> int:
        padded = reason.ljust(4, b"\0")
        return self.command(REJECT_IMAGE, f"qqi{len(padded)}s", image_id, position, len(reason), padded)

    def is_read(self) -> bool:
        """Has the driver taken all that was written?"""
        trailer = self._ring + self._ring_capacity
        return self._i64(trailer + 128) == self._i64(trailer + 384)

    def unread(self) -> list[tuple[int, bytes]]:
        """Type and body of the records that the driver has not taken; they stand still only while it does."""
        trailer, found = self._ring + self._ring_capacity, []
        at, tail = self._i64(trailer + 384), self._i64(trailer + 128)
        while at < tail:
            place = self._ring + (at & (self._ring_capacity - 1))
            length, type_id = struct.unpack_from("<ii", self._map, place)
            if length <= 0:
                break
            if type_id != -1:
                found.append((type_id, bytes(self._map[place + 8 : place + length])))
            at += (length + 7) & ~7
        return found

    # --- events ---

    def receive(self) -> Event | None:
        trailer = self._broadcast + self._broadcast_capacity
        while self._cursor < self._i64(trailer + 8):
            at = self._broadcast + (self._cursor & (self._broadcast_capacity - 1))
            length, type_id = struct.unpack_from("<ii", self._map, at)
            self._cursor += (length + 7) & ~7
            if type_id != -1:
                return Event(type_id, bytes(self._map[at + 8 : at + length]))
        return None

    def expect(self, *type_ids: int, timeout_s: float = DEADLINE_S) -> Event:
        """The next event, which must be of this type, or one of these."""
        wanted = " or ".join(hex(type_id) for type_id in type_ids)
        deadline = time.monotonic() + timeout_s
        while (event := self.receive()) is None:
            assert time.monotonic() < deadline, f"no event {wanted} within {timeout_s} s"
            time.sleep(0.001)
        what = event.text(12) if event.type == ERROR else event.body
        assert event.type in type_ids, f"event {event.type:#x} came in place of {wanted}: {what!r}"
        return event

    def expect_error(self, correlation_id: int, code: int) -> str:
        """The next event is this refusal; returns its text."""
        event = self.expect(ERROR)
        assert (event.i64(0), event.i32(8)) == (correlation_id, code), event.text(12)
        return event.text(12)

    def first_add(self) -> None:
        """Make this client known, so that later events are those of the commands alone."""
        self.add_static_counter(5000, self.client_id, b"", b"known")
        assert self.expect(COUNTER_READY).i64(0) == self.client_id
        self.expect(STATIC_COUNTER)

    # --- counters and liveness ---

    def counter(self, counter_id: int) -> Counter:
        meta = self._metadata + counter_id * 512
        value = self._values + counter_id * 128
        label_length = self._i32(meta + 128)
        return Counter(
            self._i32(meta),
            self._i32(meta + 4),
            bytes(self._map[meta + 16 : meta + 128]),
            bytes(self._map[meta + 132 : meta + 132 + label_length]).decode(),
            *struct.unpack_from("<qqqq", self._map, value),
        )

    def counters(self) -> dict[int, Counter]:
        """All allocated ones."""
        found = {}
        for counter_id in range(self._value_count):
            state = self._i32(self._metadata + counter_id * 512)
            if state == 0:
                break
            if state == 1:
                found[counter_id] = self.counter(counter_id)
        return found

    def counter_of(self, type_id: int, registration_id: int) -> tuple[int, Counter]:
        """The counter of a type and registration."""
        for counter_id, counter in self.counters().items():
            if (counter.type_id, counter.registration_id) == (type_id, registration_id):
                return counter_id, counter
        raise AssertionError(f"no counter of type {type_id} and registration {registration_id}")

    def set_counter(self, counter_id: int, value: int) -> None:
        struct.pack_into("<q", self._map, self._values + counter_id * 128, value)

    def heartbeat(self) -> None:
        """What a living client does twice a second."""
        counter_id, _ = self.counter_of(11, self.client_id)
        self.set_counter(counter_id, time.time_ns() // 1_000_000)

    def driver_heartbeat_ms(self) -> int:
        return self._i64(self._ring + self._ring_capacity + 640)


def eventually(condition: object, what: str, timeout_s: float = DEADLINE_S) -> None:
    """Wait until a callable says true."""
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what}"
        time.sleep(0.005)
