"""Our log buffer on files of the real C driver: what its client wrote we read, what we append its subscribers get."""

from __future__ import annotations

import mmap
import struct
import zlib
from dataclasses import dataclass

import pytest

from aeronpy._core.native import CncFile, LogAppender, LogBuffer
from tests.interop.lines import Process
from tests.interop.peers import need_pyaeron
from tests.interop.stage import IPC, Driver, Stage, free_port, udp

STREAM_ID = 1001
PUB_LMT = 1
BACK_PRESSURED, ADMIN_ACTION = -2, -3
MTU, TERM_LENGTH = 1408, 64 * 1024

# The specification's vector D: offset, length, flags, and what of the message lies there.
VECTOR_D = [
    (0, 37, 0xC0, (5, 0)),
    (64, 1408, 0x80, (3000, 0)),
    (1472, 1408, 0x00, (3000, 1376)),
    (2880, 280, 0x40, (3000, 2752)),
    (3168, 32, 0xC0, (0, 0)),
]

Frame = tuple[int, int, int, int, int, int, int, int]


@dataclass
class Scene:
    """A real publication with its subscriber, and where its log is."""

    driver: Driver
    peer: Process
    session_id: int
    is_ipc: bool
    log_path: str
    registration_id: int


@pytest.fixture(params=["ipc", "udp"])
def scene(stage: Stage, request: pytest.FixtureRequest) -> Scene:
    channel = IPC if request.param == "ipc" else udp(free_port())
    driver = stage.driver("c")
    module = "tests.interop.programs.log_pyaeron"
    peer = stage.process("c log", [need_pyaeron(), "-m", module, driver.aeron_dir, channel, str(STREAM_ID)])
    session_id = int(peer.expect("READY")["session"])
    (path,) = (driver.aeron_dir / "publications").glob("*.logbuffer")
    return Scene(driver, peer, session_id, request.param == "ipc", str(path), int(path.stem))


def pattern(length: int) -> bytes:
    """What the program of the peer offers, too."""
    return bytes((7 * i) & 255 for i in range(length))


def frame_at(log: LogBuffer, offset: int) -> Frame:
    """Length, version, flags, type, offset, session, stream, term id of a frame in the first term."""
    fields = struct.unpack_from("<iBBHiiii", log.term(0), offset)
    return (fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[6], fields[7])


def publisher_limit(aeron_dir: str, registration_id: int) -> memoryview:
    """The live pub-lmt value of a publication."""
    with CncFile(aeron_dir) as cnc:
        counter_id = cnc.counters.find_by_registration(PUB_LMT, registration_id)
    assert counter_id is not None
    with open(f"{aeron_dir}/cnc.dat", "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    to_driver, to_clients, metadata = struct.unpack_from("<iii", mapped, 4)
    at = 128 + to_driver + to_clients + metadata + 128 * counter_id
    return memoryview(mapped)[at : at + 8].cast("q")


def test_what_the_real_client_wrote_is_what_we_read(scene: Scene) -> None:
    with LogBuffer.open(scene.log_path) as log:
        fields = log.fields()
        initial_term_id = fields["initial_term_id"]
        tails = [((initial_term_id + id_offset) & 0xFFFFFFFF) << 32 for id_offset in (0, -2, -1)]
        assert [tail & (2**64 - 1) for tail in fields["tails"]] == tails
        expected = {
            "correlation_id": scene.registration_id,
            "active_term_count": 0,
            "end_of_stream_position": 2**63 - 1,
            "is_connected": 1,
            "default_header_length": 32,
            "mtu_length": MTU,
            "term_length": TERM_LENGTH,
            "page_size": 4096,
            "entity_tag": -1,
            "response_correlation_id": -1,
            "is_response": 0,
            "sparse": 1,
            "signal_eos": 1,
            "is_publication_revoked": 0,
            "type": 0,
            "default_header": struct.pack(
                "<iBBHiiiiq", 0, 0, 0xC0, 1, 0, scene.session_id, STREAM_ID, initial_term_id, 0
            ),
        }
        assert {name: fields[name] for name in expected} == expected
        assert (log.session_id, log.stream_id, log.mtu_length) == (scene.session_id, STREAM_ID, MTU)

        scene.peer.tell("fill")
        position = int(scene.peer.expect("FILLED")["position"])
        assert position == log.producer_position == 3360
        where = (scene.session_id, STREAM_ID, initial_term_id)
        assert frame_at(log, 3200) == (-132, 0, 0xC0, 1, 3200, *where)
        received = [scene.peer.expect("MESSAGE")["length"] for _ in range(3)]
        assert received == ["5", "3000", "0"]
        if not scene.is_ipc:  # an IPC log is cleaned behind its reader at once
            for offset, length, flags, (message, start) in VECTOR_D:
                assert frame_at(log, offset) == (length, 0, flags, 1, offset, *where)
                payload = pattern(message)[start : start + length - 32]
                assert bytes(log.term(0)[offset + 32 : offset + length]) == payload
            assert [log.block_scan(at, bytes_max) for at, bytes_max in ((0, 65536), (64, 3000))] == [3200, 2816]
            scene.peer.tell("abort")
            scene.peer.expect("ABORTED")
            assert frame_at(log, 3200) == (132, 0, 0xC0, 0, 3200, *where)


def test_what_we_append_a_real_subscriber_receives_and_the_real_publisher_goes_on(scene: Scene) -> None:
    lengths = [(index * 617) % 5001 for index in range(400)]
    payloads = [pattern(length) for length in lengths]
    limit = publisher_limit(str(scene.driver.aeron_dir), scene.registration_id)
    received = []

    with LogBuffer.open(scene.log_path) as log:
        appender = LogAppender(log, limit)
        for index, payload in enumerate(payloads):
            cut = index * 13 % (len(payload) + 1)
            if index % 3 == 0 and len(payload) <= MTU - 32:
                result, claim = appender.claim(len(payload))
                while claim is None:
                    assert result in (BACK_PRESSURED, ADMIN_ACTION)
                    result, claim = appender.claim(len(payload))
                claim.buffer[:] = payload
                claim.commit()
            else:
                while (result := appender.offer(payload[:cut], payload[cut:])) < 0:
                    assert result in (BACK_PRESSURED, ADMIN_ACTION)
            received.append((scene.peer.expect("MESSAGE"), result))
        rotations = log.active_term_count
        end = appender.position

    for (message, position), payload in zip(received, payloads, strict=True):
        assert (int(message["length"]), int(message["crc"])) == (len(payload), zlib.crc32(payload))
        assert int(message["position"]) == position
    assert rotations >= 6
    scene.peer.tell("offer 10")
    after = int(scene.peer.expect("OFFERED")["position"])
    assert int(scene.peer.expect("MESSAGE")["length"]) == 10
    assert after - end in (64, 64 + TERM_LENGTH - end % TERM_LENGTH)
