"""The doctor and explain on real drivers: who limits whom, and what became of a driver."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aeronpy import Aeron
from aeronpy.client.publication import ExclusivePublication
from aeronpy.client.subscription import Subscription
from aeronpy.observe.doctor import findings
from aeronpy.observe.explain import Explanation, explain
from aeronpy.observe.finding import Finding
from aeronpy.observe.patient import Intent
from tests.interop import peers
from tests.interop.lines import JavaHost, Process
from tests.interop.stage import IPC, Driver, Make, Stage, free_port, udp

STREAM = 1001
PAYLOAD = bytes(1000)
DEADLINE_S = 30.0
LOSS = {
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.2|seed=7|recv-msg-mask=0x2",
}


@pytest.fixture(scope="module")
def drivers(java_host: Callable[[], JavaHost]) -> Iterator[Callable[[Make], Driver]]:
    """A driver of each make, started at first use."""
    peers.need_pyaeron()
    stage, made = Stage(java_host), dict[Make, Driver]()

    def get(make: Make) -> Driver:
        if make not in made:
            made[make] = stage.driver(make, make)
        return made[make]

    try:
        yield get
    finally:
        stage.close()


def until(found: Callable[[], Explanation | None]) -> Explanation:
    """What comes in time."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        result = found()
        if result is not None:
            return result
    raise AssertionError("not in time")


def limited_by(aeron_dir: Path, channel: str, word: str) -> Explanation:
    """An explanation in which the only session is limited so."""

    def look() -> Explanation | None:
        found = explain(aeron_dir, channel, STREAM, interval_s=0.05)
        return found if [each.limited_by for each in found.sessions] == [word] else None

    return until(look)


def fill(publication: ExclusivePublication, reader: Subscription | None = None) -> None:
    """Offer until nothing more is taken for a while, though the reader takes all that it gets."""
    deadline, refused_at = time.monotonic() + DEADLINE_S, None
    while refused_at is None or time.monotonic() < refused_at + 0.5:
        now = time.monotonic()
        assert now < deadline
        if reader is not None:
            reader.poll(lambda buffer, header: None, 100)
        if publication.offer(PAYLOAD) > 0:
            refused_at = None
        elif publication.is_connected and refused_at is None:
            refused_at = now


@pytest.mark.parametrize("make", ["c", "java", "ours"])
@pytest.mark.parametrize("media", ["udp", "ipc"])
def test_a_subscriber_that_does_not_poll_is_named(drivers: Callable[[Make], Driver], make: Make, media: str) -> None:
    aeron_dir = drivers(make).aeron_dir
    channel = IPC if media == "ipc" else udp(free_port())
    with Aeron.connect(aeron_dir=str(aeron_dir), client_name="slow") as aeron:
        publication = aeron.add_exclusive_publication(channel, STREAM)
        alone = limited_by(aeron_dir, channel, "connection")
        assert alone.sessions[0].publishers[0].registration_id == publication.registration_id
        subscription = aeron.add_subscription(channel, STREAM)
        fill(publication)
        (session,) = limited_by(aeron_dir, channel, "subscriber").sessions
        assert session.session_id == publication.session_id
        assert session.publishers[0].position == publication.position
        assert session.publishers[0].limit == publication.position_limit
        assert session.publishers[0].is_connected
        assert len(session.senders) == len(session.receivers) == (1 if media == "udp" else 0)
        (subscriber,) = session.subscribers
        assert (subscriber.registration_id, subscriber.position) == (subscription.registration_id, 0)
        assert subscriber.behind > 0

        def consumed() -> Explanation | None:
            subscription.poll(lambda buffer, header: None, 100)
            found = explain(aeron_dir, channel, STREAM, interval_s=0)
            return found if found.sessions[0].subscribers[0].position == publication.position else None

        (session,) = until(consumed).sessions
        assert session.limited_by == "publisher"
        assert session.subscribers[0].behind == 0


@pytest.mark.parametrize("make", ["c", "java", "ours"])
def test_a_spy_that_simulates_the_connection_is_named(drivers: Callable[[Make], Driver], make: Make) -> None:
    """Nobody receives: the sender's position follows the spy, and its limit says nothing of receivers."""
    aeron_dir, channel = drivers(make).aeron_dir, udp(free_port())
    with Aeron.connect(aeron_dir=str(aeron_dir), client_name="watcher") as aeron:
        publication = aeron.add_exclusive_publication(f"{channel}|ssc=true", STREAM)
        spy = aeron.add_subscription(f"aeron-spy:{channel}", STREAM)
        fill(publication)
        (session,) = limited_by(aeron_dir, channel, "subscriber").sessions
        assert (
            f"subscriber {spy.registration_id} (watcher) is a spy {publication.position} bytes behind"
            in session.verdict
        )


@pytest.mark.parametrize("make", ["c", "java"])
def test_a_spy_that_does_not_poll_is_named(drivers: Callable[[Make], Driver], make: Make) -> None:
    aeron_dir, channel = drivers(make).aeron_dir, udp(free_port())
    with Aeron.connect(aeron_dir=str(aeron_dir)) as aeron:
        reader = aeron.add_subscription(channel, STREAM)
        spy = aeron.add_subscription(f"aeron-spy:{channel}", STREAM)
        publication = aeron.add_exclusive_publication(channel, STREAM)
        fill(publication, reader)
        (session,) = limited_by(aeron_dir, channel, "subscriber").sessions
        assert f"subscriber {spy.registration_id} " in session.verdict
        behind = {each.registration_id: each.behind for each in session.subscribers}
        assert behind == {reader.registration_id: 0, spy.registration_id: publication.position}


