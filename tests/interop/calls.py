"""Every way to send, as words that each client's program takes, and what a subscriber must see of it.

The programs (``calls_c.py``, ``CallsPeer.java``, and ours below) hear one word at a time and answer ``DONE position=``:

``offer:N`` a message of N bytes; ``reserved:N`` the same, with a supplier; ``vector:A:B`` one message of several
buffers, with a supplier; ``claim:N`` a claim with reserved value -7; ``abort:N`` a claim that is dropped;
``padding:N``; ``block:K`` a block of K frames; ``begin:K`` K fragments of 1000 bytes of a message without an end;
``revoke``.

Payloads are ``pattern``; suppliers answer term offset * 1000003 + frame length. A subscriber says ``FRAGMENT`` with the
fields of ``Fragment`` once it is told ``poll``.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from aeronpy import ExclusivePublication, FragmentView, OfferResult
from tests.interop.stage import Driver

PAYLOAD = 1376
WORDS = (
    "offer:5",
    "reserved:3000",
    "offer:0",
    "claim:100",
    "abort:60",
    "padding:500",
    "vector:1000:900:1100",
    "block:3",
    "reserved:1",
)
RETRY = (OfferResult.NOT_CONNECTED, OfferResult.BACK_PRESSURED, OfferResult.ADMIN_ACTION)


@dataclass(frozen=True)
class Fragment:
    """What a subscriber is given."""

    offset: int
    length: int
    flags: int
    reserved: int
    crc: int
    position: int

    def fields(self) -> dict[str, str]:
        """As a program says it."""
        return {name: str(value) for name, value in asdict(self).items()}


def pattern(length: int) -> bytes:
    """The payload of this length."""
    return bytes((7 * i) & 255 for i in range(length))


def span(payload: int) -> int:
    """Bytes of a frame in the log."""
    return (payload + 32 + 31) // 32 * 32


class Model:
    """The fragments and positions that the specification gives a sequence of words in one term."""

    def __init__(self) -> None:
        self.fragments: list[Fragment] = []
        self.positions: list[int] = []
        self.messages: list[bytes] = []
        self._at = 0

    def _frame(self, payload: bytes, flags: int = 0xC0, reserved: int | None = 0) -> None:
        value = self._at * 1_000_003 + len(payload) + 32 if reserved is None else reserved
        end = self._at + span(len(payload))
        self.fragments.append(Fragment(self._at, len(payload), flags, value, zlib.crc32(payload), end))
        self._at = end

    def _message(self, payload: bytes, reserved: int | None) -> None:
        self.messages.append(payload)
        parts = [payload[n : n + PAYLOAD] for n in range(0, len(payload), PAYLOAD)] or [b""]
        for n, part in enumerate(parts):
            self._frame(part, (0x80 if n == 0 else 0) | (0x40 if n == len(parts) - 1 else 0), reserved)

    def take(self, words: Sequence[str]) -> Model:
        """Go on by these words."""
        for word in words:
            name, *numbers = word.split(":")
            lengths = [int(each) for each in numbers]
            if name in ("abort", "padding"):
                self._at += span(lengths[0])
            elif name == "block":
                for n in range(lengths[0]):
                    self._message(pattern(40 * (n + 1)), n)
            elif name == "claim":
                self._message(pattern(lengths[0]), -7)
            elif name == "begin":
                for n in range(lengths[0]):
                    self._frame(pattern(1000), 0x80 if n == 0 else 0)
            else:
                reserved = 0 if name == "offer" else None
                self._message(b"".join(map(pattern, lengths)), reserved)
            self.positions.append(self._at)
        return self


def supplier(frame: FragmentView) -> int:
    """What suppliers answer."""
    return int(frame.get_int32(8) * 1_000_003 + len(frame))


class OurPublisher:
    """Sends by the words, on our client."""

    def __init__(self, publication: ExclusivePublication) -> None:
        self._publication = publication

    def _once(self, name: str, lengths: list[int]) -> int | OfferResult:
        publication = self._publication
        if name == "offer":
            return publication.offer(pattern(lengths[0]))
        if name in ("reserved", "vector"):
            return publication.offer(*map(pattern, lengths), reserved_value=supplier)
        if name == "padding":
            return publication.append_padding(lengths[0])
        if name == "block":
            return publication.offer_block(self._block(lengths[0]))
        claim = publication.try_claim(lengths[0])
        if claim:
            claim.buffer[:] = pattern(lengths[0])
            claim.reserved_value = -7
            claim.commit() if name == "claim" else claim.abort()
        return claim.result

    def _block(self, count: int) -> bytes:
        publication = self._publication
        position = publication.position
        where = (
            publication.session_id,
            publication.stream_id,
            publication.initial_term_id + position // publication.term_buffer_length,
        )
        frames = b""
        for n in range(count):
            payload = pattern(40 * (n + 1))
            at = position % publication.term_buffer_length + len(frames)
            frame = struct.pack("<iBBHiiiiq", len(payload) + 32, 0, 0xC0, 1, at, *where, n) + payload
            frames += frame + bytes(-len(frame) % 32)
        return frames

    def send(self, word: str) -> int:
        """Send until it is accepted, or never will be; returns the position or the negative code."""
        name, *numbers = word.split(":")
        lengths = [int(each) for each in numbers]
        for _ in itertools.count():
            result = self._once(name, lengths)
            if result not in RETRY:
                return int(result)
        raise AssertionError


def options(driver: Driver, channel: str, stream_id: int = 1001) -> list[str]:
    """The command line of a program."""
    return ["--dir", str(driver.aeron_dir), "--channel", channel, "--stream", str(stream_id)]
