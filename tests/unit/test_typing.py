"""Files that must type-check as they stand, their expected errors included."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "tests" / "typing").glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_type_checker_agrees(path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy comes with the dev requirements")
    command = [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", str(path)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=50, check=False)

    assert found.returncode == 0, found.stdout
