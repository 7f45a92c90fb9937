"""Frames as the event log words them (spec: network protocol, section 1): what is broken is said to be so."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable
from typing import Final

_HEADER: Final = struct.Struct("<iBBH")
_RES_ENTRY: Final = struct.Struct("<BBHi")
_RES_ADDRESS_LENGTHS: Final = {1: 4, 2: 16}
_ERROR_TEXT_AT: Final = 40
_RES: Final = 0x07


def of_frame(body: bytes) -> str:
    """The first frame of a datagram, of which ``body`` has the beginning."""
    if len(body) < _HEADER.size:
        return f"too short for a frame: {body.hex()}"
    length, version, flags, kind = _HEADER.unpack_from(body)
    if kind not in _FRAMES:
        return f"type=UNKNOWN (0x{kind:x}) version=0x{version:x} flags={flags:08b} frameLength={length}"
    name, word = _FRAMES[kind]
    head = f"type={name} flags={flags:08b} frameLength={length}"
    try:
        return f"{head}{word(body[:length] if kind == _RES else body)}"
    except (struct.error, ValueError):
        return f"{head} cut short: {body.hex()}"


def _fields(layout: str, names: str) -> Callable[[bytes], str]:
    """Words of a frame whose fields, behind the header, are of this layout, in the order of ``names``."""
    struct_of, keys = struct.Struct("<8x" + layout), names.split()

    def word(body: bytes) -> str:
        found = dict(zip(keys, struct_of.unpack_from(body), strict=True))
        return "".join(f" {key}={found[key]}" for key in _in_order(keys))

    return word


def _in_order(keys: list[str]) -> list[str]:
    """Session and stream first, initial and active term the other way round: as the reference driver has them."""
    first = ["sessionId", "streamId", "activeTermId", "initialTermId", "termId", "termOffset"]
    return sorted(keys, key=lambda key: first.index(key) if key in first else len(first))


_ERROR: Final = _fields("iiqqi", "sessionId streamId receiverId groupTag errorCode")


def _error(body: bytes) -> str:
    (length,) = struct.unpack_from("<i", body, _ERROR_TEXT_AT - 4)
    text = body[_ERROR_TEXT_AT : _ERROR_TEXT_AT + max(0, length)].decode("ascii", "backslashreplace")
    return f'{_ERROR(body)} errorMessage="{_one_line(text)}"'


def _one_line(text: str) -> str:
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _resolutions(body: bytes) -> str:
    entries, at = [], _HEADER.size
    while at < len(body):
        kind, flags, port, age_ms = _RES_ENTRY.unpack_from(body, at)
        if kind not in _RES_ADDRESS_LENGTHS:
            raise ValueError(f"type {kind} of a resolution")
        address_end = at + _RES_ENTRY.size + _RES_ADDRESS_LENGTHS[kind]
        address = ipaddress.ip_address(body[at + _RES_ENTRY.size : address_end])
        (length,) = struct.unpack_from("<h", body, address_end)
        end = address_end + 2 + length
        if length < 0 or end > len(body):
            raise ValueError(f"a name of {length} bytes")
        name = _one_line(body[address_end + 2 : end].decode("ascii", "backslashreplace"))
        entries.append(
            f" [resType={kind} flags={flags:08b} port={port} ageInMs={age_ms} address={address} name={name}]"
        )
        at = end + -(end - _HEADER.size) % 8
    return "".join(entries)


_DATA: Final = _fields("iiii", "termOffset sessionId streamId termId")

_FRAMES: Final[dict[int, tuple[str, Callable[[bytes], str]]]] = {
    0x00: ("PAD", _DATA),
    0x01: ("DATA", _DATA),
    0x02: ("NAK", _fields("iiiii", "sessionId streamId termId termOffset length")),
    0x03: ("SM", _fields("iiiiiq", "sessionId streamId termId termOffset receiverWindowLength receiverId")),
    0x04: ("ERR", _error),
    0x05: (
        "SETUP",
        _fields("iiiiiiii", "termOffset sessionId streamId initialTermId activeTermId termLength mtu ttl"),
    ),
    0x06: ("RTTM", _fields("iiqqq", "sessionId streamId echoTimestampNs receptionDelta receiverId")),
    _RES: ("RES", _resolutions),
    0x0B: ("RSP_SETUP", _fields("iii", "sessionId streamId responseSessionId")),
}
