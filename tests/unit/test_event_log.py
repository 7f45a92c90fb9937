"""The event log: what its settings name, how it words commands and answers, and how its file is cut."""

from __future__ import annotations

import logging
import os
import struct
import threading
from pathlib import Path

import pytest

from aeronpy.driver import MediaDriverContext, replies
from aeronpy.driver.event_log import EventLog
from aeronpy.driver.log_events import FRAMES, LogEvent, parse_events

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
    assert parse_events("nonsense,999") == (set(), ["nonsense", "999"])
    assert parse_events("FRAME_IN,admin")[0] == set(LogEvent) - {LogEvent.FRAME_OUT}
    assert parse_events("SEND_NAK_MESSAGE,TEXT_DATA")[0] == {LogEvent.NAK_SENT, LogEvent.GENERIC_MESSAGE}


@pytest.mark.parametrize(
    ("mask", "events"),
    [
        ("0x4", {LogEvent.FRAME_IN}),
        ("0x8", {LogEvent.FRAME_OUT}),
        ("0x10", {LogEvent.FRAME_OUT}),
        ("0x80", {LogEvent.UNTETHERED_SUBSCRIPTION_STATE_CHANGE}),
        ("0x60", set()),
        ("0x1", {event for event in LogEvent if event.name.startswith("CMD_IN")}),
        ("0x2", {event for event in LogEvent if event.name.startswith("CMD_OUT")}),
        ("0x4,RESEND", {LogEvent.FRAME_IN, LogEvent.RESEND}),
        ("0x1f", {event for event in LogEvent if event.name.startswith("CMD_")} | FRAMES),
        ("0xFFFF", set(LogEvent)),
        ("0x10000", set(LogEvent)),
    ],
)
def test_masks_name_what_they_named_when_events_had_no_names(mask: str, events: set[LogEvent]) -> None:
    assert parse_events(mask) == (events, [])
    assert parse_events("0xzz") == (set(), ["0xzz"])


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
        "] DRIVER: CMD_IN_ADD_PUBLICATION [33/33]: streamId=7 clientId=1 correlationId=3 channel=aeron:ipc"
    )
    assert (
        "CMD_OUT_ERROR [29/29]: offendingCommandCorrelationId=3 errorCode=generic error, see message "
        "message=no such thing" in refused
    )


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


def test_a_file_is_written_on(tmp_path: Path) -> None:
    (tmp_path / "events.log").write_text("of the last run\n")

    log, path = log_of(tmp_path, "all")
    log.close()

    assert path.read_text().startswith("of the last run\n[")


def test_tokens_of_termination_are_not_told(tmp_path: Path) -> None:
    log, path = log_of(tmp_path, "all")

    log.on_command(0x0E, struct.pack("<qqi", 1, 3, 6) + b"secret")
    log.close()

    text = path.read_text()
    assert "CMD_IN_TERMINATE_DRIVER [26/26]: clientId=1 tokenBufferLength=6" in text
    assert "secret" not in text


def test_a_reader_that_stops_delays_nobody_and_what_is_lost_is_said(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    log = EventLog([LogEvent.CMD_IN_ADD_PUBLICATION], str(pipe), 0, waiting_max=50)

    for _ in range(3000):  # far more than a pipe holds: its writer stands still
        log.on_command(0x01, ADD)

    os.set_blocking(reader, True)
    lines: list[str] = []
    with os.fdopen(reader) as stream:
        threading.Thread(target=log.close).start()
        lines = stream.readlines()
    written = sum("CMD_IN_ADD_PUBLICATION" in line for line in lines)
    lost = sum(int(line.split()[2]) for line in lines if "events were lost" in line)
    assert written + lost == 3000
    assert lost > 0
