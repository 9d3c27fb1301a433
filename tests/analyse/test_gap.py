"""Training less held-out accuracy, where a run has both."""

import polars as pl
import pytest

from paceline.analyse.gap import WORTH, gaps, over_fitting

from .tables import rows_of


def with_train(curves, train):
    rows = rows_of(curves)
    return rows.with_columns(pl.Series("train_accuracy", train, pl.Float64))


def test_the_last_row_with_both_counts():
    rows = with_train({"a": {"accuracy": [0.1, 0.5, 0.6, None]}}, [None, 0.55, 0.7, 0.8])
    (row,) = gaps(rows).to_dicts()
    assert row["gap"] == pytest.approx(0.1)
    assert (row["train_accuracy"], row["held_out"], row["on"]) == (0.7, 0.6, "test")


def test_validation_goes_before_test():
    rows = with_train({"a": {"accuracy": [0.1, 0.5], "validation_accuracy": [0.1, 0.4]}}, [None, 0.9])
    (row,) = gaps(rows).to_dicts()
    assert (row["on"], row["gap"]) == ("validation", pytest.approx(0.5))


def test_without_training_accuracy_there_is_none():
    assert gaps(rows_of({"a": {"accuracy": [0.1, 0.5]}})).is_empty()
    assert gaps(rows_of({"a": {"loss": [0.1, 0.5]}})).is_empty()


@pytest.mark.parametrize(
    ("mean", "low", "said"),
    [(0.05, 0.01, True), (0.05, -0.01, False), (WORTH / 2, 0.005, False), (-0.1, -0.2, False), (0.5, None, False)],
)
def test_over_fitting_is_separated_from_0_and_worth_saying(mean, low, said):
    table = pl.DataFrame({"mean": [mean], "low": [low]}, schema={"mean": pl.Float64, "low": pl.Float64})
    assert table.select(over_fitting()).item() is said