def test_each_driver_explains_its_side(drivers: Callable[[Make], Driver]) -> None:
    theirs, ours, channel = drivers("c").aeron_dir, drivers("ours").aeron_dir, udp(free_port())
    with Aeron.connect(aeron_dir=str(theirs)) as sending, Aeron.connect(aeron_dir=str(ours)) as receiving:
        subscription = receiving.add_subscription(channel, STREAM)

        def waiting() -> Explanation | None:
            found = explain(ours, channel, STREAM, interval_s=0)
            return found if "no image has come" in found.note and found.ends else None

        assert until(waiting).ends[0].status == "active"
        publication = sending.add_exclusive_publication(channel, STREAM)
        fill(publication)
        (sender_side,) = limited_by(theirs, channel, "receivers").sessions
        (receiver_side,) = limited_by(ours, channel, "subscriber").sessions
        assert sender_side.session_id == receiver_side.session_id == publication.session_id
        assert (len(sender_side.subscribers), len(receiver_side.publishers)) == (0, 0)
        assert sender_side.senders[0].position == receiver_side.receivers[0].position
        assert subscription.images[0].position == 0


@pytest.mark.parametrize("make", ["c", "ours"])
def test_an_open_gap_is_shown_with_its_place(java_host: Callable[[], JavaHost], make: Make) -> None:
    stage = Stage(java_host)
    try:
        aeron_dir, channel = stage.driver(make, settings=LOSS).aeron_dir, udp(free_port())
        with Aeron.connect(aeron_dir=str(aeron_dir)) as aeron:
            # A gap is asked for after a second, so that it stays open while it is looked at.
            subscription = aeron.add_subscription(f"{channel}|nak-delay=1s", STREAM)
            publication = aeron.add_exclusive_publication(channel, STREAM)

            def gap() -> Explanation | None:
                publication.offer(PAYLOAD)
                subscription.poll(lambda buffer, header: None, 100)
                found = explain(aeron_dir, channel, STREAM, interval_s=0)
                return found if found.sessions and found.sessions[0].limited_by == "loss" else None

            (session,) = until(gap).sessions
        (image,) = session.receivers
        assert image.gaps[0][0] == image.position
        assert all(length % 1056 == 0 for _, length in image.gaps)  # whole frames of 1000 bytes
        assert image.position < image.hwm
        assert f"at {image.position}" in session.verdict
    finally:
        stage.close()


def named(aeron_dir: Path, check: str) -> Finding | None:
    intent = Intent(driver_timeout_ms=500)
    return next((each for each in findings(aeron_dir, intent=intent) if each.check == check), None)


@pytest.mark.parametrize("make", ["c", "java", "ours"])
def test_the_doctor_finds_no_error_in_a_live_driver(drivers: Callable[[Make], Driver], make: Make) -> None:
    found = {each.check: each for each in findings(drivers(make).aeron_dir)}
    assert [each for each in found.values() if each.severity == "error"] == []
    assert found["driver.alive"].severity == "ok"
    # The limits of the process are seen only where it has the CnC file mapped indeed.
    assert found["process.files"].severity == "ok"
    assert found["process.maps"].severity == "ok"
    assert not any(name.startswith("doctor.") for name in found)


@pytest.mark.parametrize("make", ["c", "ours"])
def test_the_doctor_tells_a_stopped_driver_from_a_dead_one(java_host: Callable[[], JavaHost], make: Make) -> None:
    stage = Stage(java_host)
    try:
        driver = stage.driver(make)
        assert isinstance(driver.program, Process)
        process, deadline = driver.program.process, time.monotonic() + DEADLINE_S
        process.send_signal(signal.SIGSTOP)
        while (stopped := named(driver.aeron_dir, "driver.stopped")) is None:
            assert time.monotonic() < deadline
        assert f"kill -CONT {process.pid}" in stopped.remedy
        process.send_signal(signal.SIGCONT)
        while named(driver.aeron_dir, "driver.alive") is None:
            assert time.monotonic() < deadline
        driver.close()
        assert named(driver.aeron_dir, "driver.shut-down") is not None or not driver.aeron_dir.exists()
    finally:
        stage.close()


def test_the_doctor_knows_a_driver_that_was_killed(java_host: Callable[[], JavaHost]) -> None:
    stage = Stage(java_host)
    try:
        driver = stage.driver("c")
        driver.kill()
        deadline = time.monotonic() + DEADLINE_S
        while (dead := named(driver.aeron_dir, "driver.dead")) is None:
            assert time.monotonic() < deadline
        assert "its process is gone" in dead.remedy
        assert named(driver.aeron_dir, "directory.stale") is not None
    finally:
        stage.close()


@pytest.mark.parametrize(("window", "severity"), [(128 << 10, "warning"), (192 << 10, "error")])
def test_the_doctor_foresees_what_a_driver_refuses(
    java_host: Callable[[], JavaHost], window: int, severity: str
) -> None:
    buffer = 64 << 10
    stage = Stage(java_host)
    settings = {"AERON_SOCKET_SO_RCVBUF": str(buffer), "AERON_RCV_INITIAL_WINDOW_LENGTH": str(window)}
    intent = Intent(so_rcvbuf=buffer, receiver_window=window)
    (found,) = [each for each in findings(stage.base / "none", intent=intent) if each.check == "sockets.window"]
    try:
        assert found.severity == severity
        if severity == "error":
            with pytest.raises(AssertionError, match="SO_RCVBUF"):
                stage.driver("c", settings=settings)
        else:
            stage.driver("c", settings=settings)
    finally:
        stage.close()
