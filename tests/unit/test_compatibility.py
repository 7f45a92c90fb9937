"""The page of what was shown with real Aeron: its rows, its cells, and when a run may write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop import compatibility
from tests.interop.compatibility import FAILED, MISSING, PAGE, read, render, reshaped, texts_of
from tests.interop.matrix import cell, cells_of
from tests.interop.rows import CELLS, SECTIONS, Cell, by_id

pytest_plugins = ["pytester"]
OUT = Cell("driver", "c", "out")


def test_the_committed_page_has_the_rows_and_reasons_of_today() -> None:
    committed = PAGE.read_text()

    assert committed == reshaped(committed), "run python -m tests.interop.compatibility"


def test_row_names_are_unique_and_reasons_leave_a_cell() -> None:
    rows = [row for _, capabilities in SECTIONS for each in capabilities for row in each.rows]

    assert len(rows) == len(by_id())
    assert [row.id for row in rows if not list(row.cells())] == []
    assert [row.id for row in rows if "|" in row.item] == []


def test_a_cell_names_its_tests_and_what_failed() -> None:
    page = render(texts_of({("unicast.udp", OUT): {"test_b.py::test_2": "passed", "test_a.py::test_1": "failed"}}))

    texts = read(page)
    assert texts["unicast.udp", OUT] == f"{FAILED}: `test_a.py::test_1`<br>`test_b.py::test_2`"
    assert texts["unicast.udp", Cell("driver", "c", "in")] == MISSING
    assert len(texts) == sum(len(list(row.cells())) for row in by_id().values())
    assert "0 passed, 1 failed" in page
    assert render(texts) == page


def test_a_reason_stands_in_its_cells() -> None:
    page = render({})
    line = next(each for each in page.splitlines() if "`client.offer.block` | driver" in each)

    assert line.count("n/a: inside the client") == 4
    assert ("client.offer.block", OUT) not in read(page)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("no.such", "client", "c", "out"), "no row 'no.such'"),
        (("unicast.udp", "client", "rust", "out"), "rust"),
        (("unicast.udp", "client", "c", "up"), "up"),
        (("client.poll.poll", "driver", "c", "both"), "n/a"),
    ],
)
def test_a_mark_that_names_no_cell_is_refused(args: tuple[str, str, str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cells_of(pytest.mark.matrix(*args).mark)


def test_both_directions_are_two_cells() -> None:
    assert cells_of(cell("unicast.udp", "driver", "c").mark) == [
        ("unicast.udp", each) for each in CELLS if each[:2] == ("driver", "c")
    ]


SUITE = """
import pytest
from tests.interop.matrix import cell
from tests.interop.recorder import Recorder

@cell("unicast.udp", "driver", "c", "out")
@pytest.mark.parametrize("ok", [True, {second}])
def test_one(ok):
    assert ok

@cell("unicast.udp", "driver", "java", "out")
@pytest.mark.xfail(strict=True)
def test_two():
    assert False
"""
CONFTEST = """
from pathlib import Path
from tests.interop.recorder import Recorder

def pytest_configure(config):
    here = Path(__file__).parent
    config.addinivalue_line("markers", "matrix: a cell")
    config.pluginmanager.register(Recorder(here, here / "page.md", here / "kept"))
"""


@pytest.fixture(autouse=True)
def bare_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs inside tests need no other plugins, and loading them takes seconds."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def play(pytester: pytest.Pytester, *args: str, second: bool = True) -> Path:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_suite=SUITE.format(second=second), test_other="def test_three(): pass")
    pytester.syspathinsert(str(compatibility.ROOT))
    pytester.runpytest_inprocess("-p", "no:cacheprovider", *args)
    return pytester.path / "page.md"


def test_a_whole_run_writes_what_passed_and_what_did_not(pytester: pytest.Pytester) -> None:
    texts = read(play(pytester).read_text())

    assert texts["unicast.udp", OUT] == "`test_suite.py::test_one`"
    assert texts["unicast.udp", Cell("driver", "java", "out")] == f"{FAILED}: `test_suite.py::test_two`"


def test_one_case_that_fails_is_the_tests_failure(pytester: pytest.Pytester) -> None:
    texts = read(play(pytester, second=False).read_text())

    assert texts["unicast.udp", OUT] == f"{FAILED}: `test_suite.py::test_one`"


@pytest.mark.parametrize("args", [["test_suite.py"], ["-k", "test_one"], ["-x", "test_suite.py"], ["--co"]])
def test_a_partial_run_writes_nothing(pytester: pytest.Pytester, args: list[str]) -> None:
    assert not play(pytester, *args).exists()


def test_a_skipped_test_leaves_the_page_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_skipped="import pytest\n\ndef test_four(): pytest.skip('no peer')")

    assert not play(pytester).exists()


def test_a_run_may_come_in_pieces_of_whole_files(pytester: pytest.Pytester) -> None:
    assert not play(pytester, "test_suite.py").exists()
    page = play(pytester, "test_other.py")

    assert read(page.read_text())["unicast.udp", OUT] == "`test_suite.py::test_one`"


def test_a_piece_that_ran_on_an_older_file_counts_no_more(pytester: pytest.Pytester) -> None:
    play(pytester, "test_suite.py", second=False)

    assert not play(pytester, "test_other.py").exists()
