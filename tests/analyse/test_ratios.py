"""Ratios by hand, their laws, and that their intervals hold the truth as often as they say."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.analyse.ratios import medians, ratios

SPEEDS = st.lists(st.floats(0.01, 1e6), min_size=2, max_size=8)


def table_of(values: dict[str, list[float | None]]) -> pl.DataFrame:
    lines = [(label, seed, value) for label, found in values.items() for seed, value in enumerate(found)]
    return pl.DataFrame(lines, schema={"label": pl.String, "seed": pl.Int64, "v": pl.Float64}, orient="row")


def against(table: pl.DataFrame, reference: str) -> pl.DataFrame:
    return ratios(table, ["label"], "v", table.filter(pl.col("label") == reference))


def test_medians_by_hand() -> None:
    found = medians(
        table_of({"a": [1.0, math.e**2], "b": [5.0], "c": [None, 0.0], "d": [1.0, 2.0, 9.0]}), ["label"], "v"
    )
    assert found.columns == ["label", "n", "median", "low", "high"]
    assert found["n"].to_list() == [2, 1, 0, 3]
    assert found["median"].to_list() == pytest.approx([(1 + math.e**2) / 2, 5.0, None, 2.0])
    half = 12.7062047 * 2**0.5 / 2**0.5  # t(0.975, 1), sd of the logs sqrt(2), n = 2
    assert found.row(0)[3:] == pytest.approx((math.exp(1 - half), math.exp(1 + half)), rel=1e-6)
    assert found.row(1)[3:] == (None, None)


def test_ratios_by_hand_over_shared_seeds() -> None:
    table = table_of({"a": [10.0, 20.0, 40.0, 7.0], "b": [20.0, 80.0, 80.0, None]})
    found = against(table, "a").row(1, named=True)
    assert (found["pairs"], found["ratio"]) == (3, pytest.approx(2.0))
    logs = np.log([2, 4, 2])
    half = 4.30265273 * logs.std(ddof=1) / 3**0.5
    assert found["low"] == pytest.approx(math.exp(logs.mean() - half))
    assert found["high"] == pytest.approx(math.exp(logs.mean() + half))
    assert against(table, "a").row(0)[1:] == (4, 1.0, 1.0, 1.0)


def test_no_shared_seed_and_one() -> None:
    table = pl.DataFrame({"label": ["a", "b", "c"], "seed": [0, 1, 0], "v": [1.0, 2.0, 4.0]})
    assert against(table, "a").rows() == [
        ("a", 1, 1.0, None, None),
        ("b", 0, None, None, None),
        ("c", 1, 4.0, None, None),
    ]


@settings(max_examples=50, deadline=None)
@given(SPEEDS, st.data())
def test_turning_a_ratio_round_inverts_it(first: list[float], data: st.DataObject) -> None:
    second = data.draw(st.lists(st.floats(0.01, 1e6), min_size=len(first), max_size=len(first)))
    table = table_of({"a": first, "b": second})
    there, back = against(table, "a").row(1, named=True), against(table, "b").row(0, named=True)
    assert math.log(there["ratio"]) == pytest.approx(-math.log(back["ratio"]), abs=1e-9)
    for low, high in (("low", "high"), ("high", "low")):
        if 1e-200 < back[high] < 1e200 and 1e-200 < there[low] < 1e200:
            assert math.log(there[low]) == pytest.approx(-math.log(back[high]), abs=1e-6)
    assert there["low"] <= there["ratio"] <= there["high"]


@settings(max_examples=50, deadline=None)
@given(SPEEDS, st.floats(0.01, 100))
def test_a_unit_changes_no_ratio_and_scales_the_median(values: list[float], unit: float) -> None:
    table = table_of({"a": values, "b": values[::-1]})
    scaled = table.with_columns(pl.col("v") * unit)
    assert against(scaled, "a")["ratio"].to_list() == pytest.approx(against(table, "a")["ratio"].to_list())
    plain, moved = (medians(t, ["label"], "v").row(0, named=True) for t in (table, scaled))
    assert moved["median"] == pytest.approx(plain["median"] * unit)
    assert plain["low"] <= plain["median"] <= plain["high"]


@pytest.mark.parametrize("n", [3, 5])
def test_95_of_100_intervals_hold_the_true_ratio(n: int) -> None:
    trials, random = 3000, np.random.default_rng(n)
    day = random.normal(0, 0.3, (trials, n))  # what both settings share
    a, b = (np.exp(day + shift + random.normal(0, 0.05, (trials, n))) for shift in (0.0, math.log(1.5)))
    keys = np.repeat(np.arange(trials), n) * n + np.tile(np.arange(n), trials)
    each = pl.DataFrame({"k": np.repeat(np.arange(trials), n), "seed": keys, "v": b.ravel()})
    found = ratios(each, ["k"], "v", pl.DataFrame({"seed": keys, "v": a.ravel()}))
    held = found.select(((pl.col("low") <= 1.5) & (pl.col("high") >= 1.5)).mean()).item()
    assert held == pytest.approx(0.95, abs=0.02)
