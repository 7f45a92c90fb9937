"""Errors that carry what the doctor finds. The doctor is imported when there is an error, and not before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aeronpy.errors import AeronError, ArgumentError

if TYPE_CHECKING:
    from aeronpy.driver import MediaDriverContext


@contextmanager
def diagnosed(aeron_dir: str, starting: MediaDriverContext | None = None) -> Iterator[None]:
    """Let errors that pass through carry the doctor's advice in their text; wrong arguments speak for themselves.

    ``starting`` is the context of a driver that starts; without it a client looks for its driver.
    """
    try:
        yield
    except ArgumentError:
        raise
    except AeronError as error:
        from aeronpy.observe.doctor import advice

        error.args = (f"{error}{advice(aeron_dir, starting)}", *error.args[1:])
        raise
