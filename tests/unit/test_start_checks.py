"""What a driver asks of the system before it starts."""

from __future__ import annotations

import logging
import os

import pytest

from aeronpy.driver import MediaDriverContext
from aeronpy.driver.start_checks import check_sockets, spread_processors
from aeronpy.errors import ArgumentError

AGENTS = ("conductor", "sender", "receiver", "native_resource_agent")


def spread(monkeypatch: pytest.MonkeyPatch, cpus: set[int], **settings: object) -> list[int]:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cpus)
    context = MediaDriverContext(environment={}, **settings)
    spread_processors(context)
    return [getattr(context, f"{agent}_cpu_affinity") for agent in AGENTS]


def test_processors_are_left_alone_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert spread(monkeypatch, {0, 1, 2, 3}) == [-1, -1, -1, -1]


def test_each_agent_gets_a_processor_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert spread(monkeypatch, {4, 5, 6, 7}, cpuset_affinity=True) == [4, 5, 6, 7]
    assert spread(monkeypatch, {4, 5, 6, 7}, cpuset_affinity=True, sender_cpu_affinity=4) == [5, 4, 6, 7]


def test_too_few_processors_are_a_warning_or_an_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert spread(monkeypatch, {0, 1}, cpuset_affinity=True) == [-1, -1, -1, -1]
    assert "2 processors are left for 4 agents" in caplog.text
    with pytest.raises(ArgumentError, match=r"receiver_cpu_affinity is 9.*may use \[0, 1\]"):
        spread(monkeypatch, {0, 1}, cpuset_affinity=True, cpuset_warnings_as_errors=True, receiver_cpu_affinity=9)


def test_a_buffer_that_the_system_cuts_short_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        check_sockets(MediaDriverContext(environment={}, socket_so_rcvbuf=1 << 30))

    assert "could not get the desired SO_RCVBUF: attempted=1073741824" in caplog.text
