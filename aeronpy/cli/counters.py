"""``aeronpy counters``: everything that is known about a driver's counters."""

from __future__ import annotations

import dataclasses
import sys

import click
from rich.table import Table

from aeronpy.cli.common import (
    console,
    directory_option,
    filters_argument,
    foreign,
    in_line,
    json_option,
    json_text,
    open_cnc,
)
from aeronpy.observe import Counter, CounterFilter, read_counters, type_name

HEADER = ("id", "type", "value", "registration", "owner", "reference", "key", "label")


def key_text(counter: Counter) -> str:
    """The key's fields as name=value."""
    if counter.key is None:
        return ""
    return " ".join(f"{name}={value}" for name, value in dataclasses.asdict(counter.key).items())


def row(counter: Counter) -> list[str]:
    """The columns of one counter."""
    return [
        str(counter.counter_id),
        type_name(counter.type_id),
        str(counter.value),
        str(counter.registration_id),
        str(counter.owner_id),
        str(counter.reference_id),
        key_text(counter),
        counter.label,
    ]


@click.command("counters")
@filters_argument
@directory_option
@json_option
def command(filters: CounterFilter, aeron_dir: str, as_json: bool) -> None:
    """Show all that is known about counters: type, value, owner, decoded key; tab-separated when piped.

    Example: aeronpy counters type=11 --json
    """
    with open_cnc(aeron_dir) as cnc:
        found = list(filter(filters, read_counters(cnc.counters)))
    if as_json:
        click.echo(json_text(found))
    elif sys.stdout.isatty():
        table = Table(*HEADER)
        for each in found:
            table.add_row(*map(foreign, row(each)))
        console().print(table)
    else:
        click.echo("\t".join(HEADER))
        for each in found:
            click.echo("\t".join(map(in_line, row(each))))
