"""``aeronpy explain``: each station of a stream, and who limits whom."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from typing import Final

import click
from rich.table import Table
from rich.text import Text

from aeronpy.cli.common import console, directory_option, foreign, json_option, json_text, open_cnc
from aeronpy.observe.explain import Explanation, explain
from aeronpy.observe.stations import Client, Session

HEADER: Final = ("station", "position", "limit", "rate", "")


def who(client: Client) -> str:
    """A client by its name, if it has one."""
    return client.name or f"client {client.client_id}"


def speed(rate: float | None) -> str:
    """Bytes a second."""
    return "" if rate is None else f"{rate:,.0f}/s"


def left(room: int) -> str:
    """What a station may go on; a message that began before its limit may end behind it."""
    return f"{room:,} bytes left" if room > 0 else "at its limit"


def rows(session: Session) -> Iterator[tuple[str, str, str, str, str]]:
    """A line for each station, from the publication to the subscribers."""
    for pub in session.publishers:
        connected = {True: ", connected", False: ", not connected", None: ""}[pub.is_connected]
        what = f"{pub.kind}{connected}, {left(pub.limit - pub.position)}, of {who(pub.client)}"
        yield f"publication {pub.registration_id}", str(pub.position), str(pub.limit), speed(pub.rate), what
    for sender in session.senders:
        receivers = "" if sender.flow_control_receivers is None else f", {sender.flow_control_receivers} receivers"
        what = (
            f"{left(sender.limit - sender.position)}, held back {sender.back_pressure_events:,} times, "
            f"{sender.naks_received:,} NAKs received{receivers}"
        )
        yield f"sender {sender.registration_id}", str(sender.position), str(sender.limit), speed(sender.rate), what
    for receiver in session.receivers:
        window = "" if receiver.window is None else f", window {receiver.window:,}"
        gaps = "".join(f", gap of {length} at {at}" for at, length in receiver.gaps[:3])
        what = f"{receiver.hwm - receiver.position:,} bytes not whole{gaps}, {receiver.naks_sent:,} NAKs sent{window}"
        yield f"image {receiver.registration_id}", str(receiver.position), str(receiver.hwm), speed(receiver.rate), what
    for subscriber in session.subscribers:
        what = f"{subscriber.behind:,} bytes behind, of {who(subscriber.client)}"
        yield f"subscriber {subscriber.registration_id}", str(subscriber.position), "", speed(subscriber.rate), what


def rest(found: Explanation) -> Iterator[tuple[str, str]]:
    """What is not a station."""
    for end in found.ends:
        bound = f" at {', '.join(end.addresses)}" if end.addresses else ""
        yield "channel", f"{end.status}{bound}: {end.label}"
    for loss in found.loss:
        yield (
            "loss",
            f"{loss.bytes_lost:,} bytes in {loss.observations:,} gaps, session {loss.session_id} from {loss.source}",
        )
    for drop in found.drops:
        during = f", {drop.during:,} of them just now" if drop.during else ""
        whole = "" if drop.system_counter_id is None else " (of all streams, since the driver started)"
        yield "driver", f"{drop.count:,} {drop.cause}{during}{whole}"
    if found.note:
        yield "note", found.note


def plain_lines(found: Explanation) -> Iterator[str]:
    """Lines for pipes: a word, a tab, the rest."""
    for session in found.sessions:
        yield f"session\t{session.session_id}\tstream {found.stream_id}\t{' '.join(session.channels)}"
        yield from ("\t".join(row) for row in rows(session))
        yield f"limited by\t{session.limited_by}\t{session.verdict}"
        if session.remedy:
            yield f"do\t{session.remedy}"
    yield from (f"{name}\t{text}" for name, text in rest(found))


def show(found: Explanation) -> None:
    """The same for people."""
    terminal = console()
    for session in found.sessions:
        title = f"stream {found.stream_id} session {session.session_id} on {' and '.join(session.channels)}"
        terminal.print(foreign(title, "bold"))
        table = Table(*HEADER, box=None, pad_edge=False)
        for column in table.columns[1:4]:
            column.justify = "right"
        for row in rows(session):
            table.add_row(*map(foreign, row))
        terminal.print(table)
        style = "bold green" if session.limited_by == "publisher" else "bold yellow"
        terminal.print(Text(f"limited by {session.limited_by}: ", style=style) + foreign(session.verdict))
        if session.remedy:
            terminal.print(Text("do: ", style="green") + foreign(session.remedy))
        terminal.print()
    for name, text in rest(found):
        terminal.print(Text(f"{name:8}", style="cyan") + foreign(text))


@click.command("explain")
@click.argument("channel")
@click.argument("stream", type=int)
@directory_option
@json_option
@click.option("--interval", type=click.FloatRange(min=0), default=0.2, show_default=True, help="Seconds between looks.")
def command(channel: str, stream: int, aeron_dir: str, as_json: bool, interval: float) -> None:
    """Show each station of a stream with its position, who limits whom, open gaps, drops by cause, and what to do.

    Example: aeronpy explain 'aeron:udp?endpoint=10.0.0.2:40123' 1001
    """
    with open_cnc(aeron_dir):
        pass  # says so where there is no driver
    found = explain(aeron_dir, channel, stream, interval_s=interval)
    if as_json:
        click.echo(json_text(dataclasses.asdict(found)))
    elif sys.stdout.isatty():
        show(found)
    else:
        click.echo("\n".join(plain_lines(found)))
