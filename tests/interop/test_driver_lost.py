"""A driver that dies, shuts down, restarts or is upgraded below our client: told apart, and reported."""

from __future__ import annotations

import shutil
import time
from functools import partial

import pytest

from aeronpy import Aeron, OfferResult
from aeronpy.errors import DriverRestarted, DriverShutdown, DriverTimeout, DriverUpgraded
from tests.interop.matrix import on_peers
from tests.interop.stage import IPC, Driver, Stage
from tests.waiting import until

DEADLINE_S = 30.0
DRIVER_TIMEOUT_MS = 5000


on = partial(on_peers, "client")


class Watched:
    """A client with a stream, and what it reports."""

    def __init__(self, driver: Driver) -> None:
        self.errors: list[Exception] = []
        self.closed: list[str] = []
        self.aeron = Aeron.connect(
            aeron_dir=str(driver.aeron_dir),
            driver_timeout_ms=DRIVER_TIMEOUT_MS,
            error_handler=self.errors.append,
            close_handler=lambda: self.closed.append("closed"),
        )
        self.subscription = self.aeron.add_subscription(IPC, 1)
        self.publication = self.aeron.add_publication(IPC, 1)
        self.publication.send(b"x")
        until(lambda: self.subscription.is_connected)

    def expect_end(self, kind: type[DriverTimeout], *phrases: str) -> None:
        """It ends with this error and no other, and everything of it answers."""
        until(lambda: bool(self.errors))
        assert [type(error) for error in self.errors] == [kind]
        for phrase in (str(self.aeron.aeron_dir), *phrases):
            assert phrase in str(self.errors[0])
        assert self.closed == ["closed"]
        assert self.aeron.is_closed
        assert self.publication.offer(b"x") is OfferResult.CLOSED
        assert self.subscription.poll(lambda buffer, header: None) == 0
        with pytest.raises(kind, match="the client ended"):
            self.aeron.add_publication(IPC, 2)
        self.aeron.close()
        assert self.closed == ["closed"]


def start(stage: Stage, peer: str) -> Driver:
    """A driver in a process of its own, which may be killed, in the directory ``a``."""
    assert peer in ("c", "java")
    settings = {"AERON_DIR_DELETE_ON_START": "true"}
    return stage.driver(peer, "a", alone=True, settings=settings)  # type: ignore[arg-type]


@on("client.driver.dies")
def test_a_killed_driver_is_reported_after_its_timeout(stage: Stage, peer: str) -> None:
    driver = start(stage, peer)
    watched = Watched(driver)
    driver.kill()
    began = time.monotonic()
    watched.expect_end(DriverTimeout, "gave its last heartbeat", "the limit is 5000 ms")
    # Not before the time-out, less the age that the heartbeat had, and not long after the next keepalive.
    assert 3.5 < time.monotonic() - began < 12


@on("client.driver.dies")
def test_a_driver_that_shuts_down_is_reported_at_once(stage: Stage, peer: str) -> None:
    driver = start(stage, peer)
    watched = Watched(driver)
    driver.close()
    watched.expect_end(DriverShutdown, "has been shutdown")


@on("client.driver.restarts")
def test_a_driver_that_was_restarted_is_told_apart(stage: Stage, peer: str) -> None:
    driver = start(stage, peer)
    watched = Watched(driver)
    driver.kill()
    shutil.rmtree(driver.aeron_dir)  # as an operator does who does not want to wait for the time-out
    again = start(stage, peer)
    watched.expect_end(DriverRestarted, "another one was started there", "was replaced by process", "connect again")

    after = Watched(again)
    assert after.aeron.client_id > 0
    after.aeron.close()
    assert after.errors == []


@on("client.driver.upgraded")
def test_a_driver_of_another_version_in_its_place_is_told_apart(stage: Stage, peer: str) -> None:
    driver = start(stage, peer)
    watched = Watched(driver)
    driver.kill()
    shutil.rmtree(driver.aeron_dir)
    start(stage, "java" if peer == "c" else "c")
    versions = ("1.53.0-SNAPSHOT", "1.51.0")
    before, now = versions if peer == "c" else versions[::-1]
    watched.expect_end(DriverUpgraded, f"version {before} by {now}")
