"""Collects what a run showed of the matrix, and writes the page when the run was whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop import compatibility
from tests.interop.matrix import MARK, marked
from tests.interop.rows import Cell

HERE = Path(__file__).resolve().parent


class Recorder:
    """A plugin of one session: marks are read when tests were collected, outcomes as they come."""

    def __init__(self, folder: Path = HERE, page: Path = compatibility.PAGE) -> None:
        self._folder = folder
        self._page = page
        self._pairs: dict[str, list[tuple[str, Cell]]] = {}
        self._outcomes: dict[str, str] = {}
        self._here: set[str] = set()
        self._partial = ""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            marks = list(item.iter_markers(MARK))
            inside = self._folder in item.path.resolve().parents
            if marks and not inside:
                raise pytest.UsageError(f"{item.nodeid}: only tests below tests/interop fill the matrix")
            if inside:
                self._here.add(item.nodeid)
            try:
                self._pairs[item.nodeid] = marked(marks)
            except (ValueError, TypeError) as error:
                raise pytest.UsageError(f"{item.nodeid}: {error}") from None
        present = {item.path.resolve() for item in session.items}
        absent = [each for each in self._folder.glob("test_*.py") if each.resolve() not in present]
        if absent or any("::" in str(arg) for arg in session.config.args):
            self._partial = "not all of it was asked for"

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        if any(self._folder in item.path.resolve().parents for item in items):
            self._partial = "tests were deselected"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid not in self._here:
            return
        before = self._outcomes.get(report.nodeid)
        if report.failed or hasattr(report, "wasxfail"):
            self._outcomes[report.nodeid] = "failed"
        elif report.skipped and before is None:
            self._outcomes[report.nodeid] = "skipped"
        elif report.when == "call" and before is None:
            self._outcomes[report.nodeid] = "passed"

    def shown(self) -> dict[tuple[str, Cell], dict[str, compatibility.Outcome]]:
        """The tests of each cell with their outcomes; one case that failed is the whole test's failure."""
        shown: dict[tuple[str, Cell], dict[str, compatibility.Outcome]] = {}
        for nodeid, pairs in self._pairs.items():
            name = f"{Path(nodeid.partition('::')[0]).name}::{nodeid.partition('::')[2].partition('[')[0]}"
            for pair in pairs:
                tests = shown.setdefault(pair, {})
                bad = self._outcomes.get(nodeid) != "passed" or tests.get(name) == "failed"
                tests[name] = "failed" if bad else "passed"
        return shown

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.config.option.collectonly or not self._here:
            return
        skipped = sum(self._outcomes.get(nodeid) in (None, "skipped") for nodeid in self._here)
        if self._partial or skipped:
            return
        self._page.write_text(compatibility.render(compatibility.texts_of(self.shown())))
