"""A run's results, as its JSON lines tell them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Results:
    """The first line, then lines by what they are."""

    machine: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    at: str = ""
    figures: list[dict[str, Any]] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)
    instructions: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)

    def with_goals(self) -> list[dict[str, Any]]:
        """Figures that have one."""
        return [line for line in (*self.instructions, *self.figures) if "goal" in line]

    def add(self, line: dict[str, Any]) -> None:
        """Sort a line in. Raises ValueError for one that is none of a run's."""
        if "machine" in line:
            self.machine, self.settings, self.at = line["machine"], line.get("settings", {}), line.get("at", "")
        elif "curve" in line:
            self.curves.append(line)
        elif "failed" in line:
            self.failed.append(line)
        elif "call" in line:
            self.calls.append(line)
        elif line.get("unit") == "instructions" or line.get("family") == "instructions":
            self.instructions.append(line)
        elif "figure" in line:
            self.figures.append(line)
        else:
            raise ValueError(f"a line of no known kind: {line}")


def read(paths: list[Path]) -> Results:
    """The results of these files. Raises ValueError with file and line for what is no result, OSError."""
    results = Results()
    for path in paths:
        for number, text in enumerate(path.read_text().splitlines(), 1):
            if not text.strip():
                continue
            try:
                results.add(json.loads(text))
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {error}") from None
    return results
