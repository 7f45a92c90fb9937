"""The quiet profile: a driver that sleeps, and is up at once for whoever rings."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from aeronpy import Aeron, MediaDriver, ThreadingMode
from aeronpy.errors import ArgumentError
from tests.system.clients import CHANNEL, ROOT, free_port
from tests.waiting import DEADLINE_S, until

pytestmark = pytest.mark.timeout(90)
MODES = ["DEDICATED", "SHARED_NETWORK", "SHARED"]


@pytest.fixture(scope="module", params=MODES)
def quiet_driver(request: pytest.FixtureRequest) -> Iterator[MediaDriver]:
    with MediaDriver.launch_embedded(profile="quiet", threading_mode=ThreadingMode[request.param]) as driver:
        yield driver


@pytest.fixture
def quiet_aeron(quiet_driver: MediaDriver) -> Iterator[Aeron]:
    with Aeron.connect(aeron_dir=quiet_driver.aeron_dir) as aeron:
        yield aeron


@pytest.mark.parametrize("kind", ["ipc", "udp"])
def test_a_flow_with_back_pressure_is_whole(quiet_aeron: Aeron, kind: str) -> None:
    channel = CHANNEL if kind == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"
    subscription = quiet_aeron.add_subscription(channel, 1)
    publication = quiet_aeron.add_exclusive_publication(channel, 1)
    until(lambda: publication.is_connected and subscription.is_connected)
    got: list[int] = []
    sent = 0
    deadline = time.monotonic() + DEADLINE_S
    while len(got) < 3000:
        assert time.monotonic() < deadline
        if sent < 3000 and publication.offer(b"%d" % sent, bytes(200)) > 0:
            sent += 1
        subscription.poll(lambda buffer, _: got.append(int(bytes(buffer).rstrip(b"\0"))))
    assert got == list(range(3000))


def test_messages_after_a_silence_are_not_as_late_as_the_sleep_is_long(quiet_aeron: Aeron) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"
    subscription = quiet_aeron.add_subscription(channel, 2)
    publication = quiet_aeron.add_publication(channel, 2)
    until(lambda: publication.is_connected and subscription.is_connected and publication.available_window > 0)
    took = []
    for _ in range(30):
        assert not subscription.wait(0.03)  # three sleeps of the driver's
        began = time.monotonic()
        assert publication.offer(b"ping") > 0
        assert subscription.wait(DEADLINE_S, "yield")
        took.append(time.monotonic() - began)
        assert subscription.poll(lambda _buffer, _header: None) == 1
    # Unrung, it would take 5 ms in the middle at the sender alone.
    assert sorted(took)[len(took) // 2] < 0.0035


def test_commands_are_answered_at_once(quiet_aeron: Aeron) -> None:
    took = []
    for stream_id in range(100, 115):
        time.sleep(0.02)  # it sleeps by then, or the command comes in between: both are to be quick
        began = time.monotonic()
        publication = quiet_aeron.add_publication(CHANNEL, stream_id)
        took.append(time.monotonic() - began)
        publication.close()
    assert sorted(took)[len(took) // 2] < 0.015


def test_streams_live_and_end_as_ever(quiet_aeron: Aeron) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k|linger=100ms"
    subscription = quiet_aeron.add_subscription(channel, 3)
    publication = quiet_aeron.add_publication(channel, 3)
    until(lambda: publication.is_connected and subscription.is_connected)
    publication.send(b"last")
    publication.close()
    assert [message.payload for message in subscription.messages(1, timeout_s=DEADLINE_S)] == [b"last"]
    until(lambda: subscription.image_count == 0)


def wakes(pid: int) -> int:
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as status:
            total += next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt"))
    return total


@pytest.mark.parametrize("mode", MODES)
def test_an_idle_driver_with_a_client_sleeps_most_of_the_time(aeron_dir: str, mode: str) -> None:
    command = [sys.executable, "-m", "aeronpy.cli.driver", f"-Daeron.dir={aeron_dir}"]
    command += [f"-Daeron.threading.mode={mode}", "-Daeronpy.driver.profile=quiet"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL) as process:
        try:
            until(lambda: os.path.exists(f"{aeron_dir}/cnc.dat"))
            with Aeron.connect(aeron_dir=aeron_dir) as aeron:
                channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"
                subscription = aeron.add_subscription(channel, 1)
                publication = aeron.add_publication(channel, 1)
                until(lambda: publication.is_connected and subscription.is_connected)
                before, began = wakes(process.pid), time.monotonic()
                time.sleep(2)
                rate = (wakes(process.pid) - before) / (time.monotonic() - began)
                threads = {"DEDICATED": 3, "SHARED_NETWORK": 2, "SHARED": 1}[mode]
                # A hundred sleeps a second each, and what heartbeats and status messages wake.
                assert rate < threads * 100 + 250
        finally:
            process.terminate()
            process.wait(DEADLINE_S)


def test_a_quiet_client_hears_of_what_happens_at_once(quiet_driver: MediaDriver) -> None:
    with (
        Aeron.connect(aeron_dir=quiet_driver.aeron_dir, profile="quiet") as sleeper,
        Aeron.connect(aeron_dir=quiet_driver.aeron_dir) as other,
    ):
        took = []
        subscription = sleeper.add_subscription(CHANNEL, 200)
        for _ in range(7):
            time.sleep(0.05)
            began = time.monotonic()
            publication = other.add_exclusive_publication(CHANNEL, 200)
            until(lambda: subscription.image_count == 1)
            took.append(time.monotonic() - began)
            publication.close()
            until(lambda: subscription.image_count == 0)
        assert sorted(took)[3] < 0.1  # unheard, it would take up to 250 ms
        assert sleeper.context.woken_sleep_duration_ns == 250_000_000
        assert other.context.woken_sleep_duration_ns == other.context.idle_sleep_duration_ns


def test_a_profile_that_is_none_is_refused(quiet_driver: MediaDriver) -> None:
    with pytest.raises(ArgumentError, match="loud"):
        Aeron.connect(aeron_dir=quiet_driver.aeron_dir, profile="loud")
    with pytest.raises(ArgumentError, match="loud"):
        MediaDriver.launch_embedded(profile="loud")
