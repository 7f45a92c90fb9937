"""What the doctor finds: how bad it is, what it is, the number, its limit, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """How bad. ``OK`` is a measure that was taken and is fine."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """0 for OK, up to 3 for ERROR."""
        return _ORDER.index(self)


_ORDER: Final = tuple(Severity)
_UNITS: Final = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of one check. ``check`` is a stable name; ``unit`` is that of ``value`` and ``limit``.

    The limit is the most that is good, or the least with ``at_least``.
    """

    check: str
    severity: Severity
    what: str
    value: int | float | str | None = None
    limit: int | float | str | None = None
    unit: str = ""
    remedy: str = ""
    at_least: bool = False

    @property
    def measure(self) -> str:
        """Value and limit as people read them, empty where there is no value."""
        if self.value is None:
            return ""
        text = amount(self.value, self.unit)
        word = "needed" if self.at_least else "limit"
        return text if self.limit is None else f"{text} ({word} {amount(self.limit, self.unit)})"

    @property
    def sentence(self) -> str:
        """All of it in a line."""
        measure = f": {self.measure}" if self.measure else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.what}{measure}{remedy}"


def amount(value: int | float | str, unit: str) -> str:
    """A number with its unit: bytes in the largest binary unit that leaves at least one."""
    if isinstance(value, str):
        return value
    if unit == "bytes":
        for name, size in _UNITS:
            if abs(value) >= size:
                return f"{value / size:.1f} {name}".replace(".0 ", " ")
        return f"{value} bytes"
    return f"{value:,} {unit}".rstrip()


def by_severity(findings: list[Finding]) -> list[Finding]:
    """The worst first; equals keep their order."""
    return sorted(findings, key=lambda each: -each.severity.rank)
