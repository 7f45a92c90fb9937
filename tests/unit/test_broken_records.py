"""One broken record in a driver's files: it is shown as broken, and all that can be read beside it is shown too."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from aeronpy.errors import CorruptError
from aeronpy.observe import read_error_file, read_errors
from aeronpy.observe.cnc import read_cnc_report
from aeronpy.observe.doctor import findings
from tests.unit.cli_runs import run
from tests.unit.cnc_files import ERRORS_AT, METADATA_AT, CncBytes, loss_entry, stream_key, write_loss

CHANNEL = "aeron:udp?endpoint=127.0.0.1:40456"
BAD = 2  # the counter that is broken


def three_counters(change: Callable[[bytearray, int], None]) -> CncBytes:
    """Three counters of one stream, of which something is changed in the metadata of the second."""
    written = CncBytes(pid=os.getpid())
    written.counter(0, 0, "Bytes sent", 9, key=struct.pack("<i", 0))
    for counter_id, (type_id, name) in enumerate([(12, "pub-pos"), (1, "pub-lmt"), (4, "sub-pos")], 1):
        key = stream_key(7, -5, 1001, CHANNEL)
        written.counter(counter_id, type_id, f"{name}: 7 -5 1001 {CHANNEL}", 64 * counter_id, key=key)
    change(written.data, METADATA_AT + 512 * BAD)
    return written


def label_of(length: int) -> Callable[[bytearray, int], None]:
    return lambda data, at: struct.pack_into("<i", data, at + 128, length)


@pytest.mark.parametrize("length", [381, 1 << 30, -1, -(1 << 31)])
def test_a_counter_with_an_impossible_label_is_shown_as_such_among_the_others(tmp_path: Path, length: int) -> None:
    three_counters(label_of(length)).write(tmp_path)
    found = json.loads(run("stat", "-d", tmp_path, "--json").output)["counters"]
    assert [(each["id"], each["value"]) for each in found] == [(0, 9), (1, 64), (2, 128), (3, 192)]
    assert found[BAD]["label"] == f"(broken: a label of {length} bytes, counters have 0 to 380)"
    assert found[3]["label"] == f"sub-pos: 7 -5 1001 {CHANNEL}"
    for tool in ("stat", "counters"):
        result = run(tool, "-d", tmp_path)
        assert (result.exit_code, str(length) in result.output, "sub-pos" in result.output) == (0, True, True)
    (stream,) = json.loads(run("streams", "-d", tmp_path, "--json").output)
    assert [each["value"] for each in stream["counters"]] == [64, 128, 192]
    explained = json.loads(run("explain", CHANNEL, "1001", "-d", tmp_path, "--interval", "0", "--json").output)
    (publisher,) = explained["sessions"][0]["publishers"]
    assert (publisher["position"], publisher["limit"]) == (64, 128)
    assert read_cnc_report(tmp_path).problems == [f"counter {BAD} has a label of {length} bytes"]
    assert any(each.check == "cnc.corrupt" and f"counter {BAD}" in each.what for each in findings(tmp_path))


def test_bytes_that_are_no_text_stay_on_their_counters_line(tmp_path: Path) -> None:
    def change(data: bytearray, at: int) -> None:
        data[at + 132 : at + 140] = b"\xff\xfe\n\r\t\x1b\xc3\x28"

    three_counters(change).write(tmp_path)
    for tool, rows in (("stat", 7), ("counters", 5), ("streams", 1)):
        result = run(tool, "-d", tmp_path)
        assert result.exit_code == 0
        assert len(result.output.splitlines()) == rows
        assert "\x1b" not in result.output
    assert json.loads(run("stat", "-d", tmp_path, "--json").output)["counters"][BAD]["value"] == 128


@pytest.mark.parametrize("length", [23, 1 << 30, -24])
def test_errors_before_a_broken_record_are_shown_and_the_break_is_an_error(tmp_path: Path, length: int) -> None:
    written = three_counters(lambda data, at: None)
    for text in ("first", "second", "third"):
        written.error(text, 1, 5, 6)
    second = ERRORS_AT + 32
    struct.pack_into("<i", written.data, second, length)
    written.write(tmp_path)
    shown = run("errors", "-d", tmp_path, "--json")
    assert (shown.exit_code, json.loads(shown.stdout)[0]["text"]) == (1, "first")
    assert isinstance(shown.exception, CorruptError)
    assert f"error record of {length} bytes at offset 32" in str(shown.exception)
    with pytest.raises(CorruptError, match="offset 32"):
        read_errors(tmp_path)
    problems: list[str] = []
    path = tmp_path / "mark.dat"
    path.write_bytes(written.data)
    assert [each.text for each in read_error_file(path, ERRORS_AT, 4096, problems=problems)] == ["first"]
    assert len(problems) == 1
    with pytest.raises(CorruptError, match="offset 32"):
        read_error_file(path, ERRORS_AT, 4096)


def test_loss_before_a_broken_entry_is_shown_and_the_break_is_an_error(tmp_path: Path) -> None:
    three_counters(lambda data, at: None).write(tmp_path)
    entry = loss_entry((4, 5632, 3, 4, -5, 1001), CHANNEL, "10.0.0.1:5")
    data = bytearray(entry * 3)
    struct.pack_into("<i", data, len(entry) + 40, 1 << 20)  # the second one's channel
    write_loss(tmp_path, bytes(data))
    shown = run("loss", "-d", tmp_path, "--json")
    assert (shown.exit_code, [each["bytes_lost"] for each in json.loads(shown.stdout)]) == (1, [5632])
    assert f"loss entry at offset {len(entry)}" in str(shown.exception)
    explained = json.loads(run("explain", CHANNEL, "1001", "-d", tmp_path, "--interval", "0", "--json").output)
    assert [each["bytes_lost"] for each in explained["loss"]] == [5632]
    assert f"loss entry at offset {len(entry)}" in explained["note"]
    assert any(each.check == "loss.report" for each in findings(tmp_path))
