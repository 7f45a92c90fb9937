"""``aeronpy cnc``: the CnC file laid open, also one that is broken."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator

import click
from rich.text import Text

from aeronpy.cli.common import console, directory_option, driver_required, foreign, json_option, json_text, time_text
from aeronpy.observe.cnc import CncReport, Message, read_cnc_report


def message_text(message: Message | None) -> str:
    """A record in a line."""
    if message is None:
        return "none"
    return f"{message.name} ({message.length} bytes at {message.position})"


def rows(report: CncReport) -> Iterator[tuple[str, str]]:
    """Names and values, one line each."""
    yield "file", report.path
    yield "file.length", str(report.file_length)
    yield "file.allocated", str(report.allocated_bytes)
    if report.header is not None:
        header = report.header
        yield "header.version", header.version_text
        yield "header.pid", str(header.pid)
        yield "header.start", time_text(header.start_timestamp_ms)
        yield "header.client_liveness_timeout_ns", str(header.client_liveness_timeout_ns)
        yield "header.file_page_size", str(header.file_page_size)
    for section in report.sections:
        yield f"section.{section.name}", f"{section.length} bytes at {section.offset}"
    if report.to_driver is not None:
        ring = report.to_driver
        yield "to_driver.capacity", str(ring.capacity)
        yield "to_driver.tail_position", str(ring.tail_position)
        yield "to_driver.head_position", str(ring.head_position)
        yield "to_driver.head_cache_position", str(ring.head_cache_position)
        yield "to_driver.next_correlation_id", str(ring.next_correlation_id)
        alive = ring.heartbeat_timestamp_ms > 0
        shut = "shut down" if ring.heartbeat_timestamp_ms < 0 else "none yet"
        yield "to_driver.heartbeat", time_text(ring.heartbeat_timestamp_ms) if alive else shut
        yield "to_driver.pending_bytes", str(ring.pending_bytes)
        for message in ring.pending:
            yield "to_driver.pending", message_text(message)
    if report.to_clients is not None:
        clients = report.to_clients
        yield "to_clients.capacity", str(clients.capacity)
        yield "to_clients.tail_intent", str(clients.tail_intent)
        yield "to_clients.tail", str(clients.tail)
        yield "to_clients.latest", str(clients.latest)
        yield "to_clients.latest_message", message_text(clients.latest_message)
    if report.counters is not None:
        counters = report.counters
        yield "counters.capacity", str(counters.capacity)
        yield "counters.allocated", str(counters.allocated)
        yield "counters.reclaimed", str(counters.reclaimed)
    if report.error_log is not None:
        yield "error_log.distinct_errors", str(report.error_log.distinct_errors)
        yield "error_log.used_bytes", f"{report.error_log.used_bytes} of {report.error_log.length}"
    for problem in report.problems:
        yield "problem", problem


@click.command("cnc")
@directory_option
@json_option
def command(aeron_dir: str, as_json: bool) -> None:
    """Dump the CnC file: header, lengths, ring and broadcast state, counters and error log, and what is wrong there.

    Exit code 1 when something is wrong with the file.

    Example: aeronpy cnc --aeron-dir /dev/shm/aeron-bob --json
    """
    with driver_required(aeron_dir):
        report = read_cnc_report(aeron_dir)
    if as_json:
        click.echo(json_text(dataclasses.asdict(report)))
    elif sys.stdout.isatty():
        terminal = console()
        for name, value in rows(report):
            style = "bold red" if name == "problem" else "cyan"
            terminal.print(Text(f"{name:34}", style=style) + foreign(value))
    else:
        for name, value in rows(report):
            click.echo(f"{name}: {value}")
    if report.problems:
        sys.exit(1)
