"""The driver as a process: options, signals, exit codes, what it prints, and what becomes of its directory."""

from __future__ import annotations

import functools
import http.server
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from aeronpy.driver import MediaDriver, MediaDriverContext
from tests.system import protocol_client as p
from tests.system.clients import ROOT, run
from tests.system.conftest import SHORT
from tests.system.protocol_client import ProtocolClient, eventually


def start_executable(aeron_dir: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "aeronpy.cli.driver", f"-Daeron.dir={aeron_dir}", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
    )

    def is_ready() -> bool:
        assert process.poll() is None, process.communicate()
        cnc = Path(aeron_dir) / "cnc.dat"
        head = cnc.read_bytes()[:48] if cnc.exists() else b""
        return head[:4] == b"\0\2\0\0" and head[40:48] == process.pid.to_bytes(8, "little")

    eventually(is_ready, "the driver is ready")
    return process


EARLY_SIGNAL = """
import os, signal
from aeronpy.cli.driver import main
from aeronpy.driver import directory
prepare = directory.prepare
def interrupted(*arguments, **settings):
    os.kill(os.getpid(), signal.SIGTERM)
    prepare(*arguments, **settings)
directory.prepare = interrupted
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("mode", ["DEDICATED", "INVOKER"])
def test_a_signal_ends_the_executable_in_order(aeron_dir: str, number: signal.Signals, mode: str) -> None:
    process = start_executable(aeron_dir, AERON_THREADING_MODE=mode)
    client = ProtocolClient(aeron_dir)

    process.send_signal(number)
    out, err = process.communicate(timeout=20)

    assert (process.returncode, out, err) == (int(number), "Shutting down driver...\n", "")
    assert client.driver_heartbeat_ms() == -1
    client.close()


def test_a_client_ends_the_executable_where_it_may(aeron_dir: str) -> None:
    process = start_executable(aeron_dir, "-Daeron.driver.termination.validator=allow")
    client = ProtocolClient(aeron_dir)

    client.command(p.TERMINATE_DRIVER, "i", 0)
    _, err = process.communicate(timeout=20)

    assert (process.returncode, err) == (0, "")
    client.close()


def test_options_come_from_properties_files_environment_and_flags(aeron_dir: str, tmp_path: Path) -> None:
    properties = tmp_path / "driver.properties"
    properties.write_text("aeron.term.buffer.length=128k\naeron.mtu.length=2k\naeron.publication.linger.timeout=\n")
    process = start_executable(
        aeron_dir,
        "-Daeron.mtu.length=8k",
        "-Daeron.ipc.mtu.length=",
        "-Daeron.ipc.term.buffer.length=1m",
        "-Daeron.print.configuration=true",
        str(properties),
        AERON_IPC_MTU_LENGTH="1k",
        AERON_IPC_TERM_BUFFER_LENGTH="2m",
        AERON_PUBLICATION_LINGER_TIMEOUT="7s",
        AERON_TIMER_INTERVAL="123ms",
    )
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)

    assert err == ""
    lines = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
    assert lines["aeron.term.buffer.length"].startswith("131072 ")
    assert lines["aeron.mtu.length"] == "2048 (property aeron.mtu.length)"  # as with aeronmd, files come last
    assert lines["aeron.ipc.mtu.length"] == "1408 (default)"
    assert lines["aeron.ipc.term.buffer.length"] == "1048576 (property aeron.ipc.term.buffer.length)"
    assert lines["aeron.publication.linger.timeout"] == "5000000000 (default)"
    assert lines["aeron.timer.interval"] == "123000000 (environment AERON_TIMER_INTERVAL)"


@pytest.mark.parametrize("arguments", [["-h"], ["--no-such-option"], ["/no/such/file.properties"], ["-Dnonsense"]])
def test_wrong_use_of_the_executable_fails_with_1(arguments: list[str]) -> None:
    done = run("from aeronpy.cli.driver import main; main()", *arguments)

    assert done.returncode == 1
    assert done.stderr


def test_a_signal_while_it_starts_ends_the_executable_in_order(aeron_dir: str) -> None:
    done = run(EARLY_SIGNAL, f"-Daeron.dir={aeron_dir}")

    assert (done.returncode, done.stdout, done.stderr) == (int(signal.SIGTERM), "Shutting down driver...\n", "")


@pytest.mark.parametrize("place", ["file", "file/below", "link"])
def test_a_place_that_cannot_be_a_directory_fails_the_executable_with_one_line(aeron_dir: str, place: str) -> None:
    base = Path(aeron_dir).parent
    (base / "file").write_text("not a directory")
    (base / "precious").mkdir()
    (base / "link").symlink_to(base / "precious")

    done = run("from aeronpy.cli.driver import main; main()", f"-Daeron.dir={base / place}")

    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr.splitlines()) == 1
    assert (base / "precious").is_dir()


def test_an_active_directory_fails_the_executable_with_1(aeron_dir: str) -> None:
    with MediaDriver.launch(MediaDriverContext(aeron_dir=aeron_dir, **SHORT)):
        done = run("from aeronpy.cli.driver import main; main()", f"-Daeron.dir={aeron_dir}")

    assert done.returncode == 1
    assert "Active media driver detected" in done.stderr


def test_the_version_is_printed() -> None:
    done = run("from aeronpy.cli.driver import main; main()", "-v")

    assert done.returncode == 0
    assert "<aeron version=" in done.stdout


def finish(process: subprocess.Popen[str]) -> str:
    """Its output, after an orderly end by SIGTERM."""
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (int(signal.SIGTERM), "")
    return out


def test_properties_are_fetched_over_http(aeron_dir: str, tmp_path: Path) -> None:
    (tmp_path / "driver.properties").write_text("aeron.term.buffer.length=256k\naeron.print.configuration=on\n")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/driver.properties"
        process = start_executable(aeron_dir, url, http_proxy="http://127.0.0.1:9")
        server.shutdown()

    assert "aeron.term.buffer.length=262144 (property aeron.term.buffer.length)" in finish(process)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "file:///no/such/file"])
def test_properties_that_cannot_be_fetched_fail_the_executable(url: str) -> None:
    done = run("from aeronpy.cli.driver import main; main()", url)

    assert done.returncode == 1
    assert url in done.stderr


def test_a_misspelt_option_is_a_warning_with_the_nearest_name(aeron_dir: str) -> None:
    process = start_executable(
        aeron_dir, "-Daeron.term.bufer.length=64k", "-Daeron.SendChannelEndpoint.supplier=x", "-Daeron.archive.dir=/x"
    )

    out = finish(process)
    assert "no option aeron.term.bufer.length: did you mean 'aeron.term.buffer.length'?" in out
    assert "aeron.SendChannelEndpoint.supplier has no effect" in out
    assert "aeron.archive.dir" not in out


def test_a_stale_directory_is_replaced_with_a_warning_where_wished(aeron_dir: str) -> None:
    MediaDriver.launch(aeron_dir=aeron_dir, **SHORT).close()
    process = start_executable(aeron_dir, "-Daeron.dir.warn.if.exists=true", "-Daeron.dir.delete.on.shutdown=true")

    out = finish(process)
    assert "exists already" in out
    assert "heartbeat" in out
    assert not os.path.exists(aeron_dir)


def test_files_are_private_where_wished(aeron_dir: str) -> None:
    mask = os.umask(0o022)
    try:
        with MediaDriver.launch(aeron_dir=aeron_dir, **SHORT, dir_permissions="0700"):
            client = ProtocolClient(aeron_dir)
            client.first_add()
            client.add_publication("aeron:ipc", 7)
            client.expect(p.PUBLICATION_READY)
            found = {path: stat.S_IMODE(path.stat().st_mode) for path in Path(aeron_dir).rglob("*")}
            client.close()
    finally:
        os.umask(mask)

    assert stat.S_IMODE(os.stat(aeron_dir).st_mode) == 0o700
    assert len(found) == 5
    assert {mode for path, mode in found.items() if path.is_file()} == {0o600}
    assert {mode for path, mode in found.items() if path.is_dir()} == {0o700}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"mtu_length": 65504, "socket_so_sndbuf": 4096}, "mtu_length is 65504.*SO_SNDBUF"),
        ({"rcv_initial_window_length": 1 << 20, "socket_so_rcvbuf": 65536}, "rcv_initial_window_length.*SO_RCVBUF"),
    ],
)
def test_sockets_that_are_too_small_are_found_at_start(settings: dict[str, int], sentence: str) -> None:
    from aeronpy.errors import ArgumentError

    with pytest.raises(ArgumentError, match=sentence):
        MediaDriver.launch_embedded(**settings)


def test_a_processor_that_is_not_there_is_an_error_in_the_log_and_no_end() -> None:
    with MediaDriver.launch_embedded(**SHORT, sender_cpu_affinity=250) as driver:
        client = ProtocolClient(driver.aeron_dir)
        client.first_add()
        assert client.counter(15).value == 1
        client.close()


def threads_of(pid: int) -> dict[str, int]:
    """Names of a process's threads, and how many processors each may use."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        status = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
        found[status["Name"].strip()] = status["Cpus_allowed_list"].strip()
    return found


