"""The field names that --json promises: programs hold on to them, so none is renamed or dropped."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest

from tests.unit.cli_runs import run
from tests.unit.cnc_files import CncBytes, loss_entry, stream_key, write_loss
from tests.unit.log_files import busy_log

UDP = "aeron:udp?endpoint=127.0.0.1:40456"
STATIONS = [(12, 7), (1, 7), (2, 7), (9, 7), (3, 20), (5, 20), (4, 8)]
FRAME = "offset frame_length version flags type term_offset session_id stream_id term_id reserved_value payload"
PROMISED = {
    "stat": "aeron_dir cnc_version pid start_timestamp_ms heartbeat_age_ms counters",
    "stat counters": "id type_id value label",
    "counters": "counter_id type_id value registration_id owner_id reference_id key label",
    "errors": "observations first_observation_ms last_observation_ms text",
    "loss": "observations bytes_lost first_observation_ms last_observation_ms session_id stream_id channel source",
    "streams": "session_id stream_id channel counters",
    "streams counters": "name type_id registration_id value",
    "backlog": "session_id stream_id channel publishers senders receivers subscribers",
    "backlog publishers": "registration_id position remaining",
    "backlog senders": "registration_id backlog window",
    "backlog receivers": "registration_id position",
    "backlog subscribers": "registration_id backlog",
    "log 7": "path file_length metadata tails default_header terms",
    "log 7 tails": "partition raw term_id term_offset",
    "log 7 terms": "partition frames",
    "log 7 terms frames": FRAME,
    "cnc": "path file_length allocated_bytes header sections to_driver to_clients counters error_log problems",
    "cnc sections": "name offset length",
    "cnc to_driver": "capacity tail_position head_cache_position head_position next_correlation_id "
    "heartbeat_timestamp_ms pending",
    "cnc to_clients": "capacity tail_intent tail latest latest_message",
    "cnc counters": "capacity allocated reclaimed",
    "cnc error_log": "length distinct_errors used_bytes",
    "driver.pid": "pid life",
    "driver.version": "aeron_version commit control_protocol_version cnc_version",
    "driver.describe": "aeron_dir pid life start_timestamp_ms heartbeat_timestamp_ms heartbeat_age_ms cnc_version "
    "aeron_version commit control_protocol_version threading_mode resolver_name client_liveness_timeout_ns "
    "file_page_size bytes_mapped clients publications images subscriptions channels errors",
    "doctor": "aeron_dir worst findings",
    "doctor findings": "check severity what value limit unit remedy",
    f"explain.{UDP}.1001": "channel stream_id interval_s sessions ends drops loss note",
    f"explain.{UDP}.1001 sessions": "session_id channels publishers senders receivers subscribers limited_by verdict "
    "remedy",
    f"explain.{UDP}.1001 sessions publishers": "registration_id kind position limit rate is_connected client",
    f"explain.{UDP}.1001 sessions senders": "registration_id position limit back_pressure_events naks_received "
    "flow_control_receivers rate",
    f"explain.{UDP}.1001 sessions receivers": "registration_id hwm position naks_sent window gaps rate",
    f"explain.{UDP}.1001 sessions subscribers": "registration_id source_id position behind joined_at rate client",
    f"explain.{UDP}.1001 drops": "cause count during system_counter_id",
    f"explain.{UDP}.1001 loss": "session_id observations bytes_lost source",
}


@pytest.fixture(scope="module")
def aeron_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("aeron")
    written = CncBytes(pid=os.getpid())
    written.counter(0, 0, "Invalid packets", 3, key=struct.pack("<i", 14))
    for counter_id, (type_id, registration_id) in enumerate(STATIONS, 1):
        key = stream_key(registration_id, -5, 1001, UDP)
        written.counter(counter_id, type_id, f"name: {registration_id} -5 1001 {UDP}", 64, key=key)
    written.error("bad", 1, 5, 5)
    written.write(directory)
    write_loss(directory, loss_entry((1, 2, 3, 4, -5, 1001), UDP, "127.0.0.1:5"))
    busy_log().write(directory / "publications" / "7.logbuffer")
    return directory


@pytest.mark.parametrize("what", PROMISED)
def test_the_field_names_are_those_that_are_promised(aeron_dir: Path, what: str) -> None:
    tool, *path = what.split(" ") if not what.startswith("log") else ["log.7", *what.split(" ")[2:]]
    words = tool.split(".") if not tool.startswith("explain") else ["explain", UDP, "1001", "--interval", "0"]
    found = json.loads(run(*words, "-d", aeron_dir, "--json").output)
    for name in path:
        found = (found[0] if isinstance(found, list) else found)[name]
    while isinstance(found, list):
        found = found[0]
    assert " ".join(found) == PROMISED[what]
