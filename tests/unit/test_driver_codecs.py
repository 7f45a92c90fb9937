"""Commands, replies and the core's events as bytes; the layouts are those of the protocol's tables, written out."""

from __future__ import annotations

import struct

import pytest

from aeronpy.driver.conductor import commands, events, replies
from aeronpy.errors import RegistrationError
from aeronpy.protocol import CommandType

PREFIX = struct.pack("<qq", 11, 22)


def test_an_add_names_its_stream_and_channel() -> None:
    body = PREFIX + struct.pack("<ii", 7, 9) + b"aeron:ipc"

    assert commands.decode(0x01, body) == commands.AddPublication(11, 22, 7, "aeron:ipc", False)
    assert commands.decode(0x03, body) == commands.AddPublication(11, 22, 7, "aeron:ipc", True)
    assert commands.decode(0x04, PREFIX + struct.pack("<qii", -1, 7, 9) + b"aeron:ipc") == commands.AddSubscription(
        11, 22, 7, "aeron:ipc"
    )


@pytest.mark.parametrize(
    ("tail", "is_revoke"), [(b"", False), (struct.pack("<Q", 0), False), (struct.pack("<Q", 3), True)]
)
def test_a_removal_may_revoke(tail: bytes, is_revoke: bool) -> None:
    assert commands.decode(0x02, PREFIX + struct.pack("<q", 33) + tail) == commands.RemovePublication(
        11, 22, 33, is_revoke
    )


def test_a_counters_key_is_padded_and_trailing_bytes_are_ignored() -> None:
    body = PREFIX + struct.pack("<ii", 1001, 3) + b"key\0" + struct.pack("<i", 5) + b"label" + b"more"

    assert commands.decode(0x09, body) == commands.AddCounter(11, 22, 1001, b"key", b"label")
    static = PREFIX + struct.pack("<qii", 44, 1001, 3) + b"key\0" + struct.pack("<i", 5) + b"label"
    assert commands.decode(0x0F, static) == commands.AddStaticCounter(11, 22, 44, 1001, b"key", b"label")


def test_the_other_commands() -> None:
    q = struct.pack("<q", 33)
    assert commands.decode(0x05, PREFIX + q) == commands.RemoveSubscription(11, 22, 33)
    assert commands.decode(0x06, PREFIX) == commands.Keepalive(11, 22)
    assert commands.decode(0x0A, PREFIX + q) == commands.RemoveCounter(11, 22, 33)
    assert commands.decode(0x0B, PREFIX) == commands.ClientClose(11, 22)
    assert commands.decode(0x0E, PREFIX + struct.pack("<i", 2) + b"ok") == commands.TerminateDriver(11, 22, b"ok")
    rejection = PREFIX + struct.pack("<qqi", 33, 64, 3) + b"why\0"
    assert commands.decode(0x10, rejection) == commands.RejectImage(11, 22, 33, 64, b"why")
    assert commands.decode(0x11, PREFIX + q + q) == commands.RemoveDestinationById(11, 22, 33, 33)
    assert commands.decode(0x12, PREFIX + struct.pack("<i", 7)) == commands.NextSessionId(11, 22, 7)
    destination = PREFIX + q + struct.pack("<i", 9) + b"aeron:udp"
    for kind in (0x07, 0x08, 0x0C, 0x0D):
        assert commands.decode(kind, destination) == commands.Destination(11, 22, 33, "aeron:udp", CommandType(kind))


@pytest.mark.parametrize("type_id", list(CommandType))
def test_a_command_cut_anywhere_is_malformed_never_a_crash(type_id: CommandType) -> None:
    whole = PREFIX + struct.pack("<qqi", 1, 2, 3) + b"abc\0" + bytes(64)
    codes = set()
    for length in range(len(whole)):
        try:
            commands.decode(type_id, whole[:length])
        except RegistrationError as error:
            codes.add(error.error_code)
        assert commands.correlation_id_of(whole[:length]) == (22 if length >= 16 else 0)
    assert codes == {7}


@pytest.mark.parametrize("length", [-1, 5, 1 << 30])
def test_a_length_beyond_the_message_is_malformed(length: int) -> None:
    with pytest.raises(RegistrationError) as caught:
        commands.decode(0x01, PREFIX + struct.pack("<ii", 7, length) + b"abc")
    assert caught.value.error_code == 7


def test_a_type_that_is_none_is_unknown() -> None:
    with pytest.raises(RegistrationError) as caught:
        commands.decode(99, PREFIX)
    assert caught.value.error_code == 6


def test_image_replies_pad_the_path() -> None:
    reply = replies.available_image(
        1, session_id=2, stream_id=3, subscription_id=4, position_id=5, path="/a/bc", source_identity="aeron:ipc"
    )

    assert reply.type_id == 0x0F02
    assert reply.message == (
        struct.pack("<qiiqii", 1, 2, 3, 4, 5, 5) + b"/a/bc\0\0\0" + struct.pack("<i", 9) + b"aeron:ipc"
    )


def test_publication_errors_are_never_shorter_than_clients_take() -> None:
    reply = replies.publication_error(
        1, session_id=2, stream_id=3, code=13, text=b"no", receiver_id=4, host="10.0.0.1", port=40123
    )

    head = struct.pack("<qqiiqqhH", 1, -1, 2, 3, 4, -1, 1, 40123) + bytes([10, 0, 0, 1]) + bytes(12)
    assert reply.message == head + struct.pack("<ii", 13, 2) + b"no" + bytes(2)
    assert len(reply.message) == 72
    v6 = replies.publication_error(1, session_id=2, stream_id=3, code=13, text=b"", host="::1")
    assert v6.message[40:42] == b"\2\0"
    assert v6.message[44:60] == bytes(15) + b"\1"


def test_error_texts_are_cut() -> None:
    reply = replies.error(9, 11, "ä" * 5000)

    assert struct.unpack_from("<qii", reply.message) == (9, 11, replies.ERROR_TEXT_MAX)
    assert reply.message[16:] == b"?" * replies.ERROR_TEXT_MAX


def test_events_of_the_core_are_read_as_its_header_lays_them_out() -> None:
    assert events.command(struct.pack("<qii", 5, 0x01, 0) + b"bytes") == (5, 0x01, b"bytes")
    assert events.resource_id(struct.pack("<q", -3)) == -3
    assert events.subscriber(struct.pack("<qq", 1, 2)) == (1, 2)
    setup = events.setup(struct.pack("<qq10i", 1, -1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0) + b"s" * 128 + b"c" * 128)
    assert setup[:11] == (1, -1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    assert (setup.source, setup.control) == (b"s" * 128, b"c" * 128)
    error = events.publication_error(struct.pack("<qqqqiiii", 1, 2, 3, 7, 4, 5, 6, 2) + b"s" * 128 + b"no?")
    assert (error.registration_id, error.receiver_id, error.group_tag, error.destination_id) == (1, 2, 3, 7)
    assert (error.session_id, error.stream_id, error.error_code, error.text) == (4, 5, 6, b"no")
    assert events.silent(struct.pack("<qqii", 1, -1, 1, 0)) == (1, -1, True)
    assert events.response(struct.pack("<qii", 1, -2, 0)) == (1, -2)
