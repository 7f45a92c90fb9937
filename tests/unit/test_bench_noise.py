"""What counts as a noisy neighbour, and what becomes of the trial beside one."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from aeronpy.bench import noise
from aeronpy.bench.noise import CpuTimes
from aeronpy.bench.rounds import Sample, Trial, interleave, order_of

STAT = "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"


def test_busy_is_user_nice_and_system_and_stolen_is_its_own() -> None:
    assert noise.parse_total(STAT) == (150, 8)


def test_a_process_with_a_strange_name_is_read() -> None:
    fields = "S 12 1 1 0 -1 4194304 5 6 7 8 100 20 3 4 20 0"

    assert noise.parse_process(f"77 (a) b ( c) {fields}") == (77, 12, 127)


def test_own_are_descendants_and_the_kernels_threads() -> None:
    processes = [(1, 0, 1000), (2, 0, 1), (9, 2, 2), (50, 1, 4), (51, 50, 8), (52, 51, 16), (60, 1, 2000)]

    assert noise.family_ticks(processes, 50) == 1 + 2 + 4 + 8 + 16


def test_others_are_what_is_neither_own_nor_nothing() -> None:
    second = noise.TICKS_PER_S
    before = CpuTimes(busy=0, stolen=0, own=0, at_s=10.0)
    after = CpuTimes(busy=2 * second, stolen=second // 4, own=second, at_s=12.0)

    assert noise.others_share(before, after) == pytest.approx((1.25 * second - noise.SLACK_TICKS) / (2 * second))


def test_a_quiet_trial_is_not_noisy_for_the_counters_coarseness() -> None:
    before = CpuTimes(busy=0, stolen=0, own=0, at_s=10.0)

    assert not noise.is_noisy(noise.others_share(before, CpuTimes(noise.SLACK_TICKS, 0, 0, 10.2)))


@pytest.mark.timeout(30)
def test_the_time_of_a_child_is_own() -> None:
    burn = "import time\nwhile time.process_time() < 0.4: pass\nprint('x', flush=True); input()"
    before = noise.now()
    with subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        running = noise.now()
        child.communicate(b"\n")
    ended = noise.now()

    for after in (running, ended):
        assert after.own - before.own >= 0.4 * noise.TICKS_PER_S - 1
    assert ended.busy >= before.busy
    assert os.getpid() > 0


def measured_shares(shares: Iterator[float]) -> tuple[list[Trial], "object"]:
    numbers = iter(range(1000))

    def trial() -> Sample:
        return {"rate": float(next(numbers))}

    def watched(run: Trial) -> tuple[Sample, float]:
        return run(), next(shares)

    return [trial], watched


def test_a_trial_with_a_noisy_neighbour_is_repeated() -> None:
    (trial,), watched = measured_shares(iter([0.0, 0.9, 0.9, 0.0, 0.0, 0.0]))

    measured = interleave({"a": trial}, 4, watched)  # type: ignore[arg-type]

    assert measured.metric("a", "rate") == [0, 3, 4, 5]
    assert (measured.thrown_away, measured.noisy_kept) == (2, 0)


def test_a_machine_that_is_never_quiet_ends_too_and_says_so() -> None:
    (trial,), watched = measured_shares(iter([0.9] * 100))

    measured = interleave({"a": trial}, 4, watched)  # type: ignore[arg-type]

    assert len(measured.samples["a"]) == 4
    assert (measured.thrown_away, measured.noisy_kept) == (2, 4)


def test_every_side_begins_as_often_and_follows_each_other() -> None:
    sides = ["a", "b", "c"]

    orders = [order_of(sides, index) for index in range(6)]

    assert all(sorted(each) == sides for each in orders)
    assert sorted(each[0] for each in orders) == ["a", "a", "b", "b", "c", "c"]
    assert [order_of(["a", "b"], index)[0] for index in range(4)] == ["a", "b", "b", "a"]
