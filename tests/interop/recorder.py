"""Collects what a run showed of the matrix, and writes the page when all of tests/interop ran.

A file of tests counts where all of it ran. What it showed is kept below build/, so that a run may come in pieces; the
page is written when every file has run on the build that there is now, as it is now. With several workers each keeps
what it ran, and who gave out the work writes the page.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.interop import compatibility
from tests.interop.matrix import MARK, marked
from tests.interop.rows import Cell

HERE = Path(__file__).resolve().parent
KEPT = compatibility.ROOT / "build" / "interop" / "shown"
Shown = dict[tuple[str, Cell], dict[str, compatibility.Outcome]]


def digest(files: Iterable[Path]) -> str:
    """One for the contents of files."""
    found = hashlib.sha256()
    for each in sorted(files):
        found.update(each.name.encode() + b"\0" + each.read_bytes())
    return found.hexdigest()


def build_digest() -> str:
    """One for the product as it would be imported now."""
    package = compatibility.ROOT / "aeronpy"
    return digest([*package.rglob("*.py"), *package.rglob("*.so")])


class Recorder:
    """A plugin of one session: marks are read when tests were collected, outcomes as they come."""

    def __init__(self, folder: Path = HERE, page: Path = compatibility.PAGE, kept: Path = KEPT) -> None:
        self._folder = folder
        self._page = page
        self._kept = kept
        self._pairs: dict[str, list[tuple[str, Cell]]] = {}
        self._outcomes: dict[str, str] = {}
        self._tests: dict[Path, list[str]] = {}
        self._partial: set[Path] = set()

    def _is_ours(self, item: pytest.Item) -> bool:
        return self._folder in item.path.resolve().parents

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            marks = list(item.iter_markers(MARK))
            if marks and not self._is_ours(item):
                raise pytest.UsageError(f"{item.nodeid}: only tests below tests/interop fill the matrix")
            try:
                self._pairs[item.nodeid] = marked(marks)
            except (ValueError, TypeError) as error:
                raise pytest.UsageError(f"{item.nodeid}: {error}") from None
            if self._is_ours(item):
                self._tests.setdefault(item.path.resolve(), []).append(item.nodeid)
        for arg in session.config.args:
            file, separator, _ = str(arg).partition("::")
            if separator:
                self._partial.add(Path(file).resolve())

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._partial.update(item.path.resolve() for item in items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self._outcomes.get(report.nodeid)
        if report.failed or hasattr(report, "wasxfail"):
            self._outcomes[report.nodeid] = "failed"
        elif report.skipped and before is None:
            self._outcomes[report.nodeid] = "skipped"
        elif report.when == "call" and before is None:
            self._outcomes[report.nodeid] = "passed"

    def _shown(self, file: Path) -> Shown:
        """The tests of each cell with their outcomes; one case that failed is the whole test's failure."""
        shown: Shown = {}
        for nodeid in self._tests[file]:
            name = f"{file.name}::{nodeid.partition('::')[2].partition('[')[0]}"
            for pair in self._pairs[nodeid]:
                tests = shown.setdefault(pair, {})
                bad = self._outcomes[nodeid] == "failed" or tests.get(name) == "failed"
                tests[name] = "failed" if bad else "passed"
        return shown

    def _keep(self, file: Path, build: str) -> None:
        cells = [[row, *cell, tests] for (row, cell), tests in self._shown(file).items()]
        self._kept.mkdir(parents=True, exist_ok=True)
        entry = {"build": build, "source": digest([file]), "cells": cells}
        (self._kept / f"{file.name}.json").write_text(json.dumps(entry))

    def _all_kept(self, build: str) -> Shown | None:
        """What all files showed, or None where one did not run as it is now."""
        shown: Shown = {}
        for file in self._folder.glob("test_*.py"):
            kept = self._kept / f"{file.name}.json"
            entry = json.loads(kept.read_text()) if kept.exists() else {}
            if (entry.get("build"), entry.get("source")) != (build, digest([file])):
                return None
            for row, ours, peer, direction, tests in entry["cells"]:
                shown.setdefault((row, Cell(ours, peer, direction)), {}).update(tests)
        return shown

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        is_controller = getattr(session.config.option, "numprocesses", None) and not hasattr(
            session.config, "workerinput"
        )
        if session.config.option.collectonly or not (self._tests or is_controller):
            return
        build = build_digest()
        for file, tests in self._tests.items():
            whole = all(self._outcomes.get(nodeid) in ("passed", "failed") for nodeid in tests)
            if whole and file not in self._partial:
                self._keep(file, build)
        shown = self._all_kept(build)
        if shown is not None:
            self._page.write_text(compatibility.render(compatibility.texts_of(shown)))
