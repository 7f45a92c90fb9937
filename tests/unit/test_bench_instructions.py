"""What the instruction gate reads out of callgrind's dumps, and when it calls a figure over its limit."""

from pathlib import Path

import pytest

from bench.instructions.__main__ import figures_of, is_over, lines_of
from bench.instructions.limits import LIMITS


def dump(directory: Path, number: int, name: str, instructions: int, thread: str = "01") -> None:
    text = f"desc: Trigger: Client Request: {name}\nevents: Ir\nsummary: {instructions}\n"
    (directory / f"out.{number}-{thread}").write_text(text)


def test_the_last_dump_of_a_name_counts_and_other_threads_do_not(tmp_path: Path) -> None:
    dump(tmp_path, 2, "offer", 150_000)
    dump(tmp_path, 10, "offer", 90_000)
    dump(tmp_path, 11, "offer", 7_000_000, thread="02")
    (tmp_path / "out.12-01").write_text("desc: Trigger: Program termination\nsummary: 5\n")

    assert figures_of(tmp_path) == {"offer": 90.0}


def test_the_real_clients_count_stands_beside_ours() -> None:
    ours = {"offer": 80.0, "warm offer": 500.0, "ours offer + poll": 150.0}

    first, pair = lines_of(ours, {"real offer + poll": 200.0})

    assert (first["figure"], first["limit"]) == ("instructions offer", LIMITS["offer"])
    assert pair["figure"] == "instructions offer + poll through the table"
    assert (pair["peer"], pair["ratio"]) == (200.0, 0.75)


@pytest.mark.parametrize(("ours", "over"), [(100.0, False), (102.0, False), (102.1, True)])
def test_a_figure_is_over_behind_the_slack(ours: float, over: bool) -> None:
    assert is_over({"figure": "instructions offer", "ours": ours, "limit": 100}) is over


@pytest.mark.parametrize(("ratio", "over"), [(1.0, False), (1.001, True)])
def test_a_pair_may_cost_no_more_than_the_real_clients(ratio: float, over: bool) -> None:
    line = {"figure": "instructions offer + poll through the table", "ours": 1.0, "limit": None, "ratio": ratio}

    assert is_over(line) is over
