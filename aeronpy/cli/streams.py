"""``aeronpy streams``: a driver's counters put together by stream."""

from __future__ import annotations

import sys

import click
from rich.table import Table

from aeronpy.cli.common import (
    console,
    directory_option,
    filters_argument,
    foreign,
    json_option,
    json_text,
    open_cnc,
)
from aeronpy.observe import CounterFilter, Stream, group_streams, read_counters


def plain_line(stream: Stream) -> str:
    """The layout that scripts know."""
    counters = " ".join(f"{each.name}:{each.registration_id}:{each.value}" for each in stream.counters)
    return f"sessionId={stream.session_id} streamId={stream.stream_id} channel={stream.channel} : {counters}"


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
    if as_json:
        click.echo(json_text(streams))
    elif sys.stdout.isatty():
        for each in streams:
            title = f"{each.channel} stream {each.stream_id} session {each.session_id}"
            console().print(foreign(title, "bold"), table_of(each), "", sep="\n")
    else:
        for each in streams:
            click.echo(plain_line(each))
