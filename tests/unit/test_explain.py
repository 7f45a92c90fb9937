"""Who limits whom: a stream in each of its states, and which streams are meant."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from aeronpy.errors import NotFoundError
from aeronpy.observe.channels import means
from aeronpy.observe.explain import explain
from aeronpy.observe.stations import Session
from aeronpy.uri import ChannelUri
from tests.unit.cli_runs import in_terminal, run
from tests.unit.cnc_files import CncBytes, loss_entry, stream_key, write_loss
from tests.unit.log_files import LogBytes

PLACE = "aeron:udp?endpoint=127.0.0.1:40456"
PUB, SUB = f"{PLACE}|term-length=64k", PLACE
IPC = "aeron:ipc"
WINDOW = 16_384


@dataclass
class Stage:
    """A driver's files in the making: one client, streams, channels."""

    directory: Path
    cnc: CncBytes = field(default_factory=CncBytes)
    _next: int = 1

    def counter(self, type_id: int, label: str, value: int, key: bytes, **fields: int) -> int:
        counter_id, self._next = self._next, self._next + 1
        self.cnc.counter(counter_id, type_id, label, value, key=key, **fields)
        return counter_id

    def stream(self, type_id: int, name: str, registration_id: int, value: int, channel: str, **fields: int) -> None:
        stream_id, session_id = fields.pop("stream_id", 1001), fields.pop("session_id", -5)
        join = " @0" if type_id == 4 else ""
        self.counter(
            type_id,
            f"{name}: {registration_id} {session_id} {stream_id} {channel}{join}",
            value,
            stream_key(registration_id, session_id, stream_id, channel),
            **{"registration_id": registration_id, "owner_id": 3, **fields},
        )

    def publication(self, position: int, limit: int, *, channel: str = PUB, connected: bool = True) -> None:
        self.stream(12, "pub-pos (concurrent)", 7, position, channel)
        self.stream(1, "pub-lmt", 7, limit, channel)
        LogBytes(is_connected=int(connected)).write(self.directory / "publications" / "7.logbuffer")

    def sender(self, position: int, limit: int) -> None:
        for type_id, name, value in ((2, "snd-pos", position), (9, "snd-lmt", limit), (13, "snd-bpe", 6)):
            self.stream(type_id, name, 7, value, PUB)
        self.stream(19, "snd-naks-received", 7, 2, PUB)

    def image(self, position: int, hwm: int, frames: Sequence[int] = ()) -> None:
        """An image with frames of 64 bytes at these offsets, and whole up to its position."""
        self.stream(3, "rcv-hwm", 20, hwm, SUB)
        self.stream(5, "rcv-pos", 20, position, SUB)
        self.stream(20, "rcv-naks-sent", 20, 4, SUB)
        log = LogBytes(kind=2, receiver_window=WINDOW)
        for offset in frames:
            log.put(offset, 64)
        log.write(self.directory / "images" / "20.logbuffer")

    def subscriber(self, name: int, position: int, source: int, *, channel: str = SUB) -> None:
        self.stream(4, "sub-pos", name, position, channel, reference_id=source)

    def session(self, channel: str = PLACE) -> Session:
        self.write()
        (only,) = explain(self.directory, channel, 1001, interval_s=0).sessions
        return only

    def write(self) -> Path:
        label = "client-heartbeat: id=3 name=prices version=1.53.0 commit=x"
        self.counter(11, label, 1, struct.pack("<q", 3))
        self.cnc.counter(0, 0, "Bytes sent", key=struct.pack("<i", 0))
        self.cnc.write(self.directory)
        return self.directory


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_every_station_has_its_numbers(stage: Stage) -> None:
    stage.publication(4096, 36_864)
    stage.sender(4000, 20_000)
    stage.image(3968, 3968)
    stage.subscriber(8, 3000, 20)
    found = stage.session()
    assert found.channels == [PUB, SUB]
    (publisher,), (sender,), (receiver,), (subscriber,) = (
        found.publishers,
        found.senders,
        found.receivers,
        found.subscribers,
    )
    assert (publisher.kind, publisher.position, publisher.limit) == ("concurrent", 4096, 36_864)
    assert (publisher.is_connected, publisher.client.name) == (True, "prices")
    assert (sender.position, sender.limit, sender.back_pressure_events, sender.naks_received) == (4000, 20_000, 6, 2)
    assert (receiver.position, receiver.hwm, receiver.naks_sent, receiver.window) == (3968, 3968, 4, WINDOW)
    assert (subscriber.position, subscriber.behind, subscriber.source_id, subscriber.joined_at) == (3000, 968, 20, 0)
    assert (found.limited_by, found.remedy) == ("publisher", "poll the subscription")


