"""The loss that a driver's images saw."""

from __future__ import annotations

from contextlib import closing
from os import PathLike
from pathlib import Path

from aeronpy._core.native import LossEntry, read_loss_report
from aeronpy.observe.broken import read_until_broken
from aeronpy.observe.files import LOSS_REPORT_FILE, map_file


def read_loss(aeron_dir: str | PathLike[str], *, problems: list[str] | None = None) -> list[LossEntry]:
    """The loss report of the driver of a directory, one entry for each image that lost something.

    Where an entry breaks the report, those before it are returned and ``problems`` gets a sentence; without it
    CorruptError is raised.
    """
    with closing(map_file(Path(aeron_dir) / LOSS_REPORT_FILE)) as mapped:
        return read_until_broken(read_loss_report(mapped), problems)
