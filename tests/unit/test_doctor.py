"""What the doctor finds: each trouble made on purpose, its name, its severity, and that it never raises."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aeronpy.diagnosis import diagnosed
from aeronpy.driver import MediaDriverContext
from aeronpy.errors import ActiveError, AeronError, ArgumentError
from aeronpy.observe import doctor
from aeronpy.observe.checks import space
from aeronpy.observe.doctor import advice, findings
from aeronpy.observe.finding import Finding, Severity
from aeronpy.observe.patient import Intent
from tests.unit.cli_runs import in_terminal, run
from tests.unit.cnc_files import ERRORS_AT, RING_AT, CncBytes, loss_entry, stream_key, write_loss
from tests.unit.log_files import LogBytes

CHANNEL = "aeron:udp?endpoint=127.0.0.1:40456"
LONG_AGO_MS = 1_700_000_000_000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
def aeron_dir(tmp_path: Path) -> Path:
    made = tmp_path / "aeron-test"
    made.mkdir()
    return made


def found(aeron_dir: Path | str, check: str, **arguments: Any) -> Finding:
    """The one finding of that name."""
    all_found = findings(aeron_dir, **arguments)
    matching = [each for each in all_found if each.check == check]
    assert len(matching) == 1, all_found
    return matching[0]


def healthy(aeron_dir: Path, change: Callable[[CncBytes], None] = lambda _: None, **fields: int) -> Path:
    """A driver in which nothing is wrong but what is changed: its pid is this process's."""
    written = CncBytes(pid=os.getpid(), **fields)
    written.counter(0, 0, "Bytes sent", 9, key=struct.pack("<i", 0))
    change(written)
    written.write(aeron_dir)
    write_loss(aeron_dir)
    return aeron_dir


def test_nothing_is_wrong_with_a_driver_in_order(aeron_dir: Path) -> None:
    bad = [each for each in findings(healthy(aeron_dir)) if each.severity.rank > Severity.NOTE.rank]
    assert bad == []
    assert found(aeron_dir, "driver.alive").severity is Severity.OK
    assert found(aeron_dir, "counters.room").limit == 64
    assert advice(aeron_dir) == ""


@pytest.mark.parametrize(
    ("make", "check"),
    [
        (lambda path: path.rmdir(), "directory.missing"),
        (lambda path: (path.rmdir(), path.touch()), "directory.file"),
        (lambda path: None, "directory.no-cnc"),
        (lambda path: (path / "notes.txt").touch(), "directory.foreign"),
        (lambda path: (path / "cnc.dat").write_bytes(bytes(64)), "cnc.corrupt"),
        (lambda path: os.mkfifo(path / "cnc.dat"), "cnc.unreadable"),
        (lambda path: CncBytes(version=0x020000).write(path), "cnc.version"),
        (lambda path: healthy(path, heartbeat_ms=-1), "driver.shut-down"),
    ],
)
def test_a_directory_in_which_no_driver_can_be_used_is_an_error(
    aeron_dir: Path, make: Callable[[Path], object], check: str
) -> None:
    make(aeron_dir)
    finding = found(aeron_dir, check)
    assert finding.severity is Severity.ERROR
    assert str(aeron_dir) in finding.what
    assert finding.remedy != ""
    assert finding.what in advice(aeron_dir)


def test_a_driver_that_lives_elsewhere_is_named(aeron_dir: Path, tmp_path: Path) -> None:
    healthy(aeron_dir)
    other = tmp_path / "aeron-other"
    assert str(aeron_dir) in found(other, "directory.missing").remedy
    other.mkdir()
    assert str(aeron_dir) in found(other, "directory.no-cnc").remedy
    (other / "notes.txt").touch()
    assert str(aeron_dir) in found(other, "directory.foreign").remedy


def test_a_start_that_failed_is_told_from_one_that_is_going_on(aeron_dir: Path) -> None:
    CncBytes(version=0).write(aeron_dir)
    assert found(aeron_dir, "driver.starting").severity is Severity.NOTE
    os.utime(aeron_dir / "cnc.dat", (1, 1))
    assert found(aeron_dir, "driver.start-failed").severity is Severity.ERROR