def test_a_publication_without_a_consumer_is_not_connected(stage: Stage) -> None:
    stage.publication(0, 0, connected=False)
    stage.sender(0, 0)
    found = stage.session()
    assert found.limited_by == "connection"
    assert "firewalls" in found.remedy


def test_an_ipc_publication_without_a_consumer_is_not_connected(stage: Stage) -> None:
    stage.publication(0, 0, channel=IPC, connected=False)
    assert stage.session(IPC).limited_by == "connection"
    assert "aeron:ipc" in stage.session(IPC).remedy


def test_an_image_with_gaps_waits_for_lost_data(stage: Stage) -> None:
    stage.image(64, 512, frames=[0, 192, 448])
    stage.subscriber(8, 64, 20)
    found = stage.session()
    assert found.receivers[0].gaps == ((64, 128), (256, 192))
    assert found.limited_by == "loss"
    assert "2 gaps with 320 bytes, the first of 128 at 64" in found.verdict


def test_a_subscriber_a_window_behind_holds_its_sender_back(stage: Stage) -> None:
    stage.image(WINDOW, WINDOW)
    stage.subscriber(8, 0, 20)
    stage.subscriber(9, WINDOW, 20)
    found = stage.session()
    assert found.limited_by == "subscriber"
    assert "subscriber 8 (prices) is 16384 bytes behind" in found.verdict
    assert "poll more often" in found.remedy


def test_a_subscriber_at_the_publications_limit_pushes_offers_back(stage: Stage) -> None:
    stage.publication(40_000, 32_768, channel=IPC)
    stage.subscriber(8, 0, 7, channel=IPC)
    stage.subscriber(9, 40_000, 7, channel=IPC)
    found = stage.session(IPC)
    assert found.limited_by == "subscriber"
    assert "subscriber 8 (prices) is 40000 bytes behind, and publication 7 is at its limit of 32768" in found.verdict


def test_a_spy_that_is_slower_than_the_sender_pushes_offers_back(stage: Stage) -> None:
    stage.publication(32_768, 32_768)
    stage.sender(32_768, 131_072)
    stage.subscriber(8, 0, 7, channel=f"aeron-spy:{PLACE}")
    found = stage.session()
    assert found.limited_by == "subscriber"
    assert "subscriber 8 (prices) is 32768 bytes behind" in found.verdict


def test_a_spy_that_stands_in_for_receivers_limits_the_stream(stage: Stage) -> None:
    channel = f"{PLACE}|ssc=true"
    stage.publication(32_768, 32_768, channel=channel)
    stage.sender(4096, 4096)
    stage.subscriber(8, 4096, 7, channel=f"aeron-spy:{PLACE}")
    found = stage.session()
    assert found.limited_by == "subscriber"
    assert "subscriber 8 (prices) is a spy 28672 bytes behind" in found.verdict
    stage.subscriber(9, 30_000, 7, channel=f"aeron-spy:{PLACE}")  # ahead of the sender: its receivers hold that back
    assert stage.session().limited_by == "receivers"


def test_a_sender_at_its_limit_waits_for_its_receivers(stage: Stage) -> None:
    stage.publication(8192, 36_864)
    stage.sender(4096, 4096)
    found = stage.session()
    assert found.limited_by == "receivers"
    assert "sender 7 has 4096 bytes to send and may not: its receivers allow 0" in found.verdict


def test_a_sender_behind_a_publication_at_its_limit_is_too_slow(stage: Stage) -> None:
    stage.publication(36_864, 36_864)
    stage.sender(4096, 131_072)
    assert stage.session().limited_by == "sender"


@pytest.mark.parametrize("position", [0, 4096])
def test_a_stream_in_step_is_limited_by_its_publisher(stage: Stage, position: int) -> None:
    stage.publication(position, 36_864)
    stage.sender(position, 131_072)
    stage.image(position, position)
    stage.subscriber(8, position, 20)
    found = stage.session()
    assert (found.limited_by, found.remedy) == ("publisher", "")


