"""Medians with the interval in which they lie, goals, and the lines made of them."""

import pytest

from aeronpy.bench.statistics import Goal, line_of, median_interval


# The ranks are those of the sign test's tables for 95 %.
@pytest.mark.parametrize(
    ("count", "lower_rank", "upper_rank"),
    [(6, 1, 6), (8, 1, 8), (9, 2, 8), (10, 2, 9), (15, 4, 12), (20, 6, 15), (25, 8, 18)],
)
def test_the_interval_is_between_the_ranks_of_the_sign_test(count: int, lower_rank: int, upper_rank: int) -> None:
    values = [float(each) for each in range(1, count + 1)]

    assert median_interval(values[::-1]) == (lower_rank, upper_rank)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_values_give_their_extremes(count: int) -> None:
    assert median_interval([float(each) for each in range(count)]) == (0.0, count - 1.0)


def test_no_values_have_no_interval() -> None:
    with pytest.raises(ValueError, match="no values"):
        median_interval([])


@pytest.mark.parametrize(
    ("goal", "interval", "is_met"),
    [
        (Goal("at least", 1.0), (0.9, 1.0), True),
        (Goal("at least", 1.0), (0.9, 0.99), False),
        (Goal("at most", 0.1), (0.1, 0.3), True),
        (Goal("at most", 0.1), (0.11, 0.3), False),
    ],
)
def test_a_goal_is_met_where_the_interval_reaches_it(goal: Goal, interval: tuple[float, float], is_met: bool) -> None:
    assert goal.is_met(interval) is is_met


def test_a_line_has_the_median_of_the_paired_ratios_not_the_ratio_of_medians() -> None:
    line = line_of("f", 32, [1, 10, 100], [2, 5, 400], peer_name="p", unit="ns", goal=Goal("at most", 0.2))

    assert line == {
        "figure": "f",
        "size": 32,
        "ours": 10,
        "peer": 5,
        "ratio": 0.5,
        "peer_name": "p",
        "unit": "ns",
        "spread": [0.25, 2.0],
        "interval": [0.25, 2.0],
        "rounds": 3,
        "goal": "at most 0.2",
        "met": False,
    }


def test_rounds_without_a_partner_are_refused() -> None:
    with pytest.raises(ValueError, match="no pairs"):
        line_of("f", 32, [1, 2], [1], peer_name="p", unit="ns")


def test_a_peer_that_did_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="divided"):
        line_of("f", 32, [1], [0], peer_name="p", unit="ns")
