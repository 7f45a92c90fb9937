"""Commands byte for byte, and events of which every length but the right one is refused."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from aeronpy.client import protocol
from aeronpy.errors import CorruptError


def text(value: bytes) -> bytes:
    return struct.pack("<i", len(value)) + value


# Laid out by hand from the offsets in the spec's section 3.
@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (protocol.add_publication(2, 3, 1001, "aeron:ipc"), struct.pack("<qqi", 2, 3, 1001) + text(b"aeron:ipc")),
        (protocol.remove_publication(2, 4, 3, True), struct.pack("<qqqQ", 2, 4, 3, 1)),
        (protocol.add_subscription(2, 5, 9, "x"), struct.pack("<qqqi", 2, 5, -1, 9) + text(b"x")),
        (protocol.remove(2, 6, 5), struct.pack("<qqq", 2, 6, 5)),
        (protocol.destination(2, 7, 3, "ab"), struct.pack("<qqq", 2, 7, 3) + text(b"ab")),
        (protocol.destination_by_id(2, 8, 3, 7), struct.pack("<qqqq", 2, 8, 3, 7)),
        (protocol.next_session_id(2, 9, 1), struct.pack("<qqi", 2, 9, 1)),
        (protocol.terminate_driver(2, 9, b"tok"), struct.pack("<qq", 2, 9) + text(b"tok")),
    ],
)
def test_commands_have_the_specs_layout(made: bytes, expected: bytes) -> None:
    assert made == expected


def test_counter_commands_pad_their_keys_to_four() -> None:
    made = protocol.add_counter(2, 3, 1001, b"key", "label")
    assert made[:31] == struct.pack("<qqii", 2, 3, 1001, 3) + b"key" + b"\0" + b"\5\0\0"
    assert made[32:37] == b"label"
    static = protocol.add_static_counter(2, 3, 77, 1001, b"12345", "l")
    assert static[:37] == struct.pack("<qqqii", 2, 3, 77, 1001, 5) + b"12345"
    assert static[40:45] == text(b"l")


def test_a_short_reason_is_padded_to_what_the_c_driver_insists_on() -> None:
    made = protocol.reject_image(2, 3, 4, 5, "no")
    assert len(made) == 40
    assert made[:38] == struct.pack("<qqqq", 2, 3, 4, 5) + text(b"no")


IMAGE = struct.pack("<qiiqi", 8, -7, 1001, 4, 12) + text(b"/log") + text(b"aeron:ipc")
READY = struct.pack("<qqiiii", 3, 2, -7, 1001, 11, -1) + text(b"/dev/shm/x.log")
ERROR = struct.pack("<qi", 3, 11) + text(b"why")
PUBLICATION_ERROR = struct.pack("<qqiiqqhH", 8, -1, -7, 1001, -1, -1, 1, 24325) + bytes([127, 0, 0, 1]).ljust(16, b"\0")
PUBLICATION_ERROR += struct.pack("<i", 13) + text(b"not you")


def test_events_are_read_from_the_specs_offsets() -> None:
    image = protocol.AvailableImage.parse(IMAGE)
    assert (image.correlation_id, image.session_id, image.stream_id, image.subscription_id) == (8, -7, 1001, 4)
    assert (image.position_id, image.log_path, image.source_identity) == (12, "/log", "aeron:ipc")
    ready = protocol.PublicationReady.parse(READY)
    assert (ready.correlation_id, ready.registration_id, ready.session_id, ready.stream_id) == (3, 2, -7, 1001)
    assert (ready.position_limit_id, ready.channel_status_id, ready.log_path) == (11, -1, "/dev/shm/x.log")
    assert protocol.parse_error(ERROR) == (3, 11, "why")
    error = protocol.PublicationError.parse(PUBLICATION_ERROR)
    assert (error.source, error.error_code, error.message) == ("127.0.0.1:24325", 13, "not you")


@pytest.mark.parametrize(
    ("body", "parse"),
    [
        (IMAGE, protocol.AvailableImage.parse),
        (READY, protocol.PublicationReady.parse),
        (ERROR, protocol.parse_error),
        (PUBLICATION_ERROR, protocol.PublicationError.parse),
        (bytes(12), protocol.parse_pair),
        (bytes(16), protocol.parse_unavailable_image),
    ],
)
def test_a_cut_event_is_corrupt_wherever_it_is_cut(body: bytes, parse: Callable[[bytes], object]) -> None:
    for length in range(len(body)):
        with pytest.raises(CorruptError):
            parse(body[:length])
    parse(body)


def test_a_text_longer_than_its_event_is_corrupt() -> None:
    with pytest.raises(CorruptError, match="says a text of 1000"):
        protocol.parse_error(struct.pack("<qii", 3, 11, 1000) + b"why")
    with pytest.raises(CorruptError):
        protocol.parse_error(struct.pack("<qii", 3, 11, -1) + b"why")
