"""Drivers of our own, one directory each, gone after the test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator

import pytest

from aeronpy import Aeron
from aeronpy.driver import MediaDriver
from tests.system.clients import Pair, connected_pair
from tests.system.protocol_client import ProtocolClient

# Time-outs of the reference traces' kind, short enough to be seen by a test.
SHORT = {
    "timer_interval": "50ms",
    "client_liveness_timeout": "3s",
    "image_liveness_timeout": "600ms",
    "publication_unblock_timeout": "4s",
    "publication_linger_timeout": "300ms",
    "publication_connection_timeout": "1s",
    "untethered_window_limit_timeout": "300ms",
    "untethered_linger_timeout": "200ms",
    "untethered_resting_timeout": "400ms",
    "counters_free_to_reuse_timeout": "0",
    "term_buffer_length": 65536,
    "ipc_term_buffer_length": 65536,
}


@pytest.fixture
def aeron_dir() -> Iterator[str]:
    """Where a driver may make its directory."""
    base = tempfile.mkdtemp(prefix="aeronpy-test-", dir="/dev/shm")
    yield f"{base}/driver"
    shutil.rmtree(base)


@pytest.fixture
def driver() -> Iterator[MediaDriver]:
    """An embedded driver with short time-outs."""
    with MediaDriver.launch_embedded(**SHORT) as driver:
        yield driver


@pytest.fixture
def client(driver: MediaDriver) -> Iterator[ProtocolClient]:
    """A client that the driver does not know yet."""
    client = ProtocolClient(driver.aeron_dir)
    yield client
    client.close()


@pytest.fixture(scope="module")
def clients_driver() -> Iterator[MediaDriver]:
    """An embedded driver as it comes, for the tests of a module."""
    with MediaDriver.launch_embedded() as driver:
        yield driver


@pytest.fixture
def errors() -> list[Exception]:
    """What the client of `aeron` reports."""
    return []


@pytest.fixture
def aeron(clients_driver: MediaDriver, errors: list[Exception]) -> Iterator[Aeron]:
    """A client of the module's driver."""
    with Aeron.connect(aeron_dir=clients_driver.aeron_dir, error_handler=errors.append) as aeron:
        yield aeron


@pytest.fixture
def pair(aeron: Aeron) -> Pair:
    """An exclusive publication and a subscription that are connected, on a stream of their own."""
    return connected_pair(aeron)