def test_drops_loss_and_ends_are_told_with_the_stream(stage: Stage, tmp_path: Path) -> None:
    stage.image(0, 0)
    stage.cnc.counter(60, 0, "Invalid packets", 3, key=struct.pack("<i", 14))
    status = stage.counter(7, f"rcv-channel: {SUB} 127.0.0.1:40456", 1, struct.pack("<i", len(SUB)) + SUB.encode())
    address = struct.pack("<ii", status, 15) + b"127.0.0.1:40456"
    stage.counter(14, f"rcv-local-sockaddr: {status} 127.0.0.1:40456", 1, address)
    for empty in range(stage._next + 1, 60):
        stage.cnc.counter(empty, 0, "gone", state=-1)
    stage.write()
    write_loss(
        tmp_path, loss_entry((2, 300, 1, 1, -5, 1001), SUB, "a:1"), loss_entry((2, 9, 1, 1, 6, 1001), SUB, "b:1")
    )
    found = explain(tmp_path, SUB, 1001, interval_s=0)
    assert [(each.cause, each.count, each.during) for each in found.drops] == [
        ("datagrams that are no Aeron frames", 3, 0)
    ]
    assert [(each.bytes_lost, each.source) for each in found.loss] == [(300, "a:1")]
    assert [(each.status, each.addresses) for each in found.ends] == [("active", ("127.0.0.1:40456",))]


def test_a_subscription_without_an_image_is_explained_too(stage: Stage) -> None:
    stage.counter(7, f"rcv-channel: {SUB} 127.0.0.1:40456", 1, struct.pack("<i", len(SUB)) + SUB.encode())
    found = explain(stage.write(), SUB, 1001, interval_s=0)
    assert found.sessions == []
    assert "no image has come" in found.note


def test_a_driver_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    stage = Stage(tmp_path, CncBytes(heartbeat_ms=-1))
    stage.publication(0, 0)
    assert "the driver is not alive (shut down)" in explain(stage.write(), PUB, 1001, interval_s=0).note


def test_a_stream_that_is_not_there_is_an_error_with_those_that_are(stage: Stage) -> None:
    stage.publication(0, 0)
    stage.write()
    for channel, stream_id in ((PLACE, 1002), ("aeron:udp?endpoint=127.0.0.1:1", 1001), (IPC, 1001)):
        with pytest.raises(
            NotFoundError, match=r"there are aeron:udp\?endpoint=127.0.0.1:40456\|term-length=64k stream 1001"
        ):
            explain(stage.directory, channel, stream_id, interval_s=0)


@pytest.mark.parametrize(
    ("wanted", "found", "meant"),
    [
        (PLACE, PUB, True),
        (PUB, PLACE, True),
        (PUB, f"{PLACE}|term-length=128k", False),
        (PLACE, "aeron:udp?endpoint=127.0.0.1:40457", False),
        (PLACE, "aeron:udp?control=127.0.0.1:40456", False),
        ("aeron:udp?control=a:1|control-mode=dynamic", "aeron:udp?control-mode=dynamic|control=a:1|mtu=8k", True),
        ("aeron:udp?endpoint=a:1", "aeron:udp?endpoint=a:1|control=b:1", True),
        ("aeron:udp?tags=1", "aeron:udp?tags=1", True),
        ("aeron:udp?tags=1", "aeron:udp?endpoint=a:1", False),
        (IPC, "aeron:ipc?term-length=64k", True),
        (IPC, PLACE, False),
    ],
)
def test_a_channel_is_meant_by_its_place(wanted: str, found: str, meant: bool) -> None:
    assert means(ChannelUri.parse(wanted, strict=False), ChannelUri.parse(found, strict=False)) is meant


def test_the_command_prints_lines_json_and_a_table(stage: Stage) -> None:
    stage.publication(40_000, 32_768, channel=IPC)
    stage.subscriber(8, 0, 7, channel=IPC)
    directory = stage.write()
    arguments = ["explain", IPC, "1001", "-d", str(directory), "--interval", "0.01"]
    lines = [line.split("\t") for line in run(*arguments).output.splitlines()]
    assert lines[0] == ["session", "-5", "stream 1001", IPC]
    assert lines[1][:4] == ["publication 7", "40000", "32768", "0/s"]
    assert lines[2][:2] == ["subscriber 8", "0"]
    assert [line[0] for line in lines[3:]] == ["limited by", "do"]
    (session,) = json.loads(run(*arguments, "--json").output)["sessions"]
    assert session["limited_by"] == "subscriber"
    assert session["subscribers"][0]["behind"] == 40_000
    seen, code = in_terminal(*arguments)
    assert code == 0, seen
    assert "limited by subscriber" in seen


def test_the_command_without_a_driver_or_a_stream_says_so(stage: Stage, tmp_path: Path) -> None:
    assert run("explain", IPC, "1001", "-d", tmp_path).exit_code == 3
    result = run("explain", IPC, "1001", "-d", stage.write())
    assert isinstance(result.exception, NotFoundError)
    assert "Example: aeronpy explain" in run("explain", "--help").output
