"""A result against its seconds: front and choice, by hand and by law."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.analyse.tradeoff import tradeoff

WOBBLE = [-0.002, 0.001, 0.001]


def runs_of(settings_: dict[str, tuple[float, float]], wobble: list[float] = WOBBLE) -> pl.DataFrame:
    """label -> (value, seconds); seeds move the value, settings in turn the other way."""
    lines = [
        (label, seed, value + (by if place % 2 else -by), seconds)
        for place, (label, (value, seconds)) in enumerate(settings_.items())
        for seed, by in enumerate(wobble)
    ]
    schema = {"label": pl.String, "seed": pl.Int64, "value": pl.Float64, "seconds": pl.Float64}
    return pl.DataFrame(lines, schema=schema, orient="row")


BATCHES = {"16": (0.95, 40.0), "32": (0.949, 20.0), "64": (0.90, 10.0), "128": (0.85, 12.0)}


def test_by_hand() -> None:
    found = tradeoff(runs_of(BATCHES), metric="accuracy")
    assert found["label"].to_list() == ["64", "128", "32", "16"], "quickest first"
    assert found["front"].to_list() == [True, False, True, True]
    assert found["good"].to_list() == [False, False, True, True]
    assert found.filter("choice")["label"].to_list() == ["32"]
    row = found.row(2, named=True)
    assert (row["n"], row["value"], row["seconds"], row["behind"]) == pytest.approx((3, 0.949, 20.0, 0.001))
    assert row["behind_low"] < 0 < row["behind_high"]


def test_what_two_seeds_cannot_separate_is_not_as_good_for_that() -> None:
    """Seven points behind, in an interval that holds 0."""
    values = {"slow": (0.95, 0.96), "fast": (0.87, 0.895)}
    lines = [
        (label, seed, value, 9.0 if label == "slow" else 1.0)
        for label in values
        for seed, value in enumerate(values[label])
    ]
    found = tradeoff(pl.DataFrame(lines, schema=["label", "seed", "value", "seconds"], orient="row"), metric="accuracy")
    assert found.row(0, named=True)["behind_low"] < 0
    assert found["good"].to_list() == [False, True]
    assert found.filter("choice")["label"].to_list() == ["slow"]


def test_a_loss_is_better_when_lower() -> None:
    found = tradeoff(runs_of({"a": (0.1, 9.0), "b": (0.5, 1.0), "c": (0.6, 2.0)}), metric="loss")
    assert found.select("label", "front", "choice").rows() == [
        ("b", True, False),
        ("c", False, False),
        ("a", True, True),
    ]
    assert found["behind"].to_list() == pytest.approx([0.4, 0.5, None])


def test_one_seed_chooses_nothing() -> None:
    found = tradeoff(runs_of(BATCHES, [0.0]), metric="accuracy")
    assert found["front"].to_list() == [True, False, True, True]
    assert not found["choice"].any()
    assert found["good"].drop_nulls().to_list() == [False]


def test_twins_share_the_front_and_one_is_chosen() -> None:
    found = tradeoff(runs_of({"a": (0.9, 2.0), "b": (0.9, 2.0)}, [0.0, 0.0]), metric="accuracy")
    assert found["front"].to_list() == [True, True]
    assert found["choice"].to_list() == [True, False]


def test_settings_without_a_value_or_seconds_are_not_there() -> None:
    table = runs_of(BATCHES).with_columns(
        value=pl.when(pl.col("label") != "16").then("value"), seconds=pl.when(pl.col("label") != "64").then("seconds")
    )
    assert tradeoff(table, metric="accuracy")["label"].to_list() == ["128", "32"]
    assert tradeoff(table.head(0), metric="accuracy").is_empty()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=7))
def test_the_front_is_what_no_other_beats(points: list[tuple[int, int]]) -> None:
    table = runs_of({str(n): (float(v), float(s)) for n, (v, s) in enumerate(points)}, [0.0, 0.0])
    found = tradeoff(table, metric="accuracy")
    for row in found.iter_rows(named=True):
        beaten = any(
            v >= row["value"] and s <= row["seconds"] and (v, s) != (row["value"], row["seconds"]) for v, s in points
        )
        assert row["front"] == (not beaten)
    chosen = found.filter("choice")
    assert chosen.height == 1
    best = [s for v, s in points if v == max(v for v, _ in points)]
    assert chosen["seconds"][0] == min(best), "without spread only the best is as good as the best"
