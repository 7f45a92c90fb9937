"""The event log: what its settings name, how it words commands and answers, and how its file is cut."""

from __future__ import annotations

import logging
import struct
from pathlib import Path

import pytest

from aeronpy.driver import MediaDriverContext, replies
from aeronpy.driver.event_log import EventLog, LogEvent, parse_events

ADD = struct.pack("<qqii", 1, 3, 7, 9) + b"aeron:ipc"


def log_of(tmp_path: Path, events: str, **settings: object) -> tuple[EventLog, Path]:
    path = tmp_path / "events.log"
    context = MediaDriverContext(environment={}, event_log=events, event_log_filename=str(path), **settings)
    log = EventLog.of(context)
    assert log is not None
    return log, path


def test_names_numbers_and_words_for_many_are_taken() -> None:
    assert parse_events("CMD_IN_ADD_PUBLICATION, 34") == (
        {LogEvent.CMD_IN_ADD_PUBLICATION, LogEvent.CMD_OUT_ERROR},
        [],
    )
    assert parse_events("all")[0] == set(LogEvent)
    assert set(LogEvent) - parse_events("admin")[0] == {LogEvent.FRAME_IN, LogEvent.FRAME_OUT}
    assert {event.name[:6] for event in parse_events("0x1")[0]} == {"CMD_IN"}
    assert parse_events("nonsense,999") == (set(), ["nonsense", "999"])


def test_unknown_names_are_warnings(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        log = EventLog.of(MediaDriverContext(environment={}, event_log="CMD_OUT_EROR"))

    assert log is None
    assert "unknown event code: 'CMD_OUT_EROR': did you mean 'CMD_OUT_ERROR'?" in caplog.text


def test_commands_and_answers_are_worded_as_the_c_driver_words_them(tmp_path: Path) -> None:
    log, path = log_of(tmp_path, "admin", event_log_disable="CMD_OUT_ON_OPERATION_SUCCESS")

    log.on_command(0x01, ADD)
    log.on_reply(replies.operation_success(3))
    log.on_reply(replies.error(3, 11, "no such thing"))
    log.close()

    started, added, refused = path.read_text().splitlines()
    assert "log started" in started
    assert added.endswith(
        "] DRIVER: CMD_IN_ADD_PUBLICATION [33/33]: clientId=1 correlationId=3 streamId=7 channel=aeron:ipc"
    )
    assert "CMD_OUT_ERROR [29/29]: offendingCommandCorrelationId=3 errorCode=11 message=no such thing" in refused


def test_malformed_commands_do_not_end_the_log(tmp_path: Path) -> None:
    log, path = log_of(tmp_path, "3")

    log.on_command(0x01, b"short")
    log.close()

    assert "CMD_IN_ADD_PUBLICATION [5/5]: malformed" in path.read_text()


def test_a_full_file_is_put_aside(tmp_path: Path) -> None:
    log, path = log_of(tmp_path, "all", event_log_file_max_length=400)

    for _ in range(10):
        log.on_command(0x01, ADD)
    log.close()

    parts = sorted(tmp_path.glob("events.log.*"))
    assert len(parts) >= 2
    assert sum(part.read_text().count("CMD_IN") for part in [*parts, path]) == 10
    assert all(part.stat().st_size < 800 for part in parts)
