"""What the tools that look at a driver have in common: the directory, JSON, times, and no driver at all."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from aeronpy.config import default_aeron_dir
from aeronpy.errors import ArgumentError, CorruptError, DriverTimeout, NotFoundError, StateError
from aeronpy.observe import CncFile, CounterFilter
from aeronpy.observe import open_cnc as map_cnc

EXIT_NO_DRIVER: Final = 3
F = TypeVar("F", bound=Callable[..., Any])


def directory_option(function: F) -> F:
    """Add --aeron-dir: given, or AERON_DIR, or where Aeron looks by default."""
    return click.option(
        "--aeron-dir",
        "-d",
        envvar="AERON_DIR",
        default=default_aeron_dir,
        show_default="$AERON_DIR, or /dev/shm/aeron-<user>",
        help="The driver's directory.",
    )(function)


def json_option(function: F) -> F:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(function)


class NoDriver(click.ClickException):
    """There is nothing to look at in the directory."""

    exit_code = EXIT_NO_DRIVER

    def show(self, file: Any = None) -> None:
        """Print one sentence."""
        click.echo(f"aeronpy: {self.message}", file=file, err=True)


@contextmanager
def driver_required(aeron_dir: str) -> Iterator[None]:
    """Turn the absence of a driver's files into exit code 3 and one sentence."""
    try:
        yield
    except (NotFoundError, StateError, DriverTimeout) as error:
        raise NoDriver(
            f"no media driver in {aeron_dir} ({error}): start one, or name another directory with --aeron-dir"
        ) from None


@contextmanager
def open_cnc(aeron_dir: str) -> Iterator[CncFile]:
    """The CnC file of a driver that runs or ran in the directory."""
    with driver_required(aeron_dir):
        cnc = map_cnc(aeron_dir)
    with cnc:
        yield cnc


def counter_filter(_: click.Context, __: click.Parameter, arguments: tuple[str, ...]) -> CounterFilter:
    """Arguments like type=1, as a filter."""
    try:
        return CounterFilter(arguments)
    except ArgumentError as error:
        raise click.BadParameter(str(error)) from None


def filters_argument(function: F) -> F:
    """Add the filters of counters."""
    return click.argument("filters", nargs=-1, callback=counter_filter, metavar="[NAME=REGEX]...")(function)


_CONTROL: Final = {code: 0xFFFD for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}


_CONTROL_IN_LINE: Final = {**_CONTROL, ord("\t"): 0xFFFD, ord("\n"): 0xFFFD, 0x2028: 0xFFFD, 0x2029: 0xFFFD}


def foreign(text: str, style: str = "") -> Text:
    """What somebody else wrote, for a terminal: it is shown as it is, and cannot steer the terminal."""
    return Text(text.translate(_CONTROL), style=style)


def in_line(text: str) -> str:
    """What somebody else wrote, for a line that scripts read: it cannot begin another one, nor steer a terminal."""
    return text.translate(_CONTROL_IN_LINE)


def console() -> Console:
    """Where people read; everything else gets plain lines. Brackets in what others wrote are no markup."""
    return Console(highlight=False, markup=False)


def time_text(epoch_ms: int) -> str:
    """2026-01-05 09:12:00.114+0000, in this machine's time zone, as Aeron's tools print it."""
    try:
        at = datetime.fromtimestamp(epoch_ms // 1000).astimezone()
    except (OverflowError, ValueError, OSError):
        return f"{epoch_ms}ms"
    return f"{at:%Y-%m-%d %H:%M:%S}.{epoch_ms % 1000:03d}{at:%z}"


def second_text(epoch_ms: int) -> str:
    """2026-01-05 09:12:00, in this machine's time zone."""
    return time_text(epoch_ms).partition(".")[0]


class NamesStream(Protocol):
    """A record that is about one session of a stream."""

    @property
    def session_id(self) -> int:
        """The publisher's session."""

    @property
    def stream_id(self) -> int:
        """The stream."""

    @property
    def channel(self) -> str:
        """The channel, as counters name it."""


S = TypeVar("S", bound=NamesStream)


def stream_title(stream: NamesStream) -> str:
    """How a line about a stream begins, in the layout that scripts know."""
    return f"sessionId={stream.session_id} streamId={stream.stream_id} channel={in_line(stream.channel)} : "


def show_streams(
    streams: Sequence[S], as_json: bool, table_of: Callable[[S], Table], plain_lines: Callable[[S], Iterable[str]]
) -> None:
    """Print a record for each stream: as JSON, as tables with a title in a terminal, else as lines."""
    if as_json:
        click.echo(json_text(streams))
        return
    terminal = sys.stdout.isatty()
    if terminal and not streams:
        console().print("there are no streams")
    for each in streams:
        if terminal:
            title = f"{each.channel} stream {each.stream_id} session {each.session_id}"
            console().print(foreign(title, "bold"), table_of(each), "", sep="\n")
        else:
            click.echo("\n".join(plain_lines(each)))


def fail_if_broken(problems: Sequence[str]) -> None:
    """Exit code 1 and a sentence on stderr where a file is broken, after what could be read of it was printed."""
    if problems:
        raise CorruptError("; ".join(problems))


def json_text(value: object) -> str:
    """One line of JSON; records become objects."""
    return json.dumps(value, default=_json_default)


def _json_default(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} has no JSON form")
