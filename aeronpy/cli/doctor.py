"""``aeronpy doctor``: what is wrong with a driver or the machine below it, and what to do."""

from __future__ import annotations

import logging
import sys
from typing import Final

import click
from rich.text import Text

from aeronpy.cli.common import console, directory_option, foreign, json_option, json_text
from aeronpy.observe.doctor import findings
from aeronpy.observe.finding import Finding, Severity
from aeronpy.observe.patient import Intent

EXIT_WARNINGS: Final = 4
EXIT_ERRORS: Final = 5
STYLES: Final = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.NOTE: "cyan",
    Severity.OK: "green",
}


def environment_intent() -> Intent:
    """What a driver started from this environment would ask for."""
    from aeronpy.driver import MediaDriverContext

    log = logging.getLogger("aeronpy.config")
    before = log.level
    log.setLevel(logging.ERROR)  # what cannot be read there the driver will say at its start
    try:
        return Intent.of(MediaDriverContext())
    finally:
        log.setLevel(before)


def as_object(finding: Finding) -> dict[str, object]:
    """What --json prints of one."""
    return {
        "check": finding.check,
        "severity": finding.severity,
        "what": finding.what,
        "value": finding.value,
        "limit": finding.limit,
        "unit": finding.unit,
        "remedy": finding.remedy,
    }


def summary(found: list[Finding]) -> str:
    """How many of each."""
    counts = {severity: sum(each.severity is severity for each in found) for severity in STYLES}
    parts = [f"{counts[each]} {each}{'s' if counts[each] != 1 else ''}" for each in STYLES if each is not Severity.OK]
    return f"{', '.join(parts)}; {counts[Severity.OK]} checks are fine"


def show(found: list[Finding]) -> None:
    """For people."""
    terminal = console()
    for each in found:
        terminal.print(Text(f"{each.severity:>7}  ", style=STYLES[each.severity]) + foreign(each.what, "bold"))
        if each.measure:
            terminal.print(foreign(f"         {each.measure}"))
        if each.remedy:
            terminal.print(Text("         do: ", style="green") + foreign(each.remedy))


def exit_code(found: list[Finding]) -> int:
    """0 where nothing is wrong, else by the worst."""
    worst = max((each.severity.rank for each in found), default=0)
    return {Severity.ERROR.rank: EXIT_ERRORS, Severity.WARNING.rank: EXIT_WARNINGS}.get(worst, 0)


@click.command("doctor")
@directory_option
@json_option
@click.option("--all", "-a", "show_all", is_flag=True, help="Show what is fine, too.")
@click.option("--names/--no-names", default=True, show_default=True, help="Resolve the names in channels.")
def command(aeron_dir: str, as_json: bool, show_all: bool, names: bool) -> None:
    """Look at a driver, its directory and the machine, and say what is wrong and what to do.

    \b
    Exit codes: 0 nothing is wrong, 4 there are warnings, 5 there are errors.

    What a driver asks for is taken from AERON_* variables, as one started here would. Piped: a line for each finding,
    its severity, check, text, value, limit and remedy separated by tabs.

    Example: aeronpy doctor --aeron-dir /dev/shm/aeron-bob
    """
    found = findings(aeron_dir, intent=environment_intent(), resolve_names=names)
    shown = [each for each in found if show_all or each.severity is not Severity.OK]
    if as_json:
        worst = max((each.severity for each in found), key=lambda each: each.rank, default=Severity.OK)
        click.echo(json_text({"aeron_dir": aeron_dir, "worst": worst, "findings": [as_object(each) for each in found]}))
    elif sys.stdout.isatty():
        show(shown)
        console().print(summary(found), style="bold")
    else:
        for each in shown:
            value, limit = ("" if number is None else str(number) for number in (each.value, each.limit))
            unit = f" {each.unit}" if each.unit and each.value is not None else ""
            click.echo("\t".join([each.severity, each.check, each.what, value + unit, limit, each.remedy]))
    sys.exit(exit_code(found))
