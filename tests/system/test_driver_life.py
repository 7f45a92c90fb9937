"""How a driver starts, stops, is refused, and what closing, forking and exiting do to it."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path

import pytest

from aeronpy.driver import MediaDriver, ThreadingMode
from aeronpy.errors import ActiveError, ArgumentError, StateError
from tests.system import protocol_client as p
from tests.system.clients import run
from tests.system.conftest import SHORT
from tests.system.protocol_client import ProtocolClient, eventually

# --- directory ---


def test_a_second_driver_in_the_directory_is_refused(aeron_dir: str) -> None:
    with MediaDriver.launch(aeron_dir=aeron_dir, **SHORT), pytest.raises(ActiveError, match="Active media driver"):
        MediaDriver.launch(aeron_dir=aeron_dir, **SHORT)


def test_an_embedded_driver_does_not_take_the_directory_of_a_living_one(aeron_dir: str) -> None:
    with MediaDriver.launch(aeron_dir=aeron_dir, **SHORT):
        with pytest.raises(ActiveError, match="Active media driver"):
            MediaDriver.launch_embedded(aeron_dir=aeron_dir, **SHORT)

        client = ProtocolClient(aeron_dir)
        client.first_add()
        client.close()


def test_a_cnc_file_that_no_driver_ever_finished_is_replaced(aeron_dir: str) -> None:
    os.mkdir(aeron_dir)
    (Path(aeron_dir) / "cnc.dat").write_bytes(bytes(1 << 20))

    with MediaDriver.launch(aeron_dir=aeron_dir, **SHORT, driver_timeout=500):
        client = ProtocolClient(aeron_dir)
        client.first_add()
        client.close()


def test_a_directory_without_a_driver_is_used_again(aeron_dir: str) -> None:
    MediaDriver.launch(aeron_dir=aeron_dir, **SHORT).close()
    assert sorted(os.listdir(aeron_dir)) == ["cnc.dat", "images", "loss-report.dat", "publications"]

    with MediaDriver.launch(aeron_dir=aeron_dir, **SHORT):
        client = ProtocolClient(aeron_dir)
        client.first_add()
        client.close()


def test_errors_of_the_driver_before_are_saved_beside_the_directory(aeron_dir: str) -> None:
    with MediaDriver.launch(aeron_dir=aeron_dir, **SHORT):
        client = ProtocolClient(aeron_dir)
        client.first_add()
        client.expect_error(client.add_publication("aeron:ipc?mtu=100", 7), 11)
        client.close()

    MediaDriver.launch(aeron_dir=aeron_dir, **SHORT).close()

    saved = [name for name in os.listdir(os.path.dirname(aeron_dir)) if name.endswith("-error.log")]
    assert len(saved) == 1
    text = (Path(aeron_dir).parent / saved[0]).read_text()
    assert "invalid mtu=100" in text


def test_a_directory_that_is_not_aerons_is_left_alone(aeron_dir: str) -> None:
    os.mkdir(aeron_dir)
    precious = Path(aeron_dir) / "thesis.tex"
    precious.write_text("years of work")

    for settings in ({}, {"dir_delete_on_start": True}):
        with pytest.raises(StateError, match=r"thesis\.tex"):
            MediaDriver.launch(aeron_dir=aeron_dir, **settings)

    assert precious.read_text() == "years of work"


def test_modes_are_those_of_the_umask(aeron_dir: str) -> None:
    mask = os.umask(0o022)
    try:
        with MediaDriver.launch(aeron_dir=aeron_dir, **SHORT):
            modes = {name: os.stat(os.path.join(aeron_dir, name)).st_mode & 0o777 for name in os.listdir(aeron_dir)}
    finally:
        os.umask(mask)

    assert modes == {"cnc.dat": 0o644, "loss-report.dat": 0o644, "publications": 0o755, "images": 0o755}


def test_an_embedded_driver_leaves_no_directory() -> None:
    with MediaDriver.launch_embedded(**SHORT) as driver:
        assert os.path.isdir(driver.aeron_dir)

    assert not os.path.exists(driver.aeron_dir)


@pytest.mark.parametrize(
    "settings",
    [
        {"publication_unblock_timeout": "5s", "client_liveness_timeout": "10s"},
        {"client_liveness_timeout": "1s", "timer_interval": "1s"},
        {"untethered_resting_timeout": "1s"},
        {"term_buffer_length": 100_000},
        {"mtu_length": 1400},
        {"publication_reserved_session_id_low": 5, "publication_reserved_session_id_high": 4},
        {"driver_termination_validator": "maybe"},
        {"conductor_idle_strategy": "lazy"},
    ],
)
def test_settings_that_do_not_fit_are_refused_and_leave_nothing(settings: dict[str, object]) -> None:
    before = os.listdir("/dev/shm")

    with pytest.raises(ArgumentError):
        MediaDriver.launch_embedded(**settings)

    assert [name for name in os.listdir("/dev/shm") if name not in before and name.startswith("aeron-")] == []


def test_two_embedded_drivers_of_one_process_know_nothing_of_each_other() -> None:
    with MediaDriver.launch_embedded(**SHORT) as one, MediaDriver.launch_embedded(**SHORT) as other:
        clients = [ProtocolClient(driver.aeron_dir) for driver in (one, other)]
        clients[0].add_publication("aeron:ipc", 7)
        clients[0].expect(p.COUNTER_READY)
        clients[0].expect(p.PUBLICATION_READY)
        one.close()

        clients[1].first_add()
        assert [c.type_id for c in clients[1].counters().values() if c.type_id not in (0, 11)] == [5000]
        for client in clients:
            client.close()


# --- closing ---


def test_closing_twice_and_from_two_threads_is_fine() -> None:
    driver = MediaDriver.launch_embedded(**SHORT)
    threads = [threading.Thread(target=driver.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(p.DEADLINE_S)
    driver.close()

    assert not driver.is_open
    assert not os.path.exists(driver.aeron_dir)


def test_a_forgotten_driver_is_closed_by_the_garbage_collector() -> None:
    directory = MediaDriver.launch_embedded(**SHORT).aeron_dir
    gc.collect()

    eventually(lambda: not os.path.exists(directory), "the directory is gone")


def test_closing_with_streams_and_clients_in_it_is_clean(driver: MediaDriver, client: ProtocolClient) -> None:
    client.first_add()
    client.add_subscription("aeron:udp?endpoint=127.0.0.1:24396", 7)
    client.expect(p.SUBSCRIPTION_READY)
    client.add_publication("aeron:udp?endpoint=127.0.0.1:24396", 7)
    client.expect(p.PUBLICATION_READY)
    client.expect(p.AVAILABLE_IMAGE)
    client.add_publication("aeron:ipc", 7)
    client.expect(p.PUBLICATION_READY)

    driver.close()

    assert not os.path.exists(driver.aeron_dir)


EXITING = """
import sys
from aeronpy.driver import MediaDriver
driver = MediaDriver.launch_embedded()
print(driver.aeron_dir, flush=True)
if sys.argv[1] == "raise":
    raise KeyError("on purpose")
