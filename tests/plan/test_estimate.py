"""The figures printed before anything runs."""

import pytest

from paceline.plan.cost import PACK_BYTES, PROCESS_SECONDS, ROW_BYTES, Cost
from paceline.plan.estimate import estimate
from paceline.plan.expand import Trial, expand
from paceline.plan.packs import Pack

from .studies import study

START = PROCESS_SECONDS / 60
RUN = expand(study(repeat=1))[0].run
A, B, C = (Trial(name, "", {}, RUN) for name in "abc")
COSTS = {"a": Cost(100, 10, 60.0, 2.0**30), "b": Cost(50, 5, 30.0, 2.0**31), "c": None}


def test_sums_over_runs_and_the_largest_memory() -> None:
    found = estimate([Pack((A, B)), Pack((C,))], COSTS)
    assert (found.runs, found.packs, found.steps, found.unknown, found.measured) == (3, 2, 150, 1, 0)
    assert found.minutes == pytest.approx(1.5 + START)
    assert found.memory_gb == pytest.approx(2.0)
    assert found.disk_mb == pytest.approx((15 * ROW_BYTES + 2 * PACK_BYTES) / 2**20)


def test_jobs_share_the_time_and_add_up_the_memory() -> None:
    found = estimate([Pack((A,)), Pack((B,))], COSTS, jobs=2)
    assert found.minutes == pytest.approx(0.75 + START)
    assert found.memory_gb == pytest.approx(4.0)
    assert estimate([Pack((A, B))], COSTS, jobs=8).minutes == pytest.approx(1.5 + START)


def test_finished_runs_correct_the_rest() -> None:
    found = estimate([Pack((B,))], COSTS, measured={"a": 120.0, "c": 9.0, "gone": 5.0})
    assert found.measured == 1
    assert found.minutes == pytest.approx(1.0 + START)


def test_nothing_costs_nothing() -> None:
    found = estimate([], {})
    assert (found.runs, found.minutes, found.memory_gb, found.disk_mb) == (0, 0, 0, 0)


def test_seconds_that_were_worked_out_already_stand() -> None:
    found = estimate([Pack((A,)), Pack((B,))], COSTS, jobs=2, seconds=600.0)
    assert found.minutes == pytest.approx(10 + START)


def test_steps_that_are_made_are_not_made_again() -> None:
    found = estimate([Pack((A, B)), Pack((C,))], COSTS, kept={"a": 60, "c": 20})
    assert found.steps == 90
    assert found.minutes == pytest.approx(1.5 * 90 / 150 + START)
    assert estimate([Pack((A,))], COSTS, kept={"a": 100}).minutes == pytest.approx(START)


def test_the_runs_of_a_stack_share_the_machine_and_add_up_their_memory() -> None:
    costs = {run: Cost(10, 1, 1.0, 2.0**30, stack_bytes=2.0**29) for run in "abc"}
    assert estimate([Pack((A, B, C))], costs).memory_gb == pytest.approx(1.0)
    assert estimate([Pack((A, B, C), stacked=True)], costs).memory_gb == pytest.approx(2.5)
    assert estimate([Pack((A, B), stacked=True), Pack((C,))], costs, jobs=2).memory_gb == pytest.approx(4.0)
