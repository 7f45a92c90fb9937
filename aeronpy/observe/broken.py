"""Chains of records in files that others wrote: what comes before a broken record is worth showing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from aeronpy.errors import CorruptError

R = TypeVar("R")


def read_until_broken(records: Iterable[R], problems: list[str] | None) -> list[R]:
    """The records of a chain; where one breaks it, those before, and a sentence in ``problems``.

    Without ``problems`` the CorruptError is raised.
    """
    found: list[R] = []
    try:
        for record in records:
            found.append(record)  # one by one: what came before an error is kept
    except CorruptError as error:
        if problems is None:
            raise
        problems.append(f"{error}; what stands behind it cannot be found")
    finally:
        del records  # a generator over a mapping, which is to be unmapped, also while an error is on its way
    return found
