"""``aeronpy bench``: how fast messages are on this machine."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Final

import click
from rich.table import Table

from aeronpy.bench.user import QUICK, Plan, measure
from aeronpy.cli.common import console, json_option

_MEGA: Final = 1e6


def _value(value: float, unit: str) -> str:
    return f"{value / _MEGA:,.2f} M {unit}" if unit == "messages/s" else f"{value / 1000:,.1f} us"


def _row(line: dict[str, Any]) -> list[str]:
    has_peer = line["peer"] is not None
    return [
        line["figure"],
        str(line["size"]),
        _value(line["ours"], line["unit"]),
        _value(line["peer"], line["unit"]) if has_peer else "",
        f"{line['ratio']:.2f}" if has_peer else "",
        " to ".join(f"{each:.2f}" if has_peer else _value(each, line["unit"]) for each in line["interval"]),
    ]


@click.command("bench")
@click.option("--quick", is_flag=True, help="Half a minute, with fewer rounds and sizes.")
@click.option("--rounds", type=click.IntRange(min=1), help="Rounds of each figure.")
@click.option("--seconds", type=click.FloatRange(min=0.01), help="Length of one round.")
@click.option("--size", "sizes", type=click.IntRange(8, 65536), multiple=True, help="Bytes of a message; repeatable.")
@json_option
def command(quick: bool, rounds: int | None, seconds: float | None, sizes: tuple[int, ...], as_json: bool) -> None:
    """Measure throughput and round trips between processes of this machine, over shared memory and UDP.

    Each end is a process of its own, the driver too. Round trips are sent at a fixed rate and timed from when each
    message was due. Where pyaeron is installed, it is measured in the same rounds, and the ratio is ours/pyaeron.
    Trials beside a noisy neighbour are repeated.

    Example: aeronpy bench --quick
    """
    plan = QUICK if quick else Plan()
    given = {"rounds": rounds, "round_s": seconds, "sizes": sizes or None}
    plan = dataclasses.replace(plan, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    screen = console()
    if as_json or not screen.is_terminal:
        for line in measure(plan):
            click.echo(json.dumps(line) if as_json or "machine" in line else "  ".join(_row(line)))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("figure", "bytes", "ours", "pyaeron", "ratio", "95 % of the median"):
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    with screen.status("starting drivers") as status:
        for line in measure(plan, status.update):
            if "machine" not in line:
                table.add_row(*_row(line))
    screen.print(table)
