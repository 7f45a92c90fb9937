"""How frames and what threads in C see are worded; lines are those that the C driver wrote of such events."""

from __future__ import annotations

import struct

import pytest

from aeronpy.driver.addresses import Address
from aeronpy.driver.frame_texts import of_frame
from aeronpy.driver.log_events import LogEvent
from aeronpy.driver.trace_texts import TRACED, Record, mask_of, of_record

PEER = Address("127.0.0.1", 24871).pack()
CHANNEL = "aeron:udp?endpoint=localhost:24871|term-length=64k"
RES = struct.pack("<iBBHBBHi4sh1s", 24, 0, 0, 7, 1, 0x80, 18050, 0, bytes([127, 0, 0, 1]), 1, b"A")

FRAMES = [
    (
        struct.pack("<iBBHiiiiiiii", 40, 0, 0x40, 5, 0, 9, 7, -670603984, -670603983, 65536, 1408, 0),
        "type=SETUP flags=01000000 frameLength=40 sessionId=9 streamId=7 activeTermId=-670603983 "
        "initialTermId=-670603984 termOffset=0 termLength=65536 mtu=1408 ttl=0",
    ),
    (
        struct.pack("<iBBHiiiiq", 1032, 0, 0xC0, 1, 1056, 5, 7, -1448528807, 0),
        "type=DATA flags=11000000 frameLength=1032 sessionId=5 streamId=7 termId=-1448528807 termOffset=1056",
    ),
    (
        struct.pack("<iBBHiiiiiq", 36, 0, 0, 3, 5, 7, -1448528807, 32736, 32768, -297604521498088600),
        "type=SM flags=00000000 frameLength=36 sessionId=5 streamId=7 termId=-1448528807 termOffset=32736 "
        "receiverWindowLength=32768 receiverId=-297604521498088600",
    ),
    (
        struct.pack("<iBBHiiiii", 28, 0, 0, 2, 5, 7, -1448528807, 64416, 1120),
        "type=NAK flags=00000000 frameLength=28 sessionId=5 streamId=7 termId=-1448528807 termOffset=64416 length=1120",
    ),
    (
        RES,
        "type=RES flags=00000000 frameLength=24 "
        "[resType=1 flags=10000000 port=18050 ageInMs=0 address=127.0.0.1 name=A]",
    ),
    (
        struct.pack("<iBBHiiqqii3s", 43, 0, 8, 4, 5, 7, 3, 4, 13, 3, b"a\nb"),
        "type=ERR flags=00001000 frameLength=43 sessionId=5 streamId=7 receiverId=3 groupTag=4 errorCode=13 "
        'errorMessage="a\\nb"',
    ),
    (
        struct.pack("<iBBHiiqqq", 40, 0, 0x80, 6, 5, 7, 11, 0, 3),
        "type=RTTM flags=10000000 frameLength=40 sessionId=5 streamId=7 echoTimestampNs=11 receptionDelta=0 "
        "receiverId=3",
    ),
    (
        struct.pack("<iBBHiii", 20, 0, 0, 0x0B, 5, 7, 6),
        "type=RSP_SETUP flags=00000000 frameLength=20 sessionId=5 streamId=7 responseSessionId=6",
    ),
    (struct.pack("<iBBH", 8, 1, 3, 0x77), "type=UNKNOWN (0x77) version=0x1 flags=00000011 frameLength=8"),
]


@pytest.mark.parametrize(("frame", "words"), FRAMES)
def test_frames_are_worded_as_the_c_driver_words_them(frame: bytes, words: str) -> None:
    assert of_frame(frame) == words


@pytest.mark.parametrize("frame", [frame for frame, _ in FRAMES])
def test_frames_that_are_cut_short_are_worded_too(frame: bytes) -> None:
    for length in range(len(frame)):
        assert "\n" not in of_frame(frame[:length])


def test_a_second_resolution_stands_behind_the_first_ones_padding() -> None:
    two = RES[:24].ljust(24, b"\0") + struct.pack("<BBHi16sh2s", 2, 0, 9, 5, bytes(15) + b"\1", 2, b"BC")
    two = struct.pack("<i", len(two)) + two[4:]

    assert of_frame(two).endswith(" [resType=2 flags=00000000 port=9 ageInMs=5 address=::1 name=BC]")


@pytest.mark.parametrize(
    ("event", "address", "body", "words"),
    [
        (
            LogEvent.NAK_SENT,
            PEER,
            struct.pack("<qiiiii", 4, 5, 7, -9, 64416, 1120),
            f"address=127.0.0.1:24871 sessionId=5 streamId=7 termId=-9 termOffset=64416 length=1120 channel={CHANNEL}",
        ),
        (
            LogEvent.RESEND,
            b"",
            struct.pack("<qiiiii", 4, 5, 7, -9, 64416, 1120),
            f"sessionId=5 streamId=7 termId=-9 termOffset=64416 length=1120 channel={CHANNEL}",
        ),
        (
            LogEvent.FLOW_CONTROL_RECEIVER_ADDED,
            b"",
            struct.pack("<qqiii", 4, -3, 9, 7, 1),
            f"receiverCount=1 receiverId=-3 sessionId=9 streamId=7 channel={CHANNEL}",
        ),
        (
            LogEvent.PUBLICATION_IMAGE_REVOKE,
            b"",
            struct.pack("<qqii", 4, 96, 15, 7),
            f"revokedPos=96 sessionId=15 streamId=7 channel={CHANNEL}",
        ),
        (LogEvent.NAME_RESOLUTION_NEIGHBOR_ADDED, PEER, b"", "127.0.0.1:24871"),
        (LogEvent.CMD_IN_KEEPALIVE_CLIENT, b"", struct.pack("<qq", 4, -1), "clientId=4 correlationId=-1"),
        (LogEvent.FRAME_OUT, PEER, FRAMES[3][0], f"address=127.0.0.1:24871 {FRAMES[3][1]}"),
    ],
)
def test_records_are_worded_as_the_c_driver_words_them(
    event: LogEvent, address: bytes, body: bytes, words: str
) -> None:
    record = Record(event, 1, address, len(body), body)

    assert of_record(record, {4: CHANNEL}.__getitem__) == words


def test_the_core_traces_nothing_but_what_it_alone_sees() -> None:
    assert mask_of(frozenset({LogEvent.CMD_OUT_ERROR})) == 0
    assert mask_of(frozenset({LogEvent.CMD_OUT_ERROR, LogEvent.FRAME_OUT, LogEvent.RESEND})) == 1 << 2 | 1 << 55
    assert len(TRACED) == 11
