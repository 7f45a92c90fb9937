"""``aeronpy stat``: a driver's counters, once or again and again."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from aeronpy.cli.common import (
    NoDriver,
    console,
    directory_option,
    filters_argument,
    foreign,
    in_line,
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
        yield f"{each.counter_id:>{width}}: {each.value:>{VALUE_WIDTH},} - {in_line(each.label)}"
    yield "--"


def style_of(counter: Counter) -> str:
    """Red for trouble, dim for what never happened."""
    if counter.type_id == CounterType.SYSTEM and counter.counter_id in ALARMING and counter.value != 0:
        return "bold red"
    return "dim" if counter.value == 0 else ""


def fitting(counters: Sequence[Counter], rows: int) -> tuple[Sequence[Counter], str]:
    """As many counters as there are rows, those that are 0 first to go, and a word for the rest."""
    if len(counters) <= rows:
        return counters, ""
    moved = [each for each in counters if each.value != 0]
    shown = moved[: max(rows - 1, 1)]
    zeroes, cut = len(counters) - len(moved), len(moved) - len(shown)
    parts = [f"{zeroes} that are 0"] if zeroes else []
    parts += [f"{cut} more" if zeroes else f"{cut} counters"] if cut else []
    return shown, f"not shown: {' and '.join(parts)}; choose by type=, stream=, channel="


def screen(snapshot: DriverSnapshot, rows: int | None = None) -> Group:
    """The same for people, on so many rows."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", style="cyan")
    table.add_column(justify="right")
    table.add_column(overflow="fold" if rows is None else "ellipsis", no_wrap=rows is not None)
    shown, rest = (snapshot.counters, "") if rows is None else fitting(snapshot.counters, rows - 1)
    for each in shown:
        table.add_row(str(each.counter_id), f"{each.value:,}", foreign(each.label), style=style_of(each))
    return Group(Text(title(snapshot), style="bold"), table, *([Text(rest, style="dim")] if rest else []))


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
    """Refresh the terminal until interrupted; a driver that goes may come back."""
    terminal = console()

    def look() -> RenderableType:
        return screen(take(aeron_dir, filters), terminal.size.height)

    with Live(look(), console=terminal, auto_refresh=False, screen=True) as live:
        while True:
            time.sleep(interval_s)
            try:
                live.update(look(), refresh=True)
            except NoDriver as gone:
                live.update(foreign(f"waiting for a driver: {gone.message}", "bold yellow"), refresh=True)


def watch_lines(
    aeron_dir: str, filters: CounterFilter, interval_s: float, show: Callable[[DriverSnapshot], None]
) -> None:
    """Print again and again until interrupted; a driver that goes may come back."""
    show(take(aeron_dir, filters))
    while True:
        time.sleep(interval_s)
        try:
            show(take(aeron_dir, filters))
        except NoDriver as gone:
            gone.show()


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

    def show(snapshot: DriverSnapshot) -> None:
        if as_json:
            click.echo(json_text(as_object(snapshot)))
        elif terminal:
            console().print(screen(snapshot))
        else:
            click.echo("\n".join(plain_lines(snapshot)))

    try:
        if watch is False or (watch is None and (as_json or not terminal)):
            show(take(aeron_dir, filters))
        elif terminal and not as_json:
            watch_screen(aeron_dir, filters, interval)
        else:
            watch_lines(aeron_dir, filters, interval, show)
    except KeyboardInterrupt:
        pass  # how one leaves a watch
