"""The package's loggers. They import Python's logging when they first have something to say: most runs have not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from logging import Logger


class _Logger:
    """A logger of Python's logging by its name, fetched at first use."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attribute: str) -> Any:
        import logging

        return getattr(logging.getLogger(self.name), attribute)


def logger_of(name: str) -> Logger:
    """The logger of a name, to be configured as any other: ``logging.getLogger(name)``."""
    return cast("Logger", _Logger(name))
