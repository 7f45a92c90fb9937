"""The distinct errors that a driver, an archive or a cluster member recorded."""

from __future__ import annotations

from contextlib import closing
from os import PathLike

from aeronpy._core.native import ErrorRecord, read_error_log
from aeronpy.errors import ArgumentError
from aeronpy.observe.broken import read_until_broken
from aeronpy.observe.files import map_file, open_cnc


def read_errors(
    aeron_dir: str | PathLike[str], since_ms: int = 0, *, problems: list[str] | None = None
) -> list[ErrorRecord]:
    """The errors of the driver of a directory last seen at since_ms (epoch) or later, oldest record first.

    Where a record breaks the log, those before it are returned and ``problems`` gets a sentence; without it
    CorruptError is raised.
    """
    with open_cnc(aeron_dir) as cnc:
        return read_until_broken(cnc.errors(since_ms), problems)


def read_error_file(
    path: str | PathLike[str], offset: int = 0, length: int | None = None, *, problems: list[str] | None = None
) -> list[ErrorRecord]:
    """The errors in another file, as the mark files of an archive and a cluster have them at 8192.

    Broken records are dealt with as by `read_errors`.
    """
    with closing(map_file(path)) as mapped:
        if not 0 <= offset <= len(mapped):
            raise ArgumentError(f"offset {offset} is outside of {path}, which has {len(mapped)} bytes")
        end = len(mapped) if length is None else min(offset + length, len(mapped))
        with memoryview(mapped) as view, view[offset:end] as part:
            return read_until_broken(read_error_log(part), problems)
