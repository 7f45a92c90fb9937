"""Write the table of options in docs/driver.md anew, from the options themselves."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any

from aeronpy.config import Choice, Option
from aeronpy.driver import MediaDriverContext

PAGE = Path(__file__).resolve().parents[1] / "docs" / "driver.md"
TITLE = "| property | variable | argument | default | range |\n|---|---|---|---|---|\n"


def text_of(value: object) -> str:
    """A value as the table has it."""
    if isinstance(value, Enum):
        return value.name
    return "" if value is None else str(value)


def row(option: Option[Any]) -> str:
    """One option's line."""
    bounds = ""
    if isinstance(option, Choice):
        bounds = ", ".join(option.choices)
    elif option.minimum is not None or option.maximum is not None:
        bounds = f"{text_of(option.minimum)} .. {text_of(option.maximum)}"
    cells = (option.property_name, option.environment, option.name, text_of(option.default), bounds)
    return "| " + " | ".join(cells) + " |\n"


def table() -> str:
    """The whole of it, with its title."""
    return TITLE + "".join(map(row, MediaDriverContext.options()))


if __name__ == "__main__":
    before, _, _ = PAGE.read_text(encoding="utf-8").partition(TITLE)
    PAGE.write_text(before + table(), encoding="utf-8")
