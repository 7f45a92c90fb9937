"""How tests run the ``aeronpy`` command: in this process, or in a terminal of its own."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from aeronpy.cli.main import command


def run(*arguments: str | Path, **env: str) -> Result:
    """What a pipe gets, and the exit code."""
    return CliRunner(env={"TZ": "UTC", **env}).invoke(command, [str(each) for each in arguments])


def in_terminal(*arguments: str | Path) -> tuple[str, int]:
    """What a person sees, and the exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["COLUMNS"] = "200"
        os.execv(sys.executable, [sys.executable, "-m", "aeronpy.cli.main", *map(str, arguments)])
    seen = bytearray()
    try:
        while block := os.read(terminal, 4096):
            seen += block
    except OSError:
        pass  # how a terminal says that the other side is gone
    finally:
        os.close(terminal)
    return seen.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
