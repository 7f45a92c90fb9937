"""What a driver asks of the system before it starts."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from aeronpy.driver import MediaDriverContext
from aeronpy.driver.start_checks import check_cpuset, check_sockets
from aeronpy.errors import ArgumentError

AGENTS = ("conductor", "sender", "receiver", "native_resource_agent")


def placed(monkeypatch: pytest.MonkeyPatch, system: Path, cpus: set[int], **settings: object) -> list[int]:
    """Where the agents run whose process may use these processors."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cpus)
    context = MediaDriverContext(environment={}, **settings)
    check_cpuset(context, system)
    return [context.cpu_of(agent) for agent in AGENTS]


def test_processors_are_what_they_are_unless_places_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert placed(monkeypatch, tmp_path, {4, 5}, sender_cpu_affinity=4) == [-1, 4, -1, -1]


def test_processors_are_places_in_the_set_of_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = {"conductor_cpu_affinity": 0, "sender_cpu_affinity": 2, "native_resource_agent_cpu_affinity": 2}

    assert placed(monkeypatch, tmp_path, {8, 4, 6}, cpuset_affinity=True, **settings) == [4, 8, -1, 8]
    with pytest.raises(ArgumentError, match="receiver_cpu_affinity is 3, and must be less than 3.*4, 6, 8"):
        placed(monkeypatch, tmp_path, {8, 4, 6}, cpuset_affinity=True, receiver_cpu_affinity=3)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"cpu4/topology/thread_siblings_list": "4,12"}, "of the core of processor 4 others have 12"),
        ({"cpu6/topology/thread_siblings_list": "6-8"}, "of the core of processor 6 others have 7, 8"),
        (
            {"cpu4/cache/index3/shared_cpu_list": "0-5", "cpu6/cache/index3/shared_cpu_list": "6-11"},
            "the processors 4, 6 are spread over 2 L3 caches",
        ),
    ],
)
def test_a_set_that_is_not_all_ours_is_a_warning_or_an_error(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    files: dict[str, str],
    words: str,
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")

    with caplog.at_level(logging.WARNING):
        placed(monkeypatch, tmp_path, {4, 6}, cpuset_affinity=True)
    assert words in caplog.text
    with pytest.raises(ArgumentError, match=words):
        placed(monkeypatch, tmp_path, {4, 6}, cpuset_affinity=True, cpuset_warnings_as_errors=True)


def test_a_whole_core_is_no_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    for cpu in (4, 6):
        for name, text in (("topology/thread_siblings_list", "4,6"), ("cache/index3/shared_cpu_list", "4-7")):
            (tmp_path / f"cpu{cpu}/{name}").parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / f"cpu{cpu}/{name}").write_text(text)

    with caplog.at_level(logging.WARNING):
        placed(monkeypatch, tmp_path, {4, 6}, cpuset_affinity=True, cpuset_warnings_as_errors=True)
    assert not caplog.text


def test_a_buffer_that_the_system_cuts_short_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        check_sockets(MediaDriverContext(environment={}, socket_so_rcvbuf=1 << 30))

    assert "could not get the desired SO_RCVBUF: attempted=1073741824" in caplog.text