@pytest.mark.parametrize(
    ("mode", "naming", "names"),
    [
        ("DEDICATED", "classic", {"conductor", "sender", "receiver"}),
        ("DEDICATED", "new", {"aeron-md-cnd", "aeron-md-snd", "aeron-md-rcv"}),
        ("SHARED_NETWORK", "classic", {"conductor", "[sender, receiv"}),
        ("SHARED_NETWORK", "new", {"aeron-md-cnd", "aeron-md-net"}),
        ("SHARED", "classic", {"[conductor, sen"}),
        ("SHARED", "new", {"aeron-md-shd"}),
    ],
)
def test_threads_have_their_names_and_processors(aeron_dir: str, mode: str, naming: str, names: set[str]) -> None:
    first = min(os.sched_getaffinity(0))
    cpus = {f"AERON_{agent}_CPU_AFFINITY": str(first) for agent in ("CONDUCTOR", "SENDER", "RECEIVER")}
    process = start_executable(aeron_dir, AERON_THREADING_MODE=mode, AERON_THREAD_NAMING=naming, **cpus)
    threads = threads_of(process.pid)
    finish(process)

    assert names <= set(threads)
    assert {threads[name] for name in names} == {str(first)}


def test_the_resource_agent_has_its_processor_as_a_place_in_the_set_of_the_process(aeron_dir: str) -> None:
    last = max(os.sched_getaffinity(0))
    place = len(os.sched_getaffinity(0)) - 1
    variables = {"AERON_DRIVER_NATIVE_RESOURCE_AGENT_CPU_AFFINITY": str(place), "AERON_DRIVER_CPUSET_AFFINITY": "1"}
    process = start_executable(aeron_dir, **variables)
    client = ProtocolClient(aeron_dir)
    client.first_add()
    client.add_publication("aeron:ipc?term-length=64k", 7)
    client.expect(p.PUBLICATION_READY)  # its log is made: by the agent
    threads = threads_of(process.pid)
    client.close()
    finish(process)

    assert threads["aeron-md-nra"] == str(last)
