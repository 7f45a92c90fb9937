"""``aeronpy backlog``: what waits between the stations of each stream."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.table import Table
from rich.text import Text

from aeronpy.cli.common import (
    directory_option,
    filters_argument,
    json_option,
    open_cnc,
    show_streams,
    stream_title,
)
from aeronpy.observe import CounterFilter, StreamBacklog, read_backlog, read_counters


def plain_lines(stream: StreamBacklog) -> Iterator[str]:
    """The layout that scripts know; it has no place for subscribers without a receiver, so `--json` says more."""
    yield stream_title(stream)
    senders = {each.registration_id: each for each in stream.senders}
    for publisher in stream.publishers:
        name, remaining = publisher.registration_id, publisher.remaining
        yield (
            f"┌─for publisher {name} the last sampled position is {publisher.position} "
            f"(~{remaining} bytes before back-pressure)"
        )
        sender = senders.get(name)
        if sender is None:
            yield "└─no sender"
        else:
            yield (
                f"└─sender {name} has to send {sender.backlog} bytes "
                f"({sender.window} bytes remaining in the sender window)"
            )
    if stream.receivers:
        for receiver in stream.receivers:
            yield f"┌─receiver {receiver.registration_id} is at position {receiver.position}"
        last = len(stream.subscribers) - 1
        for index, subscriber in enumerate(stream.subscribers):
            corner = "└" if index == last else "├"
            yield f"{corner}─subscriber {subscriber.registration_id} has {subscriber.backlog} backlog bytes"
    yield ""


def table_of(stream: StreamBacklog) -> Table:
    """The same for people, with all subscribers."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="cyan")
    table.add_column(justify="right")
    table.add_column()
    for publisher in stream.publishers:
        table.add_row(f"publisher {publisher.registration_id}", f"{publisher.remaining:,}", "bytes until it must wait")
    for sender in stream.senders:
        what = f"bytes to send, {sender.window:,} more allowed by the receivers"
        table.add_row(f"sender {sender.registration_id}", f"{sender.backlog:,}", what)
    for receiver in stream.receivers:
        table.add_row(f"receiver {receiver.registration_id}", f"{receiver.position:,}", "is its position")
    for subscriber in stream.subscribers:
        style = "bold yellow" if subscriber.backlog > 0 else ""
        count = Text(f"{subscriber.backlog:,}", style=style)
        table.add_row(f"subscriber {subscriber.registration_id}", count, "bytes to consume")
    return table


@click.command("backlog")
@filters_argument
@directory_option
@json_option
def command(filters: CounterFilter, aeron_dir: str, as_json: bool) -> None:
    """Show what is written and not sent, and what has arrived and is not consumed, for each stream.

    Example: aeronpy backlog stream=1001
    """
    with open_cnc(aeron_dir) as cnc:
        streams = read_backlog(filter(filters, read_counters(cnc.counters)))
    show_streams(streams, as_json, table_of, plain_lines)
