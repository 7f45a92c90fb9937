"""The ``aeronpy`` command. Its subcommands are imported when they are asked for.

Exit codes: 0 done, 1 it failed, 2 used wrongly, 3 there is no driver in the directory; of the doctor, 4 there are
warnings, 5 there are errors.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import sys
from typing import Final

import click

from aeronpy.errors import AeronError

SUBCOMMANDS: Final = {
    "archive": "aeronpy.cli.archive",
    "backlog": "aeronpy.cli.backlog",
    "bench": "aeronpy.cli.bench",
    "cnc": "aeronpy.cli.cnc",
    "counters": "aeronpy.cli.counters",
    "doctor": "aeronpy.cli.doctor",
    "driver": "aeronpy.cli.driver_tools",
    "errors": "aeronpy.cli.errors",
    "explain": "aeronpy.cli.explain",
    "log": "aeronpy.cli.log",
    "loss": "aeronpy.cli.loss",
    "stat": "aeronpy.cli.stat",
    "streams": "aeronpy.cli.streams",
}


class LazyGroup(click.Group):
    """A group whose commands are the ``command`` of a module each."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The subcommands that this installation has."""
        return [name for name, module in SUBCOMMANDS.items() if importlib.util.find_spec(module) is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand."""
        if cmd_name not in self.list_commands(ctx):
            return None
        found = importlib.import_module(SUBCOMMANDS[cmd_name]).command
        assert isinstance(found, click.Command)
        return found


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="aeronpy", prog_name="aeronpy")
def command() -> None:
    """Aeron for Python: drivers, archives, and what they show.

    \b
    Exit codes: 0 done; 1 it failed, with a sentence on stderr; 2 used wrongly;
    3 no driver in the directory; of doctor: 4 warnings, 5 errors.

    Example: aeronpy stat --aeron-dir /dev/shm/aeron-bob channel=ipc
    """


def main() -> None:
    """Run the command; an error of ours is one line on stderr and exit code 1."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # labels and channels are anybody's text
    try:
        command.main(prog_name="aeronpy")
    except (AeronError, OSError) as error:
        click.echo(f"aeronpy: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
