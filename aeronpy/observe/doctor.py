"""The doctor: looks at a driver's directory and at the machine below it, and says what is wrong and what to do.

`findings` never raises, never waits and changes nothing, so that errors on connect can carry what it says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from os import PathLike
from typing import TYPE_CHECKING, Final

from aeronpy.observe.checks import counters, directory, names, process, sockets, space
from aeronpy.observe.finding import Finding, Severity, by_severity
from aeronpy.observe.patient import Intent, Patient

if TYPE_CHECKING:
    from aeronpy.driver import MediaDriverContext

Check = Callable[[Patient], Iterable[Finding]]

_MACHINE: Final[tuple[Check, ...]] = (
    space.check_space,
    space.check_promises,
    space.check_memory,
    sockets.check_limits,
    process.check_files,
    process.check_maps,
)
# What can keep a client from its driver, and a driver from its start.
CLIENT_CHECKS: Final[tuple[Check, ...]] = (directory.check_directory, directory.check_life, *_MACHINE)
DRIVER_CHECKS: Final[tuple[Check, ...]] = (directory.check_taken, *_MACHINE)
# What can go wrong later.
RUNNING_CHECKS: Final[tuple[Check, ...]] = (
    directory.check_leftovers,
    sockets.check_streams,
    sockets.check_drops,
    counters.check_room,
    counters.check_commands,
    counters.check_clients,
    counters.check_channels,
    counters.check_system,
    counters.check_errors,
    counters.check_loss,
    names.check_loopback,
    names.check_versions,
)
ADVICE_MAX: Final = 5


def findings(
    aeron_dir: str | PathLike[str], *, intent: Intent | None = None, resolve_names: bool = False
) -> list[Finding]:
    """All that can be found out about a directory and its driver, the worst first.

    Reads files only, some milliseconds long; with ``resolve_names`` it also asks for the names in channels, which
    may take some seconds. ``intent`` is what a driver started here would ask for: Aeron's defaults unless given.
    """
    checks = CLIENT_CHECKS + RUNNING_CHECKS
    return _examine(aeron_dir, intent, (*checks, names.check_names) if resolve_names else checks)


def _examine(aeron_dir: str | PathLike[str], intent: Intent | None, checks: tuple[Check, ...]) -> list[Finding]:
    try:
        patient = Patient.examine(os.fsdecode(aeron_dir), intent or Intent())
    except Exception as error:
        return [_failed("doctor.examine", error)]
    found: list[Finding] = []
    for check in checks:
        try:
            found += check(patient)
        except Exception as error:
            found.append(_failed(f"doctor.{check.__name__}", error))
    return by_severity(found)


def _failed(check: str, error: Exception) -> Finding:
    return Finding(check, Severity.NOTE, f"this check failed: {type(error).__name__}: {error}")


def advice(aeron_dir: str | PathLike[str], starting: MediaDriverContext | None = None) -> str:
    """What keeps a client from its driver, or a driver from ``starting``, as lines to put behind an error's text.

    Empty where nothing was found. Never raises.
    """
    if starting is None:
        found = _examine(aeron_dir, None, CLIENT_CHECKS)
    else:
        found = _examine(aeron_dir, Intent.of(starting), DRIVER_CHECKS)
    bad = [each for each in found if each.severity.rank >= Severity.WARNING.rank]
    lines = [f"\n  {each.severity}: {each.sentence}" for each in bad[:ADVICE_MAX]]
    if len(bad) > ADVICE_MAX:
        lines.append(f"\n  and {len(bad) - ADVICE_MAX} more: run `aeronpy doctor --aeron-dir {os.fsdecode(aeron_dir)}`")
    return "".join(lines)
