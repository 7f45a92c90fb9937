"""``aeronpy streams``: a driver's counters put together by stream."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.table import Table

from aeronpy.cli.common import (
    directory_option,
    filters_argument,
    foreign,
    in_line,
    json_option,
    open_cnc,
    show_streams,
    stream_title,
)
from aeronpy.observe import CounterFilter, Stream, group_streams, read_counters


def plain_lines(stream: Stream) -> Iterator[str]:
    """The layout that scripts know: one line."""
    counters = " ".join(f"{in_line(each.name)}:{each.registration_id}:{each.value}" for each in stream.counters)
    yield stream_title(stream) + counters


def table_of(stream: Stream) -> Table:
    """The same for people."""
    table = Table(box=None, pad_edge=False)
    table.add_column("counter")
    table.add_column("registration", justify="right")
    table.add_column("value", justify="right")
    for each in stream.counters:
        table.add_row(foreign(each.name), str(each.registration_id), f"{each.value:,}")
    return table


@click.command("streams")
@filters_argument
@directory_option
@json_option
def command(filters: CounterFilter, aeron_dir: str, as_json: bool) -> None:
    """Show positions, limits and loss of each stream of a driver.

    Example: aeronpy streams stream=1001
    """
    with open_cnc(aeron_dir) as cnc:
        streams = group_streams(filter(filters, read_counters(cnc.counters)))
    show_streams(streams, as_json, table_of, plain_lines)
