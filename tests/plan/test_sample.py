"""Halton points."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.plan.sample import FEW, radical_inverse, sample

positive = st.floats(1e-9, 1e9)
ranges = st.tuples(positive, positive, st.sampled_from(["linear", "log"])).filter(lambda r: r[0] < r[1])


@given(st.lists(ranges, min_size=1, max_size=4), st.integers(1, 50))
def test_points_lie_in_their_ranges(limits: list[tuple[float, float, str]], count: int) -> None:
    axes: dict[str, Any] = {str(i): {"low": a, "high": b, "scale": s} for i, (a, b, s) in enumerate(limits)}
    points = sample(axes, count)
    assert 1 <= len(points) <= count
    assert all(axes[key]["low"] <= value <= axes[key]["high"] for point in points for key, value in point.items())


@given(st.integers(1, 200), st.sampled_from([2, 3, 5]))
def test_any_stretch_of_the_sequence_is_even(count: int, base: int) -> None:
    """Of n points, each of the base's equal intervals holds n / base, give or take less than two."""
    places = [int(radical_inverse(index, base) * base) for index in range(1, count + 1)]
    assert all(abs(places.count(i) - count / base) < 2 for i in range(base))


def test_the_first_points_are_known() -> None:
    assert [radical_inverse(i, 2) for i in range(5)] == [0, 0.5, 0.25, 0.75, 0.125]
    assert [radical_inverse(i, 3) for i in range(1, 4)] == pytest.approx([1 / 3, 2 / 3, 1 / 9])
    axes = {"lr": {"low": 1e-4, "high": 1, "scale": "log"}, "wd": {"low": 0, "high": 3}, "act": ["relu", "tanh"]}
    assert sample(axes, 2) == [
        {"lr": 0.01, "wd": 1.0, "act": "relu"},
        {"lr": 0.001, "wd": 2.0, "act": "relu"},
    ]


def test_more_points_keep_the_first_ones() -> None:
    axes = {"lr": {"low": 0, "high": 1}}
    assert sample(axes, 20)[:10] == sample(axes, 10)


def test_a_point_stands_once() -> None:
    points = sample({"lr": [1, 2, 3], "batch": [4, 5]}, 100)
    assert len(points) == 6
    assert {(p["lr"], p["batch"]) for p in points} == {(a, b) for a in (1, 2, 3) for b in (4, 5)}


def test_four_digits_are_what_a_table_shows() -> None:
    assert all(float(f"{p['lr']:.4g}") == p["lr"] for p in sample({"lr": {"low": 0.001, "high": 0.9}}, 30))


def test_whole_numbers_stay_whole_in_their_range_and_stand_once() -> None:
    points = sample({"batch": {"low": 16, "high": 256, "scale": "log"}}, 8, whole=("batch",))
    assert [point["batch"] for point in points] == [64, 32, 128, 23, 91, 45, 181, 19]
    assert all(isinstance(point["batch"], int) for point in points)
    few = sample({"batch": {"low": 1, "high": 3}, "lr": {"low": 0, "high": 1}}, 60, whole=("batch",))
    counts = [sum(point["batch"] == value for point in few) for value in (1, 2, 3)]
    assert sum(counts) == 60
    assert all(19 <= count <= 21 for count in counts)


def test_a_range_with_an_end_between_whole_numbers_is_of_any() -> None:
    axis = {"batch": {"low": 0.5, "high": 3}}
    assert sample(axis, 5, whole=("batch",)) == sample(axis, 5)


@given(st.integers(1, 10**6), st.integers(FEW, 10**6), st.sampled_from(["linear", "log"]), st.integers(1, 30))
def test_what_was_whole_before_it_was_rounded_is_what_it_was(low: int, more: int, scale: str, count: int) -> None:
    """So that the runs of a study are those they were."""
    axis = {"steps": {"low": low, "high": low + more, "scale": scale}}
    plain = [point["steps"] for point in sample(axis, count)]
    if all(value.is_integer() for value in plain):
        assert [point["steps"] for point in sample(axis, count, whole=("steps",))] == plain
