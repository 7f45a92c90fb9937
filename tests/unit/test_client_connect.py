"""Connecting to a CnC file written by hand: what is missing is named, and what a client writes there is seen."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from aeronpy import Aeron, is_driver_active, request_driver_termination
from aeronpy.errors import (
    AeronError,
    CorruptError,
    DriverRestarted,
    DriverShutdown,
    DriverTimeout,
    DriverUpgraded,
    StateError,
    VersionError,
)
from tests.unit.cnc_files import RING_AT, CncBytes

HEARTBEAT_AT = RING_AT + 4096 + 640
CLIENT_CLOSE, TERMINATE_DRIVER = 0x0B, 0x0E


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.002)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def commands(directory: Path) -> list[tuple[int, bytes]]:
    """Types and bodies of the commands in the ring, which nobody takes."""
    data, at, found = (directory / "cnc.dat").read_bytes(), RING_AT, []
    while True:
        length, kind = struct.unpack_from("<ii", data, at)
        if length <= 0:
            return found
        found.append((kind, data[at + 8 : at + length]))
        at += (length + 7) // 8 * 8


def poke(directory: Path, offset: int, value: int) -> None:
    with (directory / "cnc.dat").open("r+b") as file:
        file.seek(offset)
        file.write(struct.pack("<q", value))


@pytest.mark.parametrize(
    ("file", "error", "text"),
    [
        (None, DriverTimeout, "CnC file not created"),
        (CncBytes(version=0), DriverTimeout, "created but not initialised"),
        (CncBytes(heartbeat_ms=0), DriverTimeout, "no driver heartbeat detected"),
        (CncBytes(heartbeat_ms=1000), DriverTimeout, "gave its last heartbeat"),
        (CncBytes(heartbeat_ms=-1), DriverTimeout, "has shut down"),
        (CncBytes(version=1 << 16), VersionError, "has version 1.0.0"),
        (CncBytes(version=1 << 8), VersionError, "a client needs 0.2 or later"),
    ],
)
def test_what_stands_in_the_way_is_named(
    tmp_path: Path, file: CncBytes | None, error: type[AeronError], text: str
) -> None:
    if file is not None:
        file.write(tmp_path)
    with pytest.raises(error, match=text):
        Aeron.connect(aeron_dir=str(tmp_path), driver_timeout_ms=50)


def test_a_broken_file_is_corrupt(tmp_path: Path) -> None:
    file = CncBytes()
    struct.pack_into("<i", file.data, 4, 4711)
    file.write(tmp_path)
    with pytest.raises(CorruptError, match="4711 bytes of to-driver ring"):
        Aeron.connect(aeron_dir=str(tmp_path), driver_timeout_ms=50)


def test_a_live_file_is_connected_to_whatever_its_minor_version(tmp_path: Path) -> None:
    CncBytes(version=3 << 8).write(tmp_path)
    assert is_driver_active(str(tmp_path))
    with Aeron.connect(aeron_dir=str(tmp_path)) as aeron:
        assert aeron.client_id == 0
        assert aeron.context.inter_service_timeout_ns == 10_000_000_000
        assert aeron.next_session_id(5) != aeron.next_session_id(5)  # random: this driver is too old to be asked
        assert commands(tmp_path) == []
    assert commands(tmp_path) == [(CLIENT_CLOSE, struct.pack("<qq", 0, -1))]


def test_a_client_that_ends_by_itself_takes_leave(tmp_path: Path) -> None:
    CncBytes().write(tmp_path)
    errors: list[Exception] = []
    aeron = Aeron.connect(aeron_dir=str(tmp_path), error_handler=errors.append, keepalive_interval_ns=1_000_000)
    name = aeron.async_add_counter(1001, "never there")
    poke(tmp_path, HEARTBEAT_AT, -1)
    until(lambda: bool(errors))
    assert isinstance(errors[0], DriverShutdown)
    until(lambda: [kind for kind, _ in commands(tmp_path)] == [0x09, CLIENT_CLOSE])
    for call in (
        lambda: aeron.get_counter(name),
        lambda: aeron.add_counter(1001, "x"),
        lambda: aeron.counters_reader,
        aeron.next_correlation_id,
        lambda: aeron.add_close_handler(print),
    ):
        with pytest.raises(DriverShutdown, match="the client ended: the media driver in .* has been shutdown"):
            call()
    assert not aeron.has_active_commands
    aeron.close()
    assert [kind for kind, _ in commands(tmp_path)] == [0x09, CLIENT_CLOSE]
    with pytest.raises((DriverShutdown, StateError)):
        aeron.next_correlation_id()


@pytest.mark.parametrize(
    ("later", "kind", "text"),
    [
        (CncBytes(pid=4712, start_ms=5), DriverRestarted, "process 4711 was replaced by process 4712: connect again"),
        (CncBytes(pid=4711, start_ms=5), DriverRestarted, "process 4711 was replaced by process 4711: connect again"),
        (CncBytes(version=1 << 16), DriverUpgraded, "has version 1.0.0"),
        (CncBytes(pid=4712, heartbeat_ms=1000), DriverTimeout, "the limit is"),
        (None, DriverTimeout, "the limit is"),
    ],
)
def test_what_became_of_a_silent_driver_is_looked_up(
    tmp_path: Path, later: CncBytes | None, kind: type[AeronError], text: str
) -> None:
    first = CncBytes()
    first.counter(15, 0, "Errors: version=1.0.0 commit=a", registration_id=15)
    first.write(tmp_path)
    errors: list[Exception] = []
    aeron = Aeron.connect(
        aeron_dir=str(tmp_path), error_handler=errors.append, driver_timeout_ms=1000, keepalive_interval_ns=1_000_000
    )
    (tmp_path / "cnc.dat").unlink()
    if later is not None:
        if later.version == 512:
            later.counter(15, 0, "Errors: version=1.0.0 commit=b", registration_id=15)
        if later.heartbeat_ms > 1000:
            later.ring_field(640, now_ms() + 60_000)  # one that goes on giving heartbeats
        later.write(tmp_path)
    until(lambda: bool(errors))
    assert [type(error) for error in errors] == [kind]
    assert text in str(errors[0])
    aeron.close()


def test_a_driver_of_another_version_is_an_upgrade(tmp_path: Path) -> None:
    for number, version in enumerate(("1.51.0", "1.53.0")):
        file = CncBytes(pid=number, heartbeat_ms=now_ms() + 60_000 * number)
        file.counter(15, 0, f"Errors: version={version} commit=a", registration_id=15)
        if number == 0:
            file.write(tmp_path)
            errors: list[Exception] = []
            aeron = Aeron.connect(
                aeron_dir=str(tmp_path),
                error_handler=errors.append,
                driver_timeout_ms=1000,
                keepalive_interval_ns=1_000_000,
            )
            (tmp_path / "cnc.dat").unlink()
    file.write(tmp_path)
    until(lambda: bool(errors))
    assert isinstance(errors[0], DriverUpgraded)
    assert isinstance(errors[0], VersionError)
    assert "version 1.51.0 by 1.53.0" in str(errors[0])
    aeron.close()


def test_a_drivers_end_is_asked_for_with_a_token(tmp_path: Path) -> None:
    CncBytes().write(tmp_path)
    request_driver_termination(str(tmp_path), b"token")
    ((kind, body),) = commands(tmp_path)
    assert (kind, body[16:]) == (TERMINATE_DRIVER, struct.pack("<i", 5) + b"token")
    with pytest.raises(DriverTimeout):
        request_driver_termination(str(tmp_path / "nowhere"), timeout_ms=20)