def test_a_process_that_is_gone_stopped_or_another_is_told_apart(aeron_dir: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:

        def silent(written: CncBytes) -> None:
            struct.pack_into("<q", written.data, 40, process.pid)

        healthy(aeron_dir, silent, heartbeat_ms=LONG_AGO_MS)
        assert found(aeron_dir, "driver.silent").value == pytest.approx(now_ms() - LONG_AGO_MS, abs=60_000)
        process.send_signal(19)
        deadline = time.monotonic() + 20
        while not any(each.check == "driver.stopped" for each in findings(aeron_dir)):
            assert time.monotonic() < deadline
        assert f"kill -CONT {process.pid}" in found(aeron_dir, "driver.stopped").remedy
        process.kill()
        process.wait(20)
        assert found(aeron_dir, "driver.dead").limit == 10_000
        assert found(aeron_dir, "directory.stale").value is not None


def test_a_heartbeat_that_is_late_or_ahead_is_a_warning(aeron_dir: Path) -> None:
    healthy(aeron_dir, heartbeat_ms=now_ms() - 5_000)
    assert found(aeron_dir, "driver.late").severity is Severity.WARNING
    healthy(aeron_dir, heartbeat_ms=now_ms() + 60_000)
    assert found(aeron_dir, "driver.clock").severity is Severity.WARNING


@pytest.mark.parametrize(
    ("change", "check", "severity", "value"),
    [
        (lambda w: w.counter(1, 0, "Invalid packets", 3, key=struct.pack("<i", 14)), "counter.14", "warning", 3),
        (lambda w: w.counter(1, 0, "Client timeouts", 1, key=struct.pack("<i", 24)), "counter.24", "warning", 1),
        (lambda w: w.counter(1, 0, "Retransmits", 8, key=struct.pack("<i", 11)), "counter.11", "note", 8),
        (lambda w: [w.counter(each, 1000, "mine") for each in range(1, 60)], "counters.room", "warning", 60),
        (lambda w: [w.counter(each, 1000, "mine") for each in range(1, 64)], "counters.room", "error", 64),
        (lambda w: w.counter(1, 6, "snd-channel: aeron:udp?x", -1), "channel.errored", "error", None),
        (lambda w: w.error("unknown host nowhere", 2, 5, 5), "errors.recorded", "warning", 1),
        (lambda w: w.error("x" * 4000, 2, 5, 5), "errors.room", "warning", 4024),
        (lambda w: w.ring_field(128, 3000), "commands.waiting", "warning", 3000),
    ],
)
def test_what_the_driver_reports_is_weighed(
    aeron_dir: Path, change: Callable[[CncBytes], None], check: str, severity: str, value: int | None
) -> None:
    finding = found(healthy(aeron_dir, change), check)
    assert (finding.severity, finding.value) == (severity, value)
    assert finding.remedy != ""


def test_a_client_that_is_late_is_named(aeron_dir: Path) -> None:
    def client(written: CncBytes) -> None:
        label = "client-heartbeat: id=5 name=prices"
        written.counter(1, 11, label, now_ms() - 7_000, key=struct.pack("<q", 5))

    finding = found(healthy(aeron_dir, client), "client.late")
    assert "name=prices" in finding.what
    assert finding.limit == 10_000


def test_loss_is_summed_and_its_worst_stream_named(aeron_dir: Path) -> None:
    healthy(aeron_dir)
    entries = [loss_entry((1, size, 3, 4, 5, 1001), CHANNEL, source) for size, source in ((100, "a:1"), (900, "b:2"))]
    write_loss(aeron_dir, *entries)
    finding = found(aeron_dir, "loss.seen")
    assert finding.value == 1000
    assert "from b:2" in finding.what


def test_promises_beyond_the_free_space_are_an_error(aeron_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    healthy(aeron_dir)
    path = LogBytes().write(aeron_dir / "publications" / "7.logbuffer")
    with path.open("r+b") as file:  # a sparse log of the same metadata
        metadata = path.read_bytes()[-4096:]
        file.truncate(0)
        file.truncate(3 * 65536)
        file.seek(3 * 65536)
        file.write(metadata)
    assert found(aeron_dir, "space.promised").value == 3 * 65536
    real = os.statvfs(aeron_dir)
    fields = list(real)
    fields[4] = 2  # blocks available
    monkeypatch.setattr(space.os, "statvfs", lambda _: os.statvfs_result(fields))
    finding = found(aeron_dir, "space.promised")
    assert (finding.severity, finding.limit) == (Severity.ERROR, 2 * real.f_frsize)
    assert "SIGBUS" in finding.what
    assert found(aeron_dir, "space.next-log").severity is Severity.WARNING


def test_room_is_measured_against_what_a_stream_takes(aeron_dir: Path) -> None:
    healthy(aeron_dir)
    system = os.statvfs(aeron_dir)
    total, free = system.f_blocks * system.f_frsize, system.f_bavail * system.f_frsize
    assert found(aeron_dir, "space.size", intent=Intent(ipc_term_length=total)).severity is Severity.WARNING
    small = Intent(term_length=65536, ipc_term_length=65536, low_storage_threshold=2 * free)
    assert found(aeron_dir, "space.low", intent=small).limit == 2 * free
    assert found(
        aeron_dir, "space.free", intent=Intent(term_length=65536, ipc_term_length=65536, low_storage_threshold=0)
    )


def test_buffers_that_the_kernel_does_not_give_are_weighed(tmp_path: Path) -> None:
    rmem_max = int(Path("/proc/sys/net/core/rmem_max").read_text())
    wmem_max = int(Path("/proc/sys/net/core/wmem_max").read_text())
    nowhere = tmp_path / "aeron-none"
    asked = found(nowhere, "sockets.rcvbuf", intent=Intent(so_rcvbuf=rmem_max + 1))
    assert (asked.severity, asked.value, asked.limit) == (Severity.WARNING, rmem_max + 1, rmem_max)
    assert f"net.core.rmem_max={max(rmem_max + 1, 2 << 20)}" in asked.remedy
    tight = found(nowhere, "sockets.window", intent=Intent(so_rcvbuf=65536, receiver_window=131072))
    assert (tight.severity, tight.value, tight.limit) == (Severity.WARNING, 131072, 65536)
    # A driver compares with what the kernel reports, which is twice what it gives.
    refused = found(nowhere, "sockets.window", intent=Intent(so_rcvbuf=65536, receiver_window=131072 + 32))
    assert (refused.severity, refused.limit) == (Severity.ERROR, 131072)
    assert found(nowhere, "sockets.sndbuf", intent=Intent(so_sndbuf=wmem_max + 1)).limit == wmem_max
    assert found(nowhere, "sockets.mtu", intent=Intent(so_sndbuf=8192, mtu=65504)).severity is Severity.ERROR


def test_an_image_whose_window_exceeds_its_buffer_is_a_warning(aeron_dir: Path) -> None:
    healthy(aeron_dir)
    image = LogBytes(kind=2, receiver_window=1 << 20, socket_rcvbuf=2 << 20, os_max_rcvbuf=16_384)
    image.write(aeron_dir / "images" / "99.logbuffer")
    finding = found(aeron_dir, "sockets.window")
    # Half a term of 64 KiB is all that a window may be.
    assert (finding.severity, finding.value, finding.limit) == (Severity.WARNING, 32_768, 16_384)
    assert "image 99" in finding.what


def test_datagrams_that_the_kernel_drops_are_seen(aeron_dir: Path) -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as full,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out,
    ):
        full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        full.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{full.getsockname()[1]}"
        for _ in range(100):
            out.sendto(bytes(1400), full.getsockname())

        def bound(written: CncBytes) -> None:
            key = struct.pack("<ii", 1, len(address)) + address.encode()
            written.counter(1, 14, f"rcv-local-sockaddr: 1 {address}", 1, key=key)

        finding = found(healthy(aeron_dir, bound), "sockets.drops")
    assert address in finding.what
    assert isinstance(finding.value, int)
    assert 50 < finding.value <= 100


def names(channel: str) -> Callable[[CncBytes], None]:
    def change(written: CncBytes) -> None:
        written.counter(1, 1, f"pub-lmt: 7 5 10 {channel}", 1, key=stream_key(7, 5, 10, channel))

    return change


def test_names_that_do_not_resolve_are_errors_when_asked_for(aeron_dir: Path) -> None:
    healthy(aeron_dir, names("aeron:udp?endpoint=no-such-host.invalid:4000"))
    assert not any(each.check.startswith("names.unknown") for each in findings(aeron_dir))
    asked = [each for each in findings(aeron_dir, resolve_names=True) if each.check in ("names.unknown", "names.slow")]
    assert [each.severity for each in asked] == [Severity.ERROR]
    assert "no-such-host.invalid" in asked[0].what


def test_a_name_that_resolves_is_fine_and_loopback_is_noted(aeron_dir: Path) -> None:
    healthy(aeron_dir, names("aeron:udp?endpoint=localhost:4000"))
    assert found(aeron_dir, "names.resolve", resolve_names=True).severity is Severity.OK
    assert found(aeron_dir, "names.loopback").severity is Severity.NOTE


def test_a_check_that_fails_is_a_note_and_the_rest_goes_on(aeron_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> list[Finding]:
        raise RuntimeError("out of order")

    monkeypatch.setattr(doctor, "CLIENT_CHECKS", (broken, *doctor.CLIENT_CHECKS))
    all_found = findings(healthy(aeron_dir))
    assert any("RuntimeError: out of order" in each.what for each in all_found)
    assert any(each.check == "driver.alive" for each in all_found)
    assert advice(aeron_dir) == ""


def test_errors_carry_what_the_doctor_finds(tmp_path: Path) -> None:
    nowhere = tmp_path / "aeron-none"
    with pytest.raises(ActiveError) as raised, diagnosed(str(nowhere)):
        raise ActiveError("no driver", -11)
    assert str(raised.value).startswith(f"no driver\n  error: there is no directory {nowhere}; start a media driver")
    assert raised.value.code == -11
    with pytest.raises(KeyError, match="^'x'$"), diagnosed(str(nowhere)):
        raise KeyError("x")
    live = healthy_at(tmp_path)
    with pytest.raises(AeronError, match="^fine$"), diagnosed(str(live)):
        raise AeronError("fine")
    with pytest.raises(ArgumentError, match="^no number$"), diagnosed(str(nowhere)):
        raise ArgumentError("no number")


def test_a_driver_that_cannot_start_hears_of_what_is_in_its_way_only(tmp_path: Path) -> None:
    nowhere = tmp_path / "aeron-none"
    assert advice(nowhere, MediaDriverContext()) == ""
    assert "so_rcvbuf is more than" in advice(nowhere, MediaDriverContext(socket_so_rcvbuf=(1 << 31) - 1))
    taken = advice(healthy_at(tmp_path), MediaDriverContext())
    name = Path("/proc/self/comm").read_text().strip()
    assert f"error: the driver with pid {os.getpid()} ({name}) has {tmp_path / 'aeron-live'}" in taken


def healthy_at(tmp_path: Path) -> Path:
    made = tmp_path / "aeron-live"
    made.mkdir()
    return healthy(made)


@pytest.mark.parametrize("path", ["", "a\0b", "/proc/1/fd", "x" * 5000])
def test_paths_that_cannot_be_do_not_raise(path: str) -> None:
    assert any(each.severity is Severity.ERROR for each in findings(path))


def test_the_command_tells_by_its_exit_code(aeron_dir: Path) -> None:
    healthy(aeron_dir)
    fine = run("doctor", "-d", aeron_dir)
    assert fine.exit_code == 0, fine.output
    healthy(aeron_dir, lambda w: w.error("bad", 1, 5, 5))
    warned = run("doctor", "-d", aeron_dir)
    assert warned.exit_code == 4
    (line,) = [line for line in warned.output.splitlines() if line.startswith("warning")]
    assert line.split("\t")[:4] == [
        "warning",
        "errors.recorded",
        "the driver recorded errors, the last: bad",
        "1 distinct",
    ]
    gone = run("doctor", "-d", aeron_dir / "gone", "--json")
    assert gone.exit_code == 5
    told = json.loads(gone.output)
    assert told["worst"] == "error"
    assert told["findings"][0]["check"] == "directory.missing"
    assert {"severity", "what", "value", "limit", "unit", "remedy"} < set(told["findings"][0])


def test_the_command_asks_what_the_environment_asks_for(tmp_path: Path) -> None:
    result = run("doctor", "-d", tmp_path / "none", AERON_SOCKET_SO_RCVBUF="64k")
    assert "sockets.window\t" in result.output


@contextmanager
def beating(aeron_dir: Path) -> Iterator[None]:
    """Keep the heartbeat young while another process takes its time to start and to look."""
    stop = threading.Event()

    def beat() -> None:
        with (aeron_dir / "cnc.dat").open("r+b", buffering=0) as file:
            while not stop.wait(0.05):
                os.pwrite(file.fileno(), struct.pack("<q", now_ms()), RING_AT + 4096 + 640)

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_people_see_severity_measure_and_remedy(aeron_dir: Path) -> None:
    healthy(aeron_dir, lambda w: w.error("bad\x1b[2J", 1, 5, 5))
    with beating(aeron_dir):
        seen, code = in_terminal("doctor", "-d", aeron_dir, "--all")
    assert code == 4
    for words in (
        "warning",
        "the driver recorded errors",
        "do: see aeronpy errors",
        "1 warning",
        "checks are fine",
        "GiB",
    ):
        assert words in seen
    assert "\x1b[2J" not in seen


def test_sections_that_are_torn_do_not_raise(aeron_dir: Path) -> None:
    whole = bytes(healthy(aeron_dir).joinpath("cnc.dat").read_bytes())
    for length in (0, 127, 128, RING_AT + 100, ERRORS_AT + 10):
        (aeron_dir / "cnc.dat").write_bytes(whole[:length])
        assert any(each.check == "cnc.corrupt" for each in findings(aeron_dir)), length
