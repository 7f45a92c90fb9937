"""What must never crash or hang a process with a client in it: exits, forks, signals, dead drivers, races to close."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aeronpy import Aeron, MediaDriver, OfferResult
from aeronpy.errors import (
    AeronTimeoutError,
    ClientTimeout,
    DriverRestarted,
    DriverShutdown,
    DriverTimeout,
    PublicationClosed,
    StateError,
)
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
CHANNEL = "aeron:ipc?term-length=64k"
DEADLINE_S = 30.0
# What every program begins with: a client with a stream that has something in it.
PROLOGUE = """
import os, signal, sys, threading, time
from aeronpy import Aeron
from aeronpy.errors import *
aeron = Aeron.connect(aeron_dir=sys.argv[1])
subscription = aeron.add_subscription("aeron:ipc?term-length=64k", 5)
publication = aeron.add_publication("aeron:ipc?term-length=64k", 5)
publication.send(b"first")
subscription.wait(10)
counter = aeron.add_counter(1001, "mine")
"""


@pytest.fixture(scope="module")
def driver() -> Iterator[MediaDriver]:
    with MediaDriver.launch_embedded(client_liveness_timeout="2s", timer_interval="100ms") as driver:
        yield driver


def start(driver: MediaDriver, program: str) -> subprocess.Popen[str]:
    code = PROLOGUE + textwrap.dedent(program)
    return subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-c", code, driver.aeron_dir],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def run(driver: MediaDriver, program: str, expected: int = 0) -> str:
    """What a program printed; it must end by itself, with the expected code and without an error's text."""
    process = start(driver, program)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == expected, err
    assert expected != 0 or err == ""
    return out


@pytest.mark.parametrize(
    "last",
    [
        "",
        "batch = subscription.poll_batch()",
        "claim = publication.try_claim(8)",
        "view = []; subscription.poll(lambda buffer, header: view.append(memoryview(buffer)))",
        "sys.exit(0)",
        "aeron.cycle = aeron; del aeron, subscription, publication",
        "thread = threading.Thread(target=lambda: subscription.wait(None), daemon=True); thread.start()",
        "aeron.close(); aeron.close(); publication.close(); subscription.close(); counter.close()",
        "messages = subscription.messages(); next(messages)",
    ],
)
def test_the_interpreter_exits_whatever_is_open(driver: MediaDriver, last: str) -> None:
    assert run(driver, last + '\nprint("end")' if "exit" not in last else last) in ("end\n", "")


def test_a_forked_child_refuses_and_its_parent_goes_on(driver: MediaDriver) -> None:
    out = run(
        driver,
        """
        batch = subscription.poll_batch()
        def refused(call):
            try:
                call()
            except StateError as error:
                assert "fork" in str(error), error
            else:
                raise AssertionError("the call was not refused")
        child = os.fork()
        if child == 0:
            for call in (
                lambda: publication.offer(b"x"), lambda: publication.send(b"x"), lambda: publication.try_claim(4),
                lambda: publication.offer_batch((b"x", [1])), lambda: publication.position,
                lambda: subscription.poll(print), lambda: subscription.poll_batch(), lambda: subscription.wait(1),
                lambda: subscription.controlled_poll(print), lambda: subscription.poll_native(1),
                lambda: subscription.images[0].position, lambda: subscription.images[0].poll(print),
                lambda: counter.set(1), lambda: aeron.next_correlation_id(), lambda: aeron.counters_reader.value(0),
                lambda: aeron.add_publication("aeron:ipc", 9),
            ):
                refused(call)
            assert "made before a fork" in repr(subscription.images[0])
            repr(publication), repr(subscription), repr(batch), repr(counter), repr(aeron)
            batch.close()
            publication.close(); subscription.close(); counter.close(); aeron.close()
            del batch, publication, subscription, counter, aeron
            sys.exit(7)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 7
        assert len(batch) == 1
        batch.close()
        publication.send(b"second")
        print([message.payload for message in subscription.messages(limit=1)], aeron.is_closed)
        """,
    )
    assert out == "[b'second'] False\n"


