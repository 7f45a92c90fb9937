"""``aeronpy driver``: runs a driver, and asks one that runs: its pid, its version, what it is, and to end."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Final

import click
from rich.text import Text

from aeronpy.cli.common import (
    NoDriver,
    console,
    directory_option,
    driver_required,
    foreign,
    json_option,
    json_text,
    open_cnc,
    second_text,
)
from aeronpy.observe import DriverSnapshot
from aeronpy.observe.driver import DriverDescription, Life, describe, life_of
from aeronpy.observe.files import CNC_FILE

POLL_S: Final = 0.01


class DriverGroup(click.Group):
    """Runs a driver unless the first argument names a subcommand: options and files are those of ``run``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put ``run`` in front where nothing else is asked for."""
        if not args or (args[0] not in self.list_commands(ctx) and args[0] not in ("-h", "--help")):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Running one comes first."""
        return ["run", *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """``run`` brings the whole driver, so it is imported when it is asked for."""
        if cmd_name == "run":
            from aeronpy.cli.driver import command as run

            return run
        return super().get_command(ctx, cmd_name)


@click.group(cls=DriverGroup)
def command() -> None:
    """Run a media driver, which is what happens without a subcommand, or ask one that runs.

    Example: aeronpy driver -Daeron.dir=/dev/shm/aeron-demo & aeronpy driver describe -d /dev/shm/aeron-demo
    """


def take(aeron_dir: str) -> tuple[DriverSnapshot, DriverDescription]:
    """Look once."""
    with open_cnc(aeron_dir) as cnc:
        snapshot = DriverSnapshot.take(cnc)
        return snapshot, describe(snapshot, cnc.client_liveness_timeout_ns, cnc.file_page_size)


def state_text(found: DriverDescription) -> str:
    """Whether it lives, in a sentence's end."""
    if found.heartbeat_age_ms is None:
        return str(found.life)
    return f"{found.life}, heartbeat age {found.heartbeat_age_ms}ms"


@command.command("pid")
@directory_option
@json_option
def pid_command(aeron_dir: str, as_json: bool) -> None:
    """Print the process id of the driver. Exit code 3 when it does not live: the id may be somebody else's now.

    Example: kill -TERM "$(aeronpy driver pid)"
    """
    with open_cnc(aeron_dir) as cnc:
        pid, life = cnc.pid, life_of(DriverSnapshot.take(cnc))
    click.echo(json_text({"pid": pid, "life": life}) if as_json else pid)
    if life is not Life.ALIVE:
        raise NoDriver(f"the driver with this pid in {aeron_dir} is not alive: {life}")


@command.command("version")
@directory_option
@json_option
def version_command(aeron_dir: str, as_json: bool) -> None:
    """Print the versions of the driver: its software, its control protocol, its CnC file.

    Example: aeronpy driver version --json
    """
    _, found = take(aeron_dir)
    if as_json:
        names = ("aeron_version", "commit", "control_protocol_version", "cnc_version")
        click.echo(json_text({name: getattr(found, name) for name in names}))
        return
    click.echo(f"aeron version={found.aeron_version or 'unknown'} commit={found.commit or 'unknown'}")
    click.echo(f"control protocol version={found.control_protocol_version or 'unknown'}")
    click.echo(f"cnc version={found.cnc_version}")


def _report(snapshot: DriverSnapshot, found: DriverDescription) -> Iterator[str]:
    """The three lines that scripts know."""
    major, minor, patch = snapshot.version
    yield f"Command `n Control file: {found.aeron_dir.rstrip('/')}/{CNC_FILE}"
    yield f"Version: {major << 16 | minor << 8 | patch}, PID: {found.pid}"
    beat = found.heartbeat_timestamp_ms
    activity = second_text(beat) if beat > 0 else str(found.life)
    now = datetime.fromtimestamp(snapshot.taken_at_ms / 1000)
    yield f"{now:%H:%M:%S} (start: {second_text(found.start_timestamp_ms)}, activity: {activity})"


def _facts(found: DriverDescription) -> Iterator[tuple[str, str]]:
    yield "Driver", state_text(found)
    yield "Aeron", f"version={found.aeron_version or 'unknown'} commit={found.commit or 'unknown'}"
    yield "CnC version", found.cnc_version
    yield "Control protocol version", found.control_protocol_version or "unknown"
    yield "Threading mode", found.threading_mode or "unknown"
    yield "Resolver name", found.resolver_name or "none"
    yield "Client liveness timeout", f"{found.client_liveness_timeout_ns / 1e9:g}s"
    yield "File page size", str(found.file_page_size)
    yield "Bytes mapped", "unknown" if found.bytes_mapped is None else f"{found.bytes_mapped:,}"
    yield "Clients", str(found.clients)
    yield "Publications", str(found.publications)
    yield "Subscriptions with images", str(found.subscriptions)
    yield "Images", str(found.images)
    yield "Channel endpoints", str(found.channels)
    yield "Errors", "unknown" if found.errors is None else str(found.errors)


@command.command("describe")
@directory_option
@json_option
def describe_command(aeron_dir: str, as_json: bool) -> None:
    """Say what the driver is: pid, versions, threading mode, and how much it serves.

    Example: aeronpy driver describe -d /dev/shm/aeron-bob
    """
    snapshot, found = take(aeron_dir)
    if as_json:
        click.echo(json_text(dataclasses.asdict(found)))
    elif sys.stdout.isatty():
        terminal = console()
        for line in _report(snapshot, found):
            terminal.print(foreign(line, "dim"))
        for name, value in _facts(found):
            terminal.print(Text(f"{name:>26}  ", style="cyan") + foreign(value))
    else:
        for line in _report(snapshot, found):
            click.echo(line)
        for name, value in _facts(found):
            click.echo(f"{name}: {value}")


def _gone(aeron_dir: str) -> bool:
    try:
        with open_cnc(aeron_dir) as cnc:
            return cnc.heartbeat_timestamp_ms < 0
    except NoDriver:
        return True


@command.command("terminate")
@directory_option
@json_option
@click.option("--token", default="", help="What the driver's termination validator wants to see.")
@click.option("--wait", "wait_s", type=click.FloatRange(min=0), default=0.0, help="Wait so many seconds for its end.")
def terminate_command(aeron_dir: str, as_json: bool, token: str, wait_s: float) -> None:
    """Ask the driver to end. It may refuse: Aeron's drivers deny this unless their termination validator allows it.

    A refusal cannot be heard, so --wait looks whether the driver ends, and exits with 1 where it does not.

    Example: aeronpy driver terminate --token secret --wait 10
    """
    from aeronpy.client.aeron import request_driver_termination

    with open_cnc(aeron_dir) as cnc:
        pid = cnc.pid
    with driver_required(aeron_dir):
        request_driver_termination(aeron_dir, token.encode())
    deadline = time.monotonic() + wait_s
    gone = False
    while wait_s and not (gone := _gone(aeron_dir)) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    if as_json:
        click.echo(json_text({"pid": pid, "requested": True, "ended": gone if wait_s else None}))
    elif sys.stdout.isatty():
        click.echo(f"driver {pid} has ended" if gone else f"driver {pid} was asked to end")
    if wait_s and not gone:
        raise click.ClickException(
            f"the driver (pid {pid}) is still there after {wait_s:g} s: its termination validator has to allow it "
            "(aeron.driver.termination.validator=allow, or one that knows the token), or end the process"
        )
