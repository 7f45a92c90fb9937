"""Slow names and large logs delay who asked for them, and nobody else; whoever goes meanwhile leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from aeronpy.driver import MediaDriver
from aeronpy.driver.conductor.resource_agent import THREAD_NAME
from tests.system import protocol_client as p
from tests.system import slow_names
from tests.system.conftest import SHORT
from tests.system.protocol_client import ProtocolClient, eventually
from tests.system.slow_names import SlowNames

SUPPLIER = "tests.system.slow_names:supply"
SLOW = "aeron:udp?endpoint=slow-host:24380"
FAST = "aeron:udp?endpoint=fast-host:24381"
LARGE = "aeron:ipc?term-length=256m|sparse=false"


class Scene:
    """A driver whose names are slow, and two clients. One writes commands: the tests' ring has one writer."""

    def __init__(self, driver: MediaDriver) -> None:
        self.driver = driver
        self.names: SlowNames = slow_names.made[-1]
        self.waiting = ProtocolClient(driver.aeron_dir)
        self.waiting.first_add()
        self.other = ProtocolClient(driver.aeron_dir)
        self.other.first_add()
        self.skip()

    def skip(self) -> None:
        """Both clients hear everything: forget what was said so far."""
        for client in (self.waiting, self.other):
            while client.receive() is not None:
                pass

    def is_asked(self) -> None:
        assert self.names.asked.acquire(timeout=p.DEADLINE_S)

    def logs(self) -> list[str]:
        return sorted(os.listdir(os.path.join(self.driver.aeron_dir, "publications")))

    def close(self) -> None:
        self.waiting.close()
        self.other.close()


@contextmanager
def launched(liveness: str) -> Iterator[Scene]:
    settings = SHORT | {"client_liveness_timeout": liveness, "publication_unblock_timeout": "40s"}
    with MediaDriver.launch_embedded(**settings, name_resolver_supplier=SUPPLIER) as driver:
        scene = Scene(driver)
        yield scene
        scene.names.answer.set()
        scene.close()


@pytest.fixture
def scene() -> Iterator[Scene]:
    with launched("30s") as scene:
        yield scene


@pytest.fixture
def mortal_scene() -> Iterator[Scene]:
    """Clients that show no life are soon taken for dead."""
    with launched("500ms") as scene:
        yield scene


def agent_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == THREAD_NAME]


def test_a_slow_name_delays_its_own_client_alone(scene: Scene) -> None:
    slow = scene.waiting.add_publication(SLOW, 7)
    scene.is_asked()
    behind = scene.waiting.add_counter(1001, b"", b"behind it")
    fast = scene.other.add_publication(FAST, 7)
    counter = scene.other.add_counter(1001, b"", b"not behind it")

    assert scene.other.expect(p.PUBLICATION_READY).i64(0) == fast
    assert scene.other.expect(p.COUNTER_READY).i64(0) == counter
    scene.names.answer.set()
    assert scene.other.expect(p.PUBLICATION_READY).i64(0) == slow
    assert scene.other.expect(p.COUNTER_READY).i64(0) == behind


@pytest.mark.parametrize("kind", ["subscription", "spy", "publication"])
def test_a_name_that_nobody_knows_is_error_9(scene: Scene, kind: str) -> None:
    scene.names.answer.set()
    channel = "aeron:udp?endpoint=slow-unknown:24380"
    if kind == "publication":
        asked = scene.other.add_publication(channel, 7)
    else:
        asked = scene.other.add_subscription(channel if kind == "subscription" else f"aeron-spy:{channel}", 7)

    text = scene.other.expect_error(asked, 9)

    assert "Unable to resolve host=slow-unknown" in text
    assert "unresolved" in text


def test_more_slow_names_than_threads_leave_logs_and_other_clients_alone(scene: Scene) -> None:
    waiting = [ProtocolClient(scene.driver.aeron_dir) for _ in range(20)]
    for client in waiting:
        client.add_publication(SLOW, 7)
    for _ in waiting:
        scene.is_asked()
    scene.skip()

    added = scene.other.add_publication("aeron:ipc", 7)

    assert scene.other.expect(p.PUBLICATION_READY).i64(0) == added
    for client in waiting:
        client.close()


def test_one_that_is_waiting_when_another_adds_the_same_shares_it(scene: Scene) -> None:
    slow = scene.waiting.add_publication(SLOW, 7)
    same = scene.other.add_publication(SLOW, 7)
    scene.is_asked()
    scene.is_asked()

    scene.names.answer.set()
    ready = [scene.other.expect(p.PUBLICATION_READY) for _ in range(2)]

    assert sorted(one.i64(0) for one in ready) == sorted((slow, same))
    assert ready[0].body[8:] == ready[1].body[8:]
    assert len(scene.logs()) == 1


