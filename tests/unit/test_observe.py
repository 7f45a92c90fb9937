"""Counters decoded by type, filtered, grouped; error and loss files read whole."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from aeronpy.errors import ArgumentError, CorruptError, NotFoundError
from aeronpy.observe import (
    AddressKey,
    ArchiveKey,
    ChannelKey,
    ClusterKey,
    CncFile,
    ControlSessionKey,
    Counter,
    CounterFilter,
    DriverSnapshot,
    HeartbeatKey,
    Key,
    RecordingKey,
    ServiceKey,
    StreamKey,
    SystemKey,
    decode_key,
    group_streams,
    local_addresses,
    read_counters,
    read_error_file,
    read_errors,
    read_loss,
    type_name,
)
from tests import golden
from tests.unit.cnc_files import CncBytes, loss_entry, stream_key, write_loss

CHANNEL = "aeron:udp?endpoint=127.0.0.1:40456"
RESIDUE = b"\xee" * 112


def raw(key: bytes) -> bytes:
    return (key + RESIDUE)[:112]


@pytest.mark.parametrize(
    ("type_id", "key", "expected"),
    [
        (0, struct.pack("<i", 34), SystemKey(34)),
        (1, stream_key(7, -5, 1001, CHANNEL), StreamKey(7, -5, 1001, CHANNEL)),
        (20, stream_key(7, -5, 1001, "x" * 92), StreamKey(7, -5, 1001, "x" * 92)),
        (6, struct.pack("<i", len(CHANNEL)) + CHANNEL.encode(), ChannelKey(CHANNEL)),
        (14, struct.pack("<ii", 46, 9) + b"[::1]:123", AddressKey(46, "[::1]:123")),
        (14, struct.pack("<ii", 46, 0), AddressKey(46, "")),
        (11, struct.pack("<q", 1 << 40), HeartbeatKey(1 << 40)),
        (100, struct.pack("<qii", 3, -9, 5) + b"a:123" + struct.pack("<q", 77), RecordingKey(3, -9, "a:123", 77)),
        (102, struct.pack("<q", 77), ArchiveKey(77)),
        (113, struct.pack("<qq", 77, 12), ControlSessionKey(77, 12)),
        (201, struct.pack("<i", 4), ClusterKey(4)),
        (218, struct.pack("<ii", 4, 1), ServiceKey(4, 1)),
        (15, b"", None),
        (1000, b"", None),
    ],
)
def test_a_key_is_decoded_by_its_type(type_id: int, key: bytes, expected: Key | None) -> None:
    assert decode_key(type_id, raw(key)) == expected


@pytest.mark.parametrize("length", [-1, 93, 1 << 30, -(1 << 31)])
def test_a_length_beyond_the_key_gives_no_text(length: int) -> None:
    key = struct.pack("<qiii", 1, 2, 3, length)
    assert decode_key(1, raw(key)) == StreamKey(1, 2, 3, "")
    assert decode_key(100, raw(struct.pack("<qii", 1, 2, length))) is None


def counters() -> list[Counter]:
    def stream(counter_id: int, type_id: int, name: str, registration_id: int, stream_id: int) -> Counter:
        key = StreamKey(registration_id, 5, stream_id, CHANNEL)
        label = f"{name}: {registration_id} 5 {stream_id} {CHANNEL}"
        return Counter(counter_id, type_id, counter_id * 10, registration_id, 1, 0, key, label)

    return [
        Counter(0, 0, 1, 0, -1, 0, SystemKey(0), "Bytes sent"),
        Counter(15, 0, 1, 15, -1, 0, SystemKey(15), "Errors"),
        stream(50, 1, "pub-lmt", 7, 10),
        stream(51, 12, "pub-pos (exclusive)", 7, 10),
        stream(52, 4, "sub-pos", 8, 20),
        stream(53, 17, "fc-receivers", 7, 10),
        Counter(60, 6, 1, 7, 0, 0, ChannelKey(CHANNEL), "snd-channel"),
        Counter(61, 14, 1, 7, 0, 0, AddressKey(60, "127.0.0.1:1"), "snd-local-sockaddr"),
        Counter(62, 14, 2, 7, 0, 0, AddressKey(60, "127.0.0.1:2"), "snd-local-sockaddr"),
        Counter(63, 14, 1, 7, 0, 0, AddressKey(99, "127.0.0.1:3"), "snd-local-sockaddr"),
    ]


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ([], [0, 15, 50, 51, 52, 53, 60, 61, 62, 63]),
        (["type=^1$"], [50]),
        (["type=^(4|12)$"], [51, 52]),
        (["identity=^15$", "type=^0$"], [15]),
        (["identity=^7$", "stream=10"], [50, 51, 53, 60, 61, 62, 63]),
        (["session=6", "type=^[1-9]$"], [60]),
        (["channel=no such", "type=^(4|6|14)$"], [61, 62, 63]),
        (["channel=40456", "stream=20"], [0, 15, 52, 60, 61, 62, 63]),
    ],
)
def test_filters_search_the_fields_that_a_counter_has(arguments: list[str], kept: list[int]) -> None:
    passes = CounterFilter(arguments)
    assert [each.counter_id for each in counters() if passes(each)] == kept


@pytest.mark.parametrize("argument", ["typ=1", "type", "=1", "type=[", ""])
def test_filters_that_mean_nothing_are_refused(argument: str) -> None:
    with pytest.raises(ArgumentError, match="filter"):
        CounterFilter([argument])


def test_streams_hold_their_counters_by_session_stream_and_channel() -> None:
    first, second = group_streams(counters())
    assert (first.session_id, first.stream_id, first.channel) == (5, 10, CHANNEL)
    assert [(each.name, each.registration_id, each.value) for each in first.counters] == [
        ("pub-lmt", 7, 500),
        ("pub-pos (exclusive)", 7, 510),
    ]
    assert [each.name for each in second.counters] == ["sub-pos"]


def test_local_addresses_are_those_of_active_sockets_of_an_active_channel() -> None:
    assert local_addresses(counters(), 60) == ["127.0.0.1:1"]
    assert local_addresses(counters(), 99) == []


def test_a_snapshot_has_the_driver_and_its_counters(tmp_path: Path) -> None:
    written = CncBytes()
    written.counter(0, 0, "Bytes sent", 9, key=struct.pack("<i", 0), owner_id=-1)
    written.counter(1, 1, "pub-lmt: 7 5 10 x", 8, key=stream_key(7, 5, 10, "x"), registration_id=7)
    with CncFile(written.write(tmp_path)) as cnc:
        snapshot = DriverSnapshot.take(cnc)
        assert tuple(read_counters(cnc.counters)) == snapshot.counters
    assert (snapshot.pid, snapshot.version, snapshot.max_counter_id) == (4711, (0, 2, 0), 63)
    assert snapshot.heartbeat_age_ms == snapshot.taken_at_ms - written.heartbeat_ms
    assert snapshot.counters[1].key == StreamKey(7, 5, 10, "x")
    kept = snapshot.keep(CounterFilter(["type=1"]))
    assert [each.counter_id for each in kept.counters] == [1]


def test_a_driver_that_shut_down_has_no_heartbeat_age(tmp_path: Path) -> None:
    with CncFile(CncBytes(heartbeat_ms=-1).write(tmp_path)) as cnc:
        assert DriverSnapshot.take(cnc).heartbeat_age_ms is None


def test_errors_and_loss_are_read_from_a_directory(tmp_path: Path) -> None:
    written = CncBytes()
    written.error("one", 2, 10, 20)
    written.write(tmp_path)
    write_loss(tmp_path, loss_entry((1, 2, 3, 4, 5, 6), CHANNEL, "s"), loss_entry((1, 2, 3, 4, 6, 6), CHANNEL, "s"))
    assert [each.text for each in read_errors(tmp_path)] == ["one"]
    assert read_errors(tmp_path, since_ms=21) == []
    assert [each.session_id for each in read_loss(tmp_path)] == [5, 6]


def test_an_error_log_inside_another_file_is_found_by_its_offset(tmp_path: Path) -> None:
    path = tmp_path / "archive-mark.dat"
    path.write_bytes(bytes(8192) + struct.pack("<iiqq", 27, 1, 5, 5) + b"bad" + bytes(4096))
    assert [each.text for each in read_error_file(path, 8192)] == ["bad"]
    with pytest.raises(ArgumentError, match="outside"):
        list(read_error_file(path, 1 << 20))


def test_the_errors_of_an_archive_are_those_that_were_provoked(tmp_path: Path) -> None:
    mark_file = golden.unpack("archive", tmp_path) / "archive-mark.dat"
    first, second = read_error_file(mark_file, 8192)
    assert "replayPosition=64" in first.text.splitlines()[0]
    assert second.text.startswith(
        "java.lang.IllegalArgumentException: Aeron URIs must start with 'aeron:', found: nonsense"
    )
    assert (first.observations, second.observations) == (1, 1)
    assert first.first_observation_ms < second.first_observation_ms


def test_files_that_are_missing_empty_or_broken_are_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"loss-report\.dat"):
        read_loss(tmp_path)
    (tmp_path / "loss-report.dat").touch()
    with pytest.raises(ArgumentError, match="empty"):
        read_loss(tmp_path)
    broken = bytearray(loss_entry((1, 2, 3, 4, 5, 6), CHANNEL, "s"))
    struct.pack_into("<i", broken, 40, -1)
    write_loss(tmp_path, bytes(broken))
    with pytest.raises(CorruptError, match="offset 0"):
        read_loss(tmp_path)


def test_types_have_names() -> None:
    assert type_name(12) == "publisher-position"
    assert type_name(4242) == "type 4242"
