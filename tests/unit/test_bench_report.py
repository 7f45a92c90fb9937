"""The report of a small run: what is told of each kind of line, and that it is alike for alike results."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.report import page, plots
from bench.report.results import Results, read
from bench.report.tables import ratio_text, value_text

MACHINE = {
    "machine": {
        "processor": "A1",
        "architecture": "x86_64",
        "processors": 2,
        "is_virtual": True,
        "memory": "24 GB",
        "kernel": "6.1",
        "python": "3.12.1",
    },
    "settings": {"rounds": 15},
    "at": "2026-01-05T09:12:00+00:00",
}


def figure(**values: Any) -> dict[str, Any]:
    return {
        "family": "ipc-throughput",
        "figure": "ipc throughput c",
        "size": 32,
        "ours": 104_400_000.0,
        "peer": 67_530_000.0,
        "ratio": 1.57,
        "peer_name": "real c client",
        "unit": "messages/s",
        "spread": [1.28, 2.12],
        "interval": [1.4, 1.7],
        "rounds": 15,
        "goal": "at least 1",
        "met": True,
        "thrown_away": 3,
        "noisy_kept": 1,
        **values,
    }


CURVE = {
    "family": "ipc-round-trip",
    "curve": "ipc round trip c",
    "size": 32,
    "side": "ours c",
    "per_second": 100_000,
    "percentiles": [[50.0, 400.0], [90.0, 500.0], [99.0, 900.0], [99.9, 3_500_000.0], [99.99, 4_000_000.0]],
}
STREAMS = [
    figure(figure=f"streams driver cpu {count}", family="streams", streams=count, unit="ns/message", ours=9.0 * count)
    for count in (1, 100)
]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    path = tmp_path / "results.jsonl"
    lines = [
        MACHINE,
        figure(),
        figure(size=288, ratio=0.8, interval=[0.7, 0.9], met=False),
        CURVE,
        *STREAMS,
        {"family": "java", "failed": "RuntimeError: no JVM"},
        {"figure": "instructions offer", "size": 32, "ours": 122.0, "limit": 125, "unit": "instructions"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return read([path])


def test_a_goal_is_told_with_its_interval_and_whether_it_is_met(results: Results) -> None:
    text = page.page(results, [], None)

    assert "| ipc throughput c | 32 | real c client | 1.57 | 1.40 to 1.70 | at least 1 | met |" in text
    assert "| ipc throughput c | 288 | real c client | 0.80 | 0.70 to 0.90 | at least 1 | **not met** |" in text
    assert "3 of 4 are met." in text


def test_a_figure_is_told_with_both_values_and_its_spread(results: Results) -> None:
    row = "| ipc throughput c | 32 | 104.40 M messages/s | 67.53 M messages/s | 1.57 (1.28 to 2.12) | 1.40 to 1.70 |"

    assert row in page.page(results, [], None)


def test_machine_noise_failures_instructions_and_what_was_tried_are_told(results: Results) -> None:
    text = page.page(results, [("Throughput", "performance/throughput.svg")], "- one thing: 2 to 1")

    assert "A1 (x86_64), 2 processors" in text
    assert "- java: RuntimeError: no JVM" in text
    assert "| instructions offer | 32 | 122.0 |" in text
    assert "| ipc round trip c | 32 | ours c | 100,000 | 400 ns | 500 ns | 900 ns | 3.50 ms | 4.00 ms |" in text
    assert "![Throughput](performance/throughput.svg)" in text
    assert text.endswith("## What was tried\n\n- one thing: 2 to 1\n")


def test_trials_thrown_away_are_counted_once_for_a_scene_of_several_figures(tmp_path: Path) -> None:
    results = Results()
    results.add(figure())
    results.add(figure(figure="ipc throughput c batch"))

    assert "neighbour: 3; kept beside one, the repeats being used up: 1." in page.noise_text(results)


def test_only_the_block_of_the_readme_changes(results: Results) -> None:
    readme = f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n"

    changed = page.with_block(readme, page.readme_block(results))

    assert changed.startswith(f"before\n{page.BEGIN}\nMachine:")
    assert changed.endswith(f"{page.END}\nafter\n")
    assert "old" not in changed
    assert page.with_block(changed, page.readme_block(results)) == changed


def test_a_readme_without_the_marks_is_refused(results: Results) -> None:
    with pytest.raises(ValueError, match="figures: begin"):
        page.with_block("nothing", page.readme_block(results))


def test_the_readme_has_the_marks() -> None:
    page.with_block((Path(__file__).parents[2] / "README.md").read_text(), "x")


def test_a_line_that_is_no_result_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(MACHINE) + "\n{}\n")

    with pytest.raises(ValueError, match=r"results\.jsonl:2"):
        read([path])


def test_a_family_measured_again_replaces_its_lines_and_no_others(tmp_path: Path) -> None:
    first, again = tmp_path / "results.jsonl", tmp_path / "partial.jsonl"
    lines = [MACHINE, figure(), figure(family="batch", figure="ipc throughput batch")]
    first.write_text("".join(json.dumps(line) + "\n" for line in lines))
    again.write_text(json.dumps(MACHINE | {"at": "later"}) + "\n" + json.dumps(figure(ratio=2.5)) + "\n")

    results = read([first, again])

    assert {line["figure"]: line["ratio"] for line in results.figures} == {
        "ipc throughput c": 2.5,
        "ipc throughput batch": 1.57,
    }
    assert results.at == MACHINE["at"]


def test_plots_are_drawn_and_alike_for_alike_results(results: Results, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        assert plots.throughput(results.figures, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert plots.latency(results.curves, tmp_path / "latency.svg")
    assert plots.streams(results.figures, tmp_path / "streams.svg")


def test_nothing_is_drawn_of_nothing(tmp_path: Path) -> None:
    assert not plots.throughput([], tmp_path / "a.svg")
    assert not plots.latency([], tmp_path / "a.svg")
    assert not plots.streams([], tmp_path / "a.svg")
    assert not (tmp_path / "a.svg").exists()


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1_250_000.0, "messages/s", "1.25 M messages/s"),
        (20_500.0, "messages/s", "20.5 k messages/s"),
        (950.4, "ns", "950 ns"),
        (3_500_000.0, "ns", "3.50 ms"),
        (18_358_000.0, "bytes without logs", "18.4 MB without logs"),
        (2.596, "GB/s", "2.60 GB/s"),
        (1.2345, "% of a processor", "1.234 % of a processor"),
        (94.28, "ms", "94.28 ms"),
    ],
)
def test_values_read_as_people_write_them(value: float, unit: str, text: str) -> None:
    assert value_text(value, unit) == text


@pytest.mark.parametrize(("ratio", "text"), [(433.2, "433"), (46.32, "46.3"), (1.234, "1.23"), (0.0034, "0.003")])
def test_ratios_have_the_digits_that_mean_something(ratio: float, text: str) -> None:
    assert ratio_text(ratio) == text
