"""One JVM for each module of tests, one stage for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.interop.house import House
from tests.interop.lines import JavaHost
from tests.interop.recorder import Recorder
from tests.interop.stage import SETTINGS, Stage, java_properties


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(), "compatibility")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/interop" in str(item.path):
            item.add_marker(pytest.mark.interop)


@pytest.fixture(scope="module")
def java_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], JavaHost]]:
    """The module's JVM, started at first use."""
    hosts: list[JavaHost] = []

    def get() -> JavaHost:
        if not hosts:
            hosts.append(JavaHost(java_properties(SETTINGS), tmp_path_factory.mktemp("java") / "host.stderr"))
        return hosts[0]

    yield get
    for host in hosts:
        host.close()


@pytest.fixture
def stage(java_host: Callable[[], JavaHost]) -> Iterator[Stage]:
    """Drivers and programs of one test."""
    stage = Stage(java_host)
    yield stage
    stage.close()


@pytest.fixture(scope="module")
def house_settings() -> dict[str, str]:
    """Settings of the module's drivers beside the stage's; a module says its own."""
    return {}


@pytest.fixture(scope="module")
def shared_house(java_host: Callable[[], JavaHost], house_settings: dict[str, str]) -> Iterator[House]:
    house = House(java_host, house_settings)
    yield house
    house.close()


@pytest.fixture
def house(shared_house: House) -> Iterator[House]:
    """The module's drivers and clients; what a test makes with their sides goes with it."""
    yield shared_house
    shared_house.tidy()
