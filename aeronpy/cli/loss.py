"""``aeronpy loss``: what a driver's images lost."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import click
from rich.table import Table

from aeronpy.cli.common import (
    console,
    directory_option,
    driver_required,
    fail_if_broken,
    foreign,
    in_line,
    json_option,
    json_text,
    time_text,
)
from aeronpy.observe import LossEntry, read_loss

HEADER: Final = (
    "#OBSERVATION_COUNT,TOTAL_BYTES_LOST,FIRST_OBSERVATION,LAST_OBSERVATION,SESSION_ID,STREAM_ID,CHANNEL,SOURCE"
)


def row(entry: LossEntry) -> list[str]:
    """The columns of one entry."""
    return [
        str(entry.observations),
        str(entry.bytes_lost),
        time_text(entry.first_observation_ms),
        time_text(entry.last_observation_ms),
        str(entry.session_id),
        str(entry.stream_id),
        entry.channel,
        entry.source,
    ]


def plain_lines(entries: Sequence[LossEntry]) -> Iterator[str]:
    """The layout that scripts know."""
    yield HEADER
    for entry in entries:
        yield ",".join(map(in_line, row(entry)))
    yield f"{len(entries)} loss entries"


def as_object(entry: LossEntry) -> dict[str, object]:
    """What --json prints of one."""
    return {
        "observations": entry.observations,
        "bytes_lost": entry.bytes_lost,
        "first_observation_ms": entry.first_observation_ms,
        "last_observation_ms": entry.last_observation_ms,
        "session_id": entry.session_id,
        "stream_id": entry.stream_id,
        "channel": entry.channel,
        "source": entry.source,
    }


def table_of(entries: Iterable[LossEntry]) -> Table:
    """The same for people."""
    table = Table("times", "bytes", "first", "last", "session", "stream", "channel", "source")
    for each in entries:
        table.add_row(*map(foreign, row(each)))
    return table


@click.command("loss")
@directory_option
@json_option
def command(aeron_dir: str, as_json: bool) -> None:
    """Show the loss report of a driver: one entry for each image that lost something.

    Example: aeronpy loss --aeron-dir /dev/shm/aeron-bob --json
    """
    with driver_required(aeron_dir):
        problems: list[str] = []
        entries = read_loss(aeron_dir, problems=problems)
    if as_json:
        click.echo(json_text([as_object(each) for each in entries]))
    elif sys.stdout.isatty():
        console().print(table_of(entries) if entries else "0 loss entries")
    else:
        click.echo("\n".join(plain_lines(entries)))
    fail_if_broken(problems)
