"""The stage of the interop tests, for faults between our own drivers and clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interop.lines import JavaHost
from tests.interop.stage import Stage


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/faults" in str(item.path):
            item.add_marker(pytest.mark.faults)


@pytest.fixture
def stage() -> Iterator[Stage]:
    def no_java() -> JavaHost:
        raise AssertionError("faults are tested between ours")

    stage = Stage(no_java)
    yield stage
    stage.close()
