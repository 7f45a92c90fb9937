"""``aeronpy errors``: the distinct errors of a driver, or of another file with an error log."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import click
from rich.padding import Padding
from rich.text import Text

from aeronpy.cli.common import (
    console,
    directory_option,
    driver_required,
    fail_if_broken,
    foreign,
    json_option,
    json_text,
    time_text,
)
from aeronpy.observe import ErrorRecord, read_error_file, read_errors


def heading(record: ErrorRecord) -> str:
    """How often and when."""
    first, last = time_text(record.first_observation_ms), time_text(record.last_observation_ms)
    return f"{record.observations} observations from {first} to {last} for:"


def plain_lines(records: Sequence[ErrorRecord]) -> Iterator[str]:
    """The layout that scripts know."""
    for record in records:
        yield heading(record)
        yield record.text
        yield ""
    yield f"{len(records)} distinct errors observed."


def as_object(record: ErrorRecord) -> dict[str, object]:
    """What --json prints of one."""
    return {
        "observations": record.observations,
        "first_observation_ms": record.first_observation_ms,
        "last_observation_ms": record.last_observation_ms,
        "text": record.text,
    }


@click.command("errors")
@directory_option
@json_option
@click.option("--since-ms", type=int, default=0, help="Only errors seen at this time (epoch, ms) or later.")
@click.option(
    "--file",
    "path",
    type=click.Path(exists=True, dir_okay=False),
    help="Read a file with an error log instead of a driver's.",
)
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Where in --file the error log starts.")
def command(aeron_dir: str, as_json: bool, since_ms: int, path: str | None, offset: int) -> None:
    """Show the distinct errors that a driver recorded.

    Example: aeronpy errors --file archive-mark.dat --offset 8192
    """
    problems: list[str] = []
    if path is None:
        with driver_required(aeron_dir):
            records = read_errors(aeron_dir, since_ms, problems=problems)
    else:
        found = read_error_file(path, offset, problems=problems)
        records = [each for each in found if each.last_observation_ms >= since_ms]

    if as_json:
        click.echo(json_text([as_object(each) for each in records]))
    elif sys.stdout.isatty():
        terminal = console()
        for each in records:
            terminal.print(Text(heading(each), style="bold red"))
            terminal.print(Padding(foreign(each.text.rstrip()), (0, 0, 1, 2)))
        terminal.print(f"{len(records)} distinct errors observed.")
    else:
        click.echo("\n".join(plain_lines(records)))
    fail_if_broken(problems)