"""


@pytest.mark.parametrize(("how", "code"), [("return", 0), ("raise", 1)])
def test_an_interpreter_that_exits_with_a_running_driver_ends_it(how: str, code: int) -> None:
    done = run(EXITING, how)

    assert done.returncode == code, done.stderr
    assert not os.path.exists(done.stdout.strip())


FORKING = """
import os, sys
from aeronpy.driver import MediaDriver
from aeronpy.errors import StateError
driver = MediaDriver.launch_embedded(threading_mode=sys.argv[1])
child = os.fork()
if child == 0:
    code = 1
    try:
        driver.do_work()
    except StateError as error:
        code = 7 if "parent" in str(error) else 2
    driver.close()
    assert not driver.is_open
    os.write(1, b"child ")
    os._exit(code) if sys.argv[2] == "_exit" else sys.exit(code)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
assert driver.is_open and os.path.exists(driver.aeron_dir + "/cnc.dat")
from tests.system.protocol_client import ProtocolClient
client = ProtocolClient(driver.aeron_dir)
if sys.argv[1] != "INVOKER":
    client.first_add()
driver.close()
print("parent")
"""


@pytest.mark.parametrize("mode", ["DEDICATED", "INVOKER"])
@pytest.mark.parametrize("how", ["_exit", "exit"])
def test_a_forked_child_refuses_and_touches_nothing(mode: str, how: str) -> None:
    done = run(FORKING, mode, how)

    assert (done.returncode, done.stdout) == (0, "child parent\n"), done.stderr


def test_invoker_mode_works_on_the_callers_thread() -> None:
    with MediaDriver.launch_embedded(**SHORT, threading_mode=ThreadingMode.INVOKER) as driver:
        client = ProtocolClient(driver.aeron_dir)
        correlation = client.command(p.GET_NEXT_AVAILABLE_SESSION_ID, "i", 7)
        assert client.receive() is None
        event = None
        deadline = time.monotonic() + p.DEADLINE_S
        while event is None and time.monotonic() < deadline:
            driver.idle(driver.do_work())
            event = client.receive()
        assert event is not None
        assert event.i64(0) == correlation
        assert client.counter(26).label == "Conductor max cycle time doing its work in ns: INVOKER"
        client.close()


def test_do_work_is_refused_where_threads_run(driver: MediaDriver) -> None:
    with pytest.raises(StateError, match="INVOKER"):
        driver.do_work()
    driver.close()
    with pytest.raises(StateError, match="closed"):
        driver.do_work()


def test_system_counters_say_what_runs(driver: MediaDriver, client: ProtocolClient) -> None:
    from aeronpy import __version__

    counters = client.counters()

    assert sorted(counters) == list(range(46))
    assert all(c.type_id == 0 and c.owner_id == -1 and c.registration_id == i for i, c in counters.items())
    assert counters[34].value == 79104
    assert counters[34].label.startswith(f"Aeron software: version={__version__} commit=")
    assert (counters[43].label, counters[43].value) == ("Control protocol version", 65536)
    assert counters[27].label == "Conductor work cycle exceeded threshold count: threshold=100ms DEDICATED"
    assert counters[33].label == "NameResolver exceeded threshold count: threshold=5s"
    assert counters[45].label == "Failed offers to NativeResourceAgentProxy"
    sizes = sum(os.path.getsize(os.path.join(driver.aeron_dir, name)) for name in ("cnc.dat", "loss-report.dat"))
    assert counters[35].value == sizes
