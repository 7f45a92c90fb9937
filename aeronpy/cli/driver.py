"""``aeronpy driver``, and ``aeronpy-driver``, which takes the flags of Aeron's own ``aeronmd``."""

from __future__ import annotations

import logging
import os
import signal
import sys
from types import FrameType
from typing import Final

import click

from aeronpy import __version__
from aeronpy.config import load_properties
from aeronpy.driver import MediaDriver, MediaDriverContext, ThreadingMode
from aeronpy.errors import AeronError

EXIT_FAILED: Final = 1
SIGNAL_POLL_S: Final = 0.1
_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def _context(defines: tuple[str, ...], files: tuple[str, ...]) -> MediaDriverContext:
    """Settings from the environment, then properties files in order, then -D; an empty value unsets."""
    properties: dict[str, str] = {}
    environment = dict(os.environ)
    given: list[tuple[str, str]] = []
    for source in files:
        try:
            given += load_properties(source).items()
        except (OSError, ValueError) as error:
            raise click.ClickException(f"properties file {source}: {error}") from None
    for define in defines:
        name, equals, value = define.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"-D{define} is not -Dname=value")
        given.append((name, value))
    for name, value in given:
        environment.pop(name.upper().replace(".", "_"), None)
        properties.pop(name, None)
        if value:
            properties[name] = value
    return MediaDriverContext(properties=properties, environment=environment)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    major, minor, patch = ([*__version__.split("."), "0", "0"])[:3]
    click.echo(
        f"{sys.argv[0]} <aeron version={__version__} commit=aeronpy> "
        f"major {major} minor {minor} patch {patch} git aeronpy"
    )
    ctx.exit(0)


def _serve(driver: MediaDriver, received: list[int]) -> None:
    """Until a signal, or until a client may end the driver and does."""
    if driver.context.threading_mode is ThreadingMode.INVOKER:
        while not (received or driver.terminated.is_set()):
            driver.idle(driver.do_work())
    else:
        while not (received or driver.terminated.wait(SIGNAL_POLL_S)):
            pass


@click.command()
@click.option("-v", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version.")
@click.option("-D", "defines", multiple=True, metavar="NAME=VALUE", help="Set an option; no value: unset it.")
@click.argument("files", nargs=-1, metavar="[PROPERTIES]...")
def command(defines: tuple[str, ...], files: tuple[str, ...]) -> None:
    """Run a media driver until SIGINT or SIGTERM; the exit status is the signal's number.

    Options come from AERON_* variables, properties files (paths or URLs) and -D, by the names of Aeron's own driver.

    Example: aeronpy driver -Daeron.dir=/dev/shm/aeron-demo -Daeron.threading.mode=SHARED
    """
    logging.basicConfig(stream=sys.stdout, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    context = _context(defines, files)
    received: list[int] = []

    def on_signal(number: int, _: FrameType | None) -> None:
        received.append(number)  # no lock: the thread interrupted may hold it

    for number in _STOP_SIGNALS:
        signal.signal(number, on_signal)
    try:
        driver = MediaDriver.launch(context)
    except (AeronError, OSError) as error:
        raise click.ClickException(str(error)) from None
    with driver:
        _serve(driver, received)
        click.echo("Shutting down driver...")
    sys.exit(received[0] if received else 0)


def main() -> None:
    """``aeronpy-driver``: wrong use exits with 1, as people's scripts expect of ``aeronmd``."""
    try:
        command.main(prog_name="aeronpy-driver", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_FAILED)
    except click.exceptions.Exit as finished:
        sys.exit(finished.exit_code)


if __name__ == "__main__":
    main()
