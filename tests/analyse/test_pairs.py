"""Paired comparison: against scipy, corrected, and honest about what is not separated."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from paceline.analyse.pairs import holm, more_seeds, pairwise, ties

COLUMNS = ["a", "b", "n", "difference", "low", "high", "p", "p_holm", "separated", "more_seeds"]


def table_of(values: dict[str, list[float]]) -> pl.DataFrame:
    lines = [(label, seed, value) for label, found in values.items() for seed, value in enumerate(found)]
    return pl.DataFrame(lines, schema={"label": pl.String, "seed": pl.Int64, "value": pl.Float64}, orient="row")


def test_it_is_the_paired_t_test() -> None:
    x, y = [0.9, 0.92, 0.91, 0.95], [0.88, 0.89, 0.91, 0.9]
    pair = pairwise(table_of({"y": y, "x": x}), metric="accuracy")
    assert pair.columns == COLUMNS
    line, known = pair.row(0, named=True), stats.ttest_rel(x, y)
    assert (line["a"], line["b"], line["n"]) == ("x", "y", 4)
    assert line["p"] == pytest.approx(known.pvalue)
    assert (line["low"], line["high"]) == pytest.approx(tuple(known.confidence_interval()))
    flipped = pairwise(table_of({"y": y, "x": x}), metric="loss").row(0, named=True)
    assert (flipped["a"], flipped["difference"]) == ("y", pytest.approx(line["difference"]))


def test_only_shared_seeds_are_paired() -> None:
    table = pl.DataFrame({"label": ["a", "a", "a", "b", "b"], "seed": [0, 1, 2, 1, 2], "value": [9.0, 2, 3, 1, 1]})
    line = pairwise(table, metric="accuracy").row(0, named=True)
    assert (line["n"], line["difference"]) == (2, 1.5)


def test_identical_values_are_the_same() -> None:
    line = pairwise(table_of({"gd": [0.5, 0.6], "proximal_gd": [0.5, 0.6]}), metric="loss").row(0, named=True)
    assert (line["difference"], line["p"], line["separated"], line["more_seeds"]) == (0, 1, False, None)


def test_a_difference_without_spread_is_separated() -> None:
    line = pairwise(table_of({"a": [0.3, 0.3, 0.3], "b": [0.1, 0.1, 0.1]}), metric="accuracy").row(0, named=True)
    assert (line["p"], line["separated"], line["more_seeds"]) == (0, True, None)


def test_results_that_agree_because_they_are_counted_are_not_exact() -> None:
    """360 test images, one of them wrong with every seed of b, while the losses differ."""
    table = table_of({"a": [1.0] * 3, "b": [1 - 1 / 360] * 3})
    line = pairwise(table.with_columns(exact=False), metric="accuracy").row(0, named=True)
    assert not line["separated"]
    assert line["low"] < 0 < line["high"]
    assert pairwise(table.with_columns(exact=True), metric="accuracy")["separated"].all()
    far = table_of({"a": [1.0] * 3, "b": [1 - 1 / 360] * 3, "c": [0.8] * 3}).with_columns(exact=False)
    known = pairwise(far, metric="accuracy").filter(pl.col("b") == "c")
    assert known["separated"].all(), "many images apart is no chance"


def test_differences_equal_by_chance_have_the_spread_of_the_results() -> None:
    """Two seeds, both 0.01 apart, while the results lie 0.2 apart."""
    line = pairwise(table_of({"a": [0.91, 0.71], "b": [0.9, 0.7]}), metric="accuracy").row(0, named=True)
    assert line["p"] > 0.5
    assert line["low"] < 0 < line["high"]
    assert not line["separated"]


def test_one_seed_separates_nothing() -> None:
    line = pairwise(table_of({"a": [0.9], "b": [0.1]}), metric="accuracy").row(0, named=True)
    assert (line["n"], line["difference"], line["p"], line["separated"], line["more_seeds"]) == (
        1,
        0.8,
        None,
        False,
        None,
    )
    alone = pairwise(table_of({"a": [0.9]}), metric="accuracy")
    assert alone.is_empty()
    assert alone.columns == COLUMNS


def test_a_difference_that_rounding_makes_is_none() -> None:
    table = table_of({"a": [0.1 + 0.2, 0.5, 0.9], "b": [0.3, 0.6, 0.8]})
    row = pairwise(table, metric="accuracy").row(0, named=True)
    assert (row["difference"], row["separated"], row["more_seeds"]) == (0.0, False, None)


def test_labels_are_made_of_the_compared_columns() -> None:
    table = pl.DataFrame(
        {"case": [None, None], "optimizer": ["a", "b"], "seed": [0, 0], "value": [1.0, 2.0]},
        schema_overrides={"case": pl.String},
    )
    assert pairwise(table, ["case", "optimizer"], metric="accuracy").row(0)[:2] == ("b", "a")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_is_monotone_and_never_below_p(values: list[float]) -> None:
    p = np.array(values)
    adjusted, alpha = holm(p)
    order = np.argsort(p)
    assert (np.diff(adjusted[order]) >= 0).all()
    assert ((adjusted >= p) & (adjusted <= 1)).all()
    assert ((alpha <= 0.05) & (alpha >= 0.05 / len(p) - 1e-15)).all()


def test_holm_by_hand() -> None:
    adjusted, _ = holm(np.array([0.01, 0.04, 0.03, np.nan]))
    assert adjusted[:3] == pytest.approx([0.03, 0.06, 0.06])
    assert np.isnan(adjusted[3])


@pytest.mark.parametrize("effect", [0.2, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("alpha", [0.05, 0.005, 0.001])
def test_that_many_more_seeds_have_about_80_percent_power(effect: float, alpha: float) -> None:
    one = np.ones(1)
    total = 3 + more_seeds(3 * one, effect * one, one, alpha * one)[0]
    limit = stats.t.ppf(1 - alpha / 2, total - 1)
    assert stats.nct.sf(limit, total - 1, effect * total**0.5) == pytest.approx(0.8, abs=0.12)


def test_more_seeds_has_a_cap() -> None:
    line = pairwise(table_of({"a": [0.5, 0.7, 0.600001], "b": [0.7, 0.5, 0.6]}), metric="accuracy").row(0, named=True)
    assert line["more_seeds"] == 1000


def test_false_separations_are_rare() -> None:
    rng = np.random.default_rng(0)
    wrong = sum(
        pairwise(table_of({str(k): list(rng.normal(size=5)) for k in range(6)}), metric="accuracy")["separated"].any()
        for _ in range(300)
    )
    assert wrong / 300 < 0.08


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.floats(0.1, 10))
def test_order_names_and_scale(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    table = table_of({name: list(rng.normal(i, 1, 4)) for i, name in enumerate("abc")})
    pairs = pairwise(table, metric="accuracy")
    assert pairwise(table.sample(fraction=1.0, shuffle=True, seed=seed), metric="accuracy").equals(pairs)
    renamed = pairwise(table.with_columns("z" + pl.col("label")), metric="accuracy")
    assert renamed.with_columns(pl.col("a", "b").str.strip_prefix("z")).equals(pairs)
    scaled = pairwise(table.with_columns(pl.col("value") * scale), metric="accuracy")
    assert scaled["p_holm"].to_list() == pytest.approx(pairs["p_holm"].to_list(), rel=1e-6)
    assert scaled["difference"].to_list() == pytest.approx((pairs["difference"] * scale).to_list())


def test_ties_with_the_best() -> None:
    values = {"a": [0.9, 0.92, 0.91, 0.89], "b": [0.91, 0.9, 0.89, 0.9], "c": [0.5, 0.51, 0.5, 0.49]}
    pairs = pairwise(table_of(values), metric="accuracy")
    best = pl.DataFrame({"label": ["a", "b", "c", "nothing done"]})
    assert ties(pairs, best).rows() == [("a", 1, True), ("b", 2, True), ("c", 3, False), ("nothing done", 4, False)]
    alone = ties(
        pairwise(table_of({"a": values["a"], "c": values["c"]}), metric="accuracy"), best.filter(pl.col("label") != "b")
    )
    assert alone["tied_with_best"].to_list() == [False, False, False]
