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
    """The results of these files; a family that a later file has too is taken from that one.

    Raises ValueError with file and line for what is no result, OSError.
    """
    kept: dict[str, list[dict[str, Any]]] = {}
    for path in paths:
        of_file: dict[str, list[dict[str, Any]]] = {}
        for number, text in enumerate(path.read_text().splitlines(), 1):
            if text.strip():
                try:
                    line = json.loads(text)
                    Results().add(line)
                except ValueError as error:
                    raise ValueError(f"{path}:{number}: {error}") from None
                of_file.setdefault("" if "machine" in line else str(line.get("family", "others")), []).append(line)
        if kept:
            of_file.pop("", None)  # the machine and the settings are those of the first
        kept |= of_file
    results = Results()
    for lines in kept.values():
        for line in lines:
            results.add(line)
    return results
