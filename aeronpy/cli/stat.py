"""``aeronpy stat``: a driver's counters, once or again and again."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Final

import click
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from aeronpy.cli.common import (
    console,
    directory_option,
    filters_argument,
    foreign,
    json_option,
    json_text,
    open_cnc,
)
from aeronpy.observe import Counter, CounterFilter, CounterType, DriverSnapshot, SystemCounter

VALUE_WIDTH: Final = 26
RULE: Final = "=" * 70
# System counters that mean trouble as soon as they are not 0.
ALARMING: Final = frozenset(
    {
        SystemCounter.ERRORS,
        SystemCounter.INVALID_PACKETS,
        SystemCounter.UNBLOCKED_PUBLICATIONS,
        SystemCounter.UNBLOCKED_COMMANDS,
        SystemCounter.LOSS_GAP_FILLS,
        SystemCounter.CLIENT_TIMEOUTS,
        SystemCounter.FREE_FAILS,
    }
)


def title(snapshot: DriverSnapshot) -> str:
    """The first line: when, which file, who, how alive."""
    version = ".".join(map(str, snapshot.version))
    age = snapshot.heartbeat_age_ms
    life = f"heartbeat age {age}ms" if age is not None else "the driver has shut down"
    now = datetime.fromtimestamp(snapshot.taken_at_ms / 1000)
    return f"{now:%H:%M:%S} - Aeron Stat (CnC v{version}), pid {snapshot.pid}, {life}"


def plain_lines(snapshot: DriverSnapshot) -> Iterator[str]:
    """The layout that scripts know."""
    width = len(str(snapshot.max_counter_id))
    yield title(snapshot)
    yield RULE
    for each in snapshot.counters:
        yield f"{each.counter_id:>{width}}: {each.value:>{VALUE_WIDTH},} - {each.label}"
    yield "--"


def style_of(counter: Counter) -> str:
    """Red for trouble, dim for what never happened."""
    if counter.type_id == CounterType.SYSTEM and counter.counter_id in ALARMING and counter.value != 0:
        return "bold red"
    return "dim" if counter.value == 0 else ""


def screen(snapshot: DriverSnapshot) -> Group:
    """The same for people."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", style="cyan")
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    for each in snapshot.counters:
        table.add_row(str(each.counter_id), f"{each.value:,}", foreign(each.label), style=style_of(each))
    return Group(Text(title(snapshot), style="bold"), table)


def as_object(snapshot: DriverSnapshot) -> dict[str, object]:
    """What --json prints."""
    return {
        "aeron_dir": snapshot.aeron_dir,
        "cnc_version": ".".join(map(str, snapshot.version)),
        "pid": snapshot.pid,
        "start_timestamp_ms": snapshot.start_timestamp_ms,
        "heartbeat_age_ms": snapshot.heartbeat_age_ms,
        "counters": [
            {"id": c.counter_id, "type_id": c.type_id, "value": c.value, "label": c.label} for c in snapshot.counters
        ],
    }


def take(aeron_dir: str, filters: CounterFilter) -> DriverSnapshot:
    """Look once. The file is opened anew each time: a driver that was restarted has another."""
    with open_cnc(aeron_dir) as cnc:
        return DriverSnapshot.take(cnc).keep(filters)


def watch_screen(aeron_dir: str, filters: CounterFilter, interval_s: float) -> None:
    """Refresh the terminal until interrupted."""
    with Live(screen(take(aeron_dir, filters)), console=console(), auto_refresh=False, screen=True) as live:
        while True:
            time.sleep(interval_s)
            live.update(screen(take(aeron_dir, filters)), refresh=True)


@click.command("stat")
@filters_argument
@directory_option
@json_option
@click.option("--watch/--no-watch", default=None, help="Go on until interrupted; the default in a terminal.")
@click.option(
    "--interval", type=click.FloatRange(min=0.01), default=1.0, show_default=True, help="Seconds between looks."
)
def command(filters: CounterFilter, aeron_dir: str, as_json: bool, watch: bool | None, interval: float) -> None:
    """Show the counters of a driver.

    Filters are regular expressions on type=, identity=, session=, stream= and channel=; all must match.

    Example: aeronpy stat --no-watch 'type=[1-4]' channel=127.0.0.1
    """
    terminal = sys.stdout.isatty()
    watching = terminal and not as_json if watch is None else watch
    try:
        if watching and terminal and not as_json:
            watch_screen(aeron_dir, filters, interval)
        while True:
            snapshot = take(aeron_dir, filters)
            if as_json:
                click.echo(json_text(as_object(snapshot)))
            elif terminal:
                console().print(screen(snapshot))
            else:
                click.echo("\n".join(plain_lines(snapshot)))
            if not watching:
                break
            time.sleep(interval)
    except KeyboardInterrupt:
        pass  # how one leaves a watch
