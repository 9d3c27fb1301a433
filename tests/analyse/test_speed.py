"""Which is faster: said where it holds, refused where it cannot."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.analyse.speed import NOISY, SHARED, SINGLE, UNMEASURED, UNPAIRED, speeds

BASE = [100.0, 110.0, 90.0]
PROBES = ("probe_before", "probe_after")


def runs_of(
    values: dict[str, list[float | None]], probes: tuple[float, float] | None = None, **more: Any
) -> pl.DataFrame:
    """A line a value, seeds from 0; `probes`: the fastest and slowest noise probe of every label."""
    lines = [
        {"label": label, "seed": seed, "samples_per_second": value, "timing": "exclusive"}
        | ({"probe_before": probes[0], "probe_after": probes[1]} if probes else {})
        for label, found in values.items()
        for seed, value in enumerate(found)
    ]
    return pl.DataFrame(lines, schema_overrides={"samples_per_second": pl.Float64}).with_columns(**more)


def claim(values: list[float | None], probes: tuple[float, float] | None = None, **more: Any) -> tuple[str, str | None]:
    table = speeds(runs_of({"base": BASE, "x": values}, probes, **more), "base")
    return table.filter(pl.col("label") == "x").select("claim", "why").row(0)


def test_by_hand() -> None:
    found = speeds(runs_of({"base": BASE, "x": [200.0, 230.0, 175.0]}), "base")
    base, x = found.rows(named=True)
    assert (base["n"], base["samples_per_second"], base["claim"], base["why"]) == (3, 100.0, "reference", None)
    assert (x["n"], x["samples_per_second"], x["pairs"], x["ratio"]) == (3, 200.0, 3, pytest.approx(2.0))
    assert x["ratio_low"] > 1.8
    assert (x["noise"], x["claim"]) == (None, "faster")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([200.0, 230.0, 175.0], "faster"),
        ([50.0, 54.0, 46.0], "slower"),
        ([101.0, 108.0, 92.0], "no difference"),
        (BASE, "no difference"),
    ],
)
def test_claims(values: list[float | None], said: str) -> None:
    assert claim(values) == (said, None)
    assert claim(values, (1.0, 1.01)) == (said, None)


def test_a_difference_that_is_shown_but_smaller_than_the_noise_is_refused() -> None:
    values: list[float | None] = [120.0, 132.0, 108.0]  # 1.2 times, exactly
    assert claim(values, (1.0, 1.19)) == ("faster", None)
    assert claim(values, (1.0, 1.21)) == ("refused", NOISY)
    slower: list[float | None] = [v / 1.2 for v in BASE]
    assert claim(slower, (1.0, 1.19)) == ("slower", None)
    assert claim(slower, (1.0, 1.21)) == ("refused", NOISY)


def test_noise_is_of_both_settings_and_of_no_other() -> None:
    table = runs_of({"base": BASE, "x": BASE, "y": BASE}, (1.0, 1.0))
    wild = pl.when(pl.col("label") == "y").then(3.0).otherwise(pl.col("probe_after"))
    assert speeds(table.with_columns(probe_after=wild), "base")["noise"].to_list() == [1.0, 1.0, 3.0]
    drift = pl.when(pl.col("label") == "x").then(2.0).otherwise(1.0)
    assert speeds(table.with_columns(probe_before=drift, probe_after=drift), "base")["noise"].to_list() == [
        1.0,
        2.0,
        1.0,
    ]


def test_what_is_refused() -> None:
    assert claim([200.0]) == ("refused", SINGLE)
    assert claim([None, None]) == ("refused", UNMEASURED)
    table = runs_of({"base": BASE, "x": [200.0, 220.0]}).with_columns(
        seed=pl.when(pl.col("label") == "x").then(pl.col("seed") + 10).otherwise("seed")
    )
    assert speeds(table, "base").select("claim", "why").row(1) == ("refused", UNPAIRED)


@pytest.mark.parametrize("who", ["base", "x"])
def test_one_run_that_was_not_alone_takes_the_numbers_of_its_setting_away(who: str) -> None:
    shared = pl.when((pl.col("label") == who) & (pl.col("seed") == 1)).then(pl.lit("shared")).otherwise("timing")
    found = speeds(runs_of({"base": BASE, "x": [200.0, 230.0, 175.0]}).with_columns(timing=shared), "base")
    x = found.filter(pl.col("label") == "x").row(0, named=True)
    assert (x["claim"], x["why"], x["ratio"]) == ("refused", SHARED, None)
    assert found.filter(pl.col("label") == who)["samples_per_second"].to_list() == [None]
    unknown = speeds(runs_of({"base": BASE, "x": BASE}, timing=pl.lit(None, pl.String)), "base")
    assert unknown["why"].to_list() == [SHARED, SHARED]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(50, 200), min_size=2, max_size=6), st.data())
def test_swapping_the_reference_swaps_the_claim(first: list[float], data: st.DataObject) -> None:
    second = data.draw(st.lists(st.floats(50, 200), min_size=len(first), max_size=len(first)))
    table = runs_of({"a": list(first), "b": list(second)}, (1.0, 1.1))
    there = speeds(table, "a").row(1, named=True)
    back = speeds(table, "b").row(0, named=True)
    assert there["ratio"] == pytest.approx(1 / back["ratio"])
    effect = max(there["ratio"], 1 / there["ratio"])
    if abs(effect - 1.1) > 1e-6 and min(abs(there["ratio_low"] - 1), abs(there["ratio_high"] - 1)) > 1e-6:
        turned = {"faster": "slower", "slower": "faster"}
        assert back["claim"] == turned.get(there["claim"], there["claim"])


def test_probes_are_compared_with_their_like() -> None:
    """In bf16 the probe itself is twice as fast: that is no noise."""
    table = runs_of({"base": BASE, "x": [150.0, 165.0, 135.0]}, (1.0, 1.1))
    other = pl.col("label") == "x"
    kinds = pl.when(other).then(pl.lit("bf16")).otherwise(pl.lit("fp32")).alias("probe_kind")
    half = [pl.when(other).then(pl.col(name) / 2).otherwise(pl.col(name)).alias(name) for name in PROBES]
    found = speeds(table.with_columns(*half), "base")
    assert found["noise"].to_list() == pytest.approx([1.1, 2.2])
    found = speeds(table.with_columns(*half, kinds), "base")
    assert found["noise"].to_list() == pytest.approx([1.1, 1.1])
    assert found["claim"].to_list() == ["reference", "faster"]
