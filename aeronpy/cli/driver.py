"""``aeronpy driver``, and ``aeronpy-driver``, which takes the flags of Aeron's own ``aeronmd``."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

import click

from aeronpy import __version__
from aeronpy.client.context import Context
from aeronpy.config import load_properties, nearest_text, variable_of
from aeronpy.driver import MediaDriver, MediaDriverContext, ThreadingMode
from aeronpy.driver.settings.options import WITHOUT_EFFECT
from aeronpy.errors import AeronError

EXIT_FAILED: Final = 1
# Options of other programs, which share a properties file with the driver's.
_OTHERS: Final = ("AERON_ARCHIVE_", "AERON_CLUSTER_", "AERON_SAMPLE_", "AERON_DEBUG_", "AERON_TOOLS_")
_log: Final = logging.getLogger(__name__)
_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def _context(defines: tuple[str, ...], files: tuple[str, ...]) -> MediaDriverContext:
    """Settings from the environment, then -D, then properties files in order, as ``aeronmd`` takes them.

    An empty value unsets, and lets the default stand.
    """
    environment = dict(os.environ)
    given: dict[str, tuple[str, str]] = {}
    for name, value in (*map(_define, defines), *_properties(files)):
        variable = variable_of(name)
        environment.pop(variable, None)
        given.pop(variable, None)
        if value:
            given[variable] = (name, value)
    for name, _ in given.values():
        _warn_of(name)
    return MediaDriverContext(properties=dict(given.values()), environment=environment)


def _define(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"\s*([^=:\s]+)\s*[=:]\s*(.*?)\s*", text)
    if found is None:
        raise click.BadParameter(f"malformed define: -D{text} is not -Dname=value")
    return found[1], found[2]


def _properties(files: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for source in files:
        try:
            yield from load_properties(source).items()
        except (OSError, ValueError) as error:
            raise click.ClickException(f"loading properties from {source}: {error}") from None


def _warn_of(name: str) -> None:
    """A name of ours that nobody reads is most likely misspelt."""
    variable = variable_of(name)
    known = MediaDriverContext.variables() | Context.variables()
    if not variable.startswith("AERON_") or variable.startswith(_OTHERS) or variable in known:
        return
    if variable in map(variable_of, WITHOUT_EFFECT):
        _log.warning("%s has no effect on this driver", name)
    else:
        _log.warning("there is no option %s%s", name, nearest_text(name, [*known.values()]))


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
        _sleep_until_told(driver, received)


def _sleep_until_told(driver: MediaDriver, received: list[int]) -> None:
    """Without a rhythm: the interpreter's wake-up descriptor tells of signals, a thread of the driver's end."""
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)

        def tell() -> None:
            driver.terminated.wait()
            try:
                writer.send(b"x")
            except OSError:
                pass  # it was a signal, and nobody listens any more

        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            threading.Thread(target=tell, name="aeron-md-end", daemon=True).start()
            while not (received or driver.terminated.is_set()):
                reader.recv(1)
        finally:
            signal.set_wakeup_fd(before)


@click.command()
@click.option("-v", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version.")
@click.option("-D", "defines", multiple=True, metavar="NAME=VALUE", help="Set an option; no value: unset it.")
@click.argument("files", nargs=-1, metavar="[PROPERTIES]...")
def command(defines: tuple[str, ...], files: tuple[str, ...]) -> None:
    """Run a media driver until SIGINT or SIGTERM; the exit status is the signal's number.

    Options come from AERON_* variables, -D, and properties files (paths or URLs), by the names of Aeron's own driver;
    what comes later in this list wins.

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