@pytest.mark.parametrize("channel", [LARGE, "aeron:udp?endpoint=127.0.0.1:24382|term-length=256m|sparse=false"])
def test_a_large_log_delays_nobody_and_is_made_once_for_two_that_add_it(scene: Scene, channel: str) -> None:
    large = scene.waiting.add_publication(channel, 7)
    same = scene.other.add_publication(channel, 7)
    third = ProtocolClient(scene.driver.aeron_dir)
    small = third.add_publication("aeron:ipc?term-length=64k", 8)

    third.expect(p.COUNTER_READY)
    order = [third.expect(p.PUBLICATION_READY) for _ in range(3)]

    assert [one.i64(0) for one in order] == [small, large, same]
    assert order[1].body[8:] == order[2].body[8:]
    assert len(scene.logs()) == 2
    assert os.stat(order[1].text(32)).st_blocks * 512 >= 3 * (256 << 20)
    third.close()


def test_an_exclusive_add_does_not_get_the_session_of_one_in_the_making(scene: Scene) -> None:
    first = scene.waiting.add_publication(f"{LARGE}|session-id=77", 7, exclusive=True)
    second = scene.other.add_publication(f"{LARGE}|session-id=77", 7, exclusive=True)

    text = scene.other.expect_error(second, 1)

    assert "clashing sessionId=77" in text
    assert scene.other.expect(p.EXCLUSIVE_PUBLICATION_READY).i64(0) == first


def test_a_client_that_dies_while_its_add_waits_leaves_nothing(mortal_scene: Scene) -> None:
    scene = mortal_scene
    before = sorted(scene.other.counters())
    scene.waiting.add_publication(SLOW, 7)
    scene.is_asked()
    scene.waiting.add_publication("aeron:ipc", 7)
    heartbeat, _ = scene.other.counter_of(11, scene.waiting.client_id)
    deadline = time.monotonic() + p.DEADLINE_S
    while heartbeat in scene.other.counters():
        assert time.monotonic() < deadline
        scene.other.heartbeat()
        time.sleep(0.05)

    scene.names.answer.set()
    scene.skip()
    scene.other.command(p.GET_NEXT_AVAILABLE_SESSION_ID, "i", 7)
    scene.other.expect(p.NEXT_AVAILABLE_SESSION_ID)

    assert scene.logs() == []
    # Nothing but the heartbeat of the dead client went, and nothing came.
    assert sorted(scene.other.counters()) == [one for one in before if one != heartbeat]


def test_a_driver_closes_while_names_and_logs_are_awaited(scene: Scene) -> None:
    scene.waiting.add_publication(SLOW, 7)
    scene.other.add_publication(LARGE, 7)
    scene.is_asked()
    publications = os.path.join(scene.driver.aeron_dir, "publications")
    eventually(lambda: os.listdir(publications) != [], "the log is being made")
    scene.driver.context.dir_delete_on_shutdown = False
    before = {thread.ident for thread in agent_threads()}
    try:
        scene.driver.close()

        assert os.listdir(publications) == []
        scene.names.answer.set()
        eventually(lambda: before.isdisjoint(t.ident for t in agent_threads()), "the threads end")
    finally:
        shutil.rmtree(scene.driver.aeron_dir)


def test_commands_behind_a_slow_one_are_bounded(scene: Scene) -> None:
    scene.waiting.add_publication(SLOW, 7)
    scene.is_asked()
    label = bytes(100_000)
    for _ in range(90):
        last = scene.waiting.add_counter(1001, b"", label)
        eventually(scene.waiting.is_read, "the driver takes what is in the ring")

    scene.names.answer.set()
    scene.other.expect(p.PUBLICATION_READY)
    answers = [scene.other.expect(p.COUNTER_READY, p.ERROR) for _ in range(90)]

    assert {one.type for one in answers} == {p.COUNTER_READY, p.ERROR}
    assert answers[-1].i64(0) == last
    assert answers[-1].i32(8) == 10


def test_an_invoked_driver_does_it_all_on_the_callers_thread() -> None:
    settings = {**SHORT, "threading_mode": "INVOKER"}
    with MediaDriver.launch_embedded(**settings, name_resolver_supplier=SUPPLIER) as driver:
        before = agent_threads()
        client = ProtocolClient(driver.aeron_dir)
        added = client.add_publication(FAST, 7)

        events = []
        while len(events) < 2:
            driver.do_work()
            event = client.receive()
            events += [event] if event is not None else []

        assert [event.type for event in events] == [p.COUNTER_READY, p.PUBLICATION_READY]
        assert events[1].i64(0) == added
        assert agent_threads() == before
        client.close()