@pytest.mark.parametrize(
    "wait",
    [
        "subscription.poll(lambda buffer, header: None); subscription.wait(None)",
        "list(subscription.messages())",
        "aeron.add_publication('aeron:ipc?alias=x', 6).send(b'x', timeout_s=None)",
        "Aeron.connect(aeron_dir='/dev/shm/there-is-no-driver-here', driver_timeout_ms=60_000)",
    ],
)
def test_ctrl_c_ends_a_wait_at_once(driver: MediaDriver, wait: str) -> None:
    process = start(
        driver,
        f"""
        print("waiting", flush=True)
        try:
            {wait}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    time.sleep(0.2)  # into the wait; earlier would only make the test easier
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert time.monotonic() - sent < 5
    _, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, err) == (0, "")


def test_a_client_outlives_a_stalled_interpreter(driver: MediaDriver) -> None:
    """The GIL is held for longer than the driver waits for a client."""
    with Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        subscription = aeron.add_subscription(CHANNEL, 7)
        publication = aeron.add_publication(CHANNEL, 7)
        publication.send(b"before")

        ctypes.PyDLL(None).usleep(3_000_000)

        publication.send(b"after")
        assert [message.payload for message in subscription.messages(limit=2)] == [b"before", b"after"]
        assert not aeron.is_closed


def test_a_stopped_client_is_told_when_it_wakes(driver: MediaDriver) -> None:
    process = start(
        driver,
        """
        print(aeron.client_id, flush=True)
        sys.stdin.readline()
        while not aeron.is_closed:
            time.sleep(0.01)
        try:
            aeron.add_publication("aeron:ipc", 9)
        except (ClientTimeout, ConductorServiceTimeout, AeronError) as error:
            print(type(error).__name__, publication.offer(b"x").name, subscription.poll(print), flush=True)
        """,
    )
    assert process.stdout is not None
    client_id = int(process.stdout.readline())
    with Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        until(lambda: aeron.counters_reader.find_by_key(11, client_id) is not None)
        process.send_signal(signal.SIGSTOP)
        until(lambda: aeron.counters_reader.find_by_key(11, client_id) is None)
    process.send_signal(signal.SIGCONT)
    out, _ = process.communicate(timeout=DEADLINE_S)
    name, offered, polled = out.split()
    assert name in (ClientTimeout.__name__, "ConductorServiceTimeout", "AeronError")
    assert (offered, polled) == ("CLOSED", "0")


def start_driver(aeron_dir: Path) -> subprocess.Popen[bytes]:
    code = (
        "import sys; from aeronpy import MediaDriver; driver = MediaDriver.launch(aeron_dir=sys.argv[1]);"
        "print(flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(aeron_dir)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


@pytest.fixture
def shm_dir() -> Iterator[Path]:
    import shutil
    import tempfile

    base = Path(tempfile.mkdtemp(prefix="aeronpy-client-safety-", dir="/dev/shm"))
    yield base / "driver"
    shutil.rmtree(base, ignore_errors=True)


def test_a_killed_driver_is_reported_and_everything_answers(shm_dir: Path) -> None:
    process = start_driver(shm_dir)
    errors: list[Exception] = []
    closed: list[str] = []
    try:
        aeron = Aeron.connect(
            aeron_dir=str(shm_dir),
            driver_timeout_ms=1500,
            error_handler=errors.append,
            close_handler=lambda: closed.append("closed"),
        )
        subscription = aeron.add_subscription(CHANNEL, 8)
        publication = aeron.add_publication(CHANNEL, 8)
        publication.send(b"x")
        until(lambda: subscription.is_connected)
        image = subscription.images[0]
        process.kill()
        process.wait(DEADLINE_S)

        waiting: list[BaseException] = []

        def send_for_ever() -> None:
            try:
                while True:
                    publication.send(bytes(1000), timeout_s=None)
            except PublicationClosed as error:
                waiting.append(error)

        thread = threading.Thread(target=send_for_ever)
        thread.start()
        until(lambda: bool(errors))
        thread.join(DEADLINE_S)
        assert len(waiting) == 1
        assert isinstance(errors[0], DriverTimeout)
        assert closed == ["closed"]
        assert publication.offer(b"x") is OfferResult.CLOSED
        assert subscription.poll(lambda buffer, header: None) == 0
        assert image.is_closed
        assert image.position == 0
        assert aeron.is_closed
        with pytest.raises(DriverTimeout, match="heartbeat"):
            aeron.add_publication(CHANNEL, 9)
        aeron.close()
        assert closed == ["closed"]
    finally:
        process.kill()
        process.wait(DEADLINE_S)


def test_a_restarted_driver_is_told_apart_before_the_timeout(shm_dir: Path) -> None:
    import shutil

    processes = [start_driver(shm_dir)]
    errors: list[Exception] = []
    try:
        aeron = Aeron.connect(aeron_dir=str(shm_dir), driver_timeout_ms=20_000, error_handler=errors.append)
        publication = aeron.add_publication(CHANNEL, 8)
        processes[0].kill()
        processes[0].wait(DEADLINE_S)
        shutil.rmtree(shm_dir)
        processes.append(start_driver(shm_dir))
        killed = time.monotonic()
        until(lambda: bool(errors))
        assert time.monotonic() - killed < 19
        assert [type(error) for error in errors] == [DriverRestarted]
        assert f"process {processes[0].pid} was replaced by process {processes[1].pid}" in str(errors[0])
        assert publication.offer(b"x") is OfferResult.CLOSED
        with Aeron.connect(aeron_dir=str(shm_dir)) as after:
            assert not after.add_publication(CHANNEL, 8).is_closed
    finally:
        for process in processes:
            process.kill()
            process.wait(DEADLINE_S)


def test_a_call_says_what_ended_the_client_before_its_handlers_do(shm_dir: Path) -> None:
    """The core knows of the end at once; the thread that runs handlers may be busy with one of them for long."""
    busy, go_on = threading.Event(), threading.Event()
    errors: list[Exception] = []

    def hold(image: object) -> None:
        busy.set()
        assert go_on.wait(DEADLINE_S)

    driver = MediaDriver.launch(aeron_dir=str(shm_dir))
    with Aeron.connect(aeron_dir=str(shm_dir), error_handler=errors.append) as aeron:
        publication = aeron.add_publication(CHANNEL, 12)
        aeron.add_counter(1001, "of the client")
        aeron.async_add_subscription(CHANNEL, 12, hold)
        try:
            assert busy.wait(DEADLINE_S)
            driver.close()
            until(lambda: aeron._core.termination is not None)
            for call in (
                lambda: aeron.add_publication(CHANNEL, 13),
                lambda: aeron.async_add_counter(1001, "x"),
                lambda: aeron.next_session_id(1),
                lambda: publication.add_destination("aeron:udp?endpoint=127.0.0.1:9"),
            ):
                with pytest.raises(DriverShutdown, match=r"the client ended: .* has been shutdown; .*connect again"):
                    call()
            assert errors == []
        finally:
            go_on.set()
        until(lambda: bool(errors))
        assert aeron.is_closed
        with pytest.raises(PublicationClosed, match="since the client ended: .* has been shutdown"):
            publication.send(b"x")


def test_an_image_that_cannot_be_mapped_is_reported_with_what_it_means(driver: MediaDriver) -> None:
    process = start(
        driver,
        """
        import resource
        other = Aeron.connect(aeron_dir=sys.argv[1], error_handler=lambda error: print(error, flush=True))
        lonely = other.add_subscription("aeron:ipc?term-length=64k", 31)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        print("READY", flush=True)
        sys.stdin.readline()
        """,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "READY\n"
    with Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        publication = aeron.add_exclusive_publication(CHANNEL, 31)
        told = process.stdout.readline()
    assert f"the image of session {publication.session_id} on {CHANNEL} stream 31 cannot be used here" in told
    assert "Too many open files" in told
    assert "its publisher waits for this subscription until that is closed" in told
    out, err = process.communicate("\n", timeout=DEADLINE_S)
    assert (out, process.returncode) == ("", 0), err


def test_an_own_counter_lives_when_its_object_is_dropped(driver: MediaDriver) -> None:
    with Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        registration_id = aeron.add_counter(1001, "dropped").registration_id
        gc.collect()
        counter = aeron.get_counter(registration_id)
        assert counter is not None
        counter_id = counter.counter_id
        del counter
        aeron.async_remove_counter(registration_id)
        until(lambda: aeron.counters_reader.info(counter_id) is None)


def test_a_call_without_an_answer_times_out(shm_dir: Path) -> None:
    process = start_driver(shm_dir)
    try:
        with Aeron.connect(aeron_dir=str(shm_dir), driver_timeout_ms=1000, error_handler=lambda error: None) as aeron:
            process.send_signal(signal.SIGSTOP)
            with pytest.raises(DriverTimeout):
                aeron.add_publication(CHANNEL, 9)
            process.send_signal(signal.SIGCONT)
    finally:
        process.kill()
        process.wait(DEADLINE_S)


def test_no_driver_is_a_time_out_that_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DriverTimeout, match="50 ms.*cnc.dat"):
        Aeron.connect(aeron_dir=str(tmp_path), driver_timeout_ms=50)


def test_dropping_a_client_closes_it(driver: MediaDriver) -> None:
    with Aeron.connect(aeron_dir=driver.aeron_dir) as watcher:
        counters = watcher.counters_reader
        aeron = Aeron.connect(aeron_dir=driver.aeron_dir)
        publication = aeron.add_publication(CHANNEL, 10)
        client_id = aeron.client_id
        assert counters.find_by_key(11, client_id) is not None
        del aeron
        gc.collect()
        assert publication.offer(b"x") is OfferResult.NOT_CONNECTED  # what it made keeps it open
        del publication
        gc.collect()
        until(lambda: counters.find_by_key(11, client_id) is None)


def test_dropping_a_publication_removes_it_at_the_driver(driver: MediaDriver) -> None:
    with Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        subscription = aeron.add_subscription(CHANNEL, 11)
        publication = aeron.add_publication(CHANNEL, 11)
        until(lambda: subscription.is_connected)
        del publication
        gc.collect()
        until(lambda: not subscription.is_connected)


def test_closing_races_with_every_kind_of_use(driver: MediaDriver) -> None:
    for _ in range(10):
        aeron = Aeron.connect(aeron_dir=driver.aeron_dir)
        subscription = aeron.add_subscription(CHANNEL, 12)
        publication = aeron.add_publication(CHANNEL, 12)
        stop = threading.Event()
        failures: list[BaseException] = []

        def use(work: Callable[[], object], stop: threading.Event, failures: list[BaseException]) -> None:
            try:
                while not stop.is_set():
                    work()
            except (StateError, AeronTimeoutError, DriverTimeout):
                pass
            except BaseException as error:
                failures.append(error)

        def batch(subscription=subscription) -> None:  # type: ignore[no-untyped-def]
            with subscription.poll_batch() as batch:
                sum(len(payload) for payload in batch)

        works: list[Callable[[], object]] = [
            lambda publication=publication: publication.send(b"x" * 100, timeout_s=0.01),
            batch,
            lambda subscription=subscription: subscription.wait(0.01),
            lambda aeron=aeron: aeron.add_counter(1001, "x").close(),
        ]
        threads = [threading.Thread(target=use, args=(work, stop, failures)) for work in works]
        for thread in threads:
            thread.start()
        time.sleep(0.02)
        aeron.close()
        stop.set()
        for thread in threads:
            thread.join(DEADLINE_S)
            assert not thread.is_alive()
        assert failures == []
    assert os.path.isdir(driver.aeron_dir)
