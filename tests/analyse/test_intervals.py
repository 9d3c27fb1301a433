"""Means and intervals: right by hand, honest by simulation."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.analyse.intervals import summarise

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20)


def test_by_hand() -> None:
    table = pl.DataFrame({"k": ["a", "a", "a", "b", "c", "c"], "v": [1.0, 2.0, 3.0, 5.0, None, 7.0]})
    found = summarise(table, ["k"], "v")
    assert found.columns == ["k", "n", "mean", "sd", "low", "high"]
    assert found["n"].to_list() == [3, 1, 1]
    first = found.row(0, named=True)
    assert first["mean"] == 2
    assert first["low"] == pytest.approx(2 - 4.302653 / 3**0.5, abs=1e-6)
    assert first["high"] == pytest.approx(2 + 4.302653 / 3**0.5, abs=1e-6)
    assert found.row(1) == ("b", 1, 5.0, None, None, None)


def test_without_groups_and_without_values() -> None:
    assert summarise(pl.DataFrame({"v": [1.0, 3.0]}), [], "v")["mean"].to_list() == [2.0]
    empty = summarise(pl.DataFrame({"k": ["a"], "v": pl.Series([None], dtype=pl.Float64)}), ["k"], "v")
    assert empty.row(0) == ("a", 0, None, None, None, None)


def test_the_interval_of_an_accuracy_stays_within_what_is_possible() -> None:
    table = pl.DataFrame({"v": [0.6, 0.94]})
    assert summarise(table, [], "v", metric="accuracy").select("low", "high").row(0) == (0.0, 1.0)
    assert summarise(table, [], "v", metric="loss")["low"][0] < 0


@pytest.mark.parametrize("n", [2, 3, 5, 20])
def test_95_of_100_intervals_hold_the_truth(n: int) -> None:
    trials = 4000
    values = np.random.default_rng(n).normal(3.0, 2.0, (trials, n))
    table = pl.DataFrame({"k": np.repeat(np.arange(trials), n), "v": values.ravel()})
    held = summarise(table, ["k"], "v").select(((pl.col("low") <= 3) & (pl.col("high") >= 3)).mean()).item()
    assert held == pytest.approx(0.95, abs=0.015)


@settings(max_examples=50, deadline=None)
@given(VALUES, st.randoms())
def test_order_does_not_matter(values: list[float], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = random.sample(values, len(values))
    first, second = (summarise(pl.DataFrame({"v": v}), [], "v") for v in (values, shuffled))
    assert first.row(0) == pytest.approx(second.row(0), rel=1e-6, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(VALUES, st.floats(0.01, 100), st.floats(-100, 100))
def test_intervals_scale_and_shift_with_the_values(values: list[float], scale: float, shift: float) -> None:
    plain = summarise(pl.DataFrame({"v": values}), [], "v").row(0, named=True)
    moved = summarise(pl.DataFrame({"v": [scale * v + shift for v in values]}), [], "v").row(0, named=True)
    for name in ("mean", "low", "high"):
        assert moved[name] == pytest.approx(scale * plain[name] + shift, rel=1e-6, abs=1e-2)
    assert plain["low"] <= plain["mean"] <= plain["high"]
