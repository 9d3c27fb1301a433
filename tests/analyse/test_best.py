"""Best of the tuned axes: chosen on one number, reported by another, with what a reader must know."""

from typing import Any

import polars as pl
import pytest

from paceline.analyse.best import best_of_tuned
from paceline.analyse.sensitivity import sensitivity

COLUMNS = ["n", "mean", "sd", "low", "high", "chosen_mean", "diverged", "failed", "edge", "edges", "note"]


def study(settings: list[tuple[Any, ...]], seeds: int = 2) -> tuple[pl.DataFrame, pl.DataFrame]:
    """optimizer, lr, chosen, value, status of the last seed."""
    lines = [
        (f"{o}{lr}s{seed}", o, lr, seed, status if seed == seeds - 1 else "done", c, v)
        for o, lr, c, v, status in settings
        for seed in range(seeds)
    ]
    table = pl.DataFrame(lines, schema=["run", "optimizer", "lr", "seed", "status", "chosen", "value"], orient="row")
    ok = pl.col("status") == "done"
    return table.drop("chosen", "value"), table.select(
        "run", pl.when(ok).then("chosen").alias("chosen"), pl.when(ok).then("value").alias("value")
    )


SETTINGS = [
    ("adam", 0.1, 0.5, 0.6, "done"),
    ("adam", 0.01, 0.9, 0.8, "done"),
    ("adam", 0.001, 0.8, 0.95, "done"),
    ("gd", 0.1, 0.99, 0.99, "diverged"),
    ("gd", 0.01, 0.85, 0.85, "done"),
]


def test_chosen_on_validation_reported_on_test_best_first() -> None:
    best = best_of_tuned(*study(SETTINGS), ["optimizer"], ["lr"], metric="accuracy")
    assert best.columns == ["optimizer", "lr", *COLUMNS]
    assert best.select("optimizer", "lr", "n", "mean", "chosen_mean", "edge").rows() == [
        ("gd", 0.01, 2, 0.85, 0.85, True),
        ("adam", 0.01, 2, 0.8, 0.9, False),
    ]
    assert best["note"].to_list() == ["lr 0.01 is the smallest tried: the optimum may lie outside", None]


def test_lower_loss_is_better() -> None:
    best = best_of_tuned(*study(SETTINGS), ["optimizer"], ["lr"], metric="loss")
    assert best.select("optimizer", "lr").rows() == [("adam", 0.1), ("gd", 0.01)]
    assert best["note"][0] == "lr 0.1 is the largest tried: the optimum may lie outside"


def test_incomplete_settings_come_last_and_say_so() -> None:
    settings = [("adam", 0.1, 0.5, 0.5, "done"), ("gd", 0.1, 0.9, 0.9, "failed"), ("sgd", 0.1, 0.9, 0.9, "queued")]
    best = best_of_tuned(*study(settings, seeds=3), ["optimizer"], ["lr"], metric="accuracy")
    assert best["optimizer"].to_list() == ["adam", "gd", "sgd"]
    assert best["note"].to_list() == [None, "1 of 3 seeds failed", "1 of 3 seeds not finished"]
    assert best["edge"].to_list() == [False] * 3


def test_where_everything_diverged_no_value_is_best() -> None:
    best = best_of_tuned(
        *study([("gd", 1.0, 0, 0, "diverged"), ("gd", 0.1, 0, 0, "diverged")], 1),
        ["optimizer"],
        ["lr"],
        metric="accuracy",
    )
    assert best.select("lr", "n", "mean", "diverged", "edge", "note").rows() == [
        (None, 0, None, 2, False, "2 of 2 runs diverged")
    ]


def test_no_compared_no_tuned_and_null_axes() -> None:
    runs, finals = study(SETTINGS[:3])
    assert best_of_tuned(runs, finals, [], ["lr"], metric="accuracy")["lr"].to_list() == [0.01]
    assert best_of_tuned(runs, finals, [], [], metric="accuracy")["n"].to_list() == [6]
    nothing = runs.with_columns(case=pl.lit(None, pl.String), beta=pl.lit(None, pl.Float64))
    best = best_of_tuned(nothing, finals, ["case", "optimizer"], ["lr", "beta"], metric="accuracy")
    assert best.select("case", "optimizer", "lr", "beta", "edge").rows() == [(None, "adam", 0.01, None, False)]


def test_a_smallest_of_zero_is_no_edge_and_words_have_none() -> None:
    runs, finals = study([("a", 0.0, 0.9, 0.9, "done"), ("a", 0.5, 0.1, 0.1, "done")])
    assert best_of_tuned(runs, finals, ["optimizer"], ["lr"], metric="accuracy")["edge"].to_list() == [False]
    assert best_of_tuned(runs, finals, [], ["optimizer"], metric="accuracy")["edge"].to_list() == [False]


def test_order_and_names_do_not_matter() -> None:
    runs, finals = study(SETTINGS)
    best = best_of_tuned(runs, finals, ["optimizer"], ["lr"], metric="accuracy")
    assert best_of_tuned(runs.reverse(), finals.reverse(), ["optimizer"], ["lr"], metric="accuracy").equals(best)
    renamed = [table.with_columns("x" + pl.col("run")) for table in (runs, finals)]
    assert best_of_tuned(*renamed, ["optimizer"], ["lr"], metric="accuracy").equals(best)


def test_sensitivity_at_the_best_of_the_other_axes() -> None:
    values = {
        (0.001, 0.0): 0.5,
        (0.01, 0.0): 0.9,
        (0.1, 0.0): 0.895,
        (1.0, 0.0): 0.2,
        (0.01, 0.9): 0.8,
        (0.1, 0.9): 0.9,
    }
    lines = [(f"{lr}{m}{s}", lr, m, s, "done", v) for (lr, m), v in values.items() for s in range(3)]
    table = pl.DataFrame(lines, schema=["run", "lr", "momentum", "seed", "status", "value"], orient="row")
    finals = table.select("run", "value", chosen="value")
    found = sensitivity(table.drop("value"), finals, [], "lr", ["lr", "momentum"], metric="accuracy")
    assert found.columns == ["lr", "n", "mean", "low", "high", "width", "width_unit"]
    assert found["mean"].to_list() == pytest.approx([0.5, 0.9, 0.9, 0.2])
    assert found["width"].to_list() == pytest.approx([1.0] * 4)
    assert found["width_unit"][0] == "decades"
    by_zero = sensitivity(table.drop("value"), finals, [], "momentum", ["lr", "momentum"], metric="accuracy")
    assert by_zero.select("momentum", "width", "width_unit").rows() == [(0.0, 2.0, "values"), (0.9, 2.0, "values")]


def test_sensitivity_by_compared_setting_leaves_the_diverged_out_of_the_width() -> None:
    found = sensitivity(*study(SETTINGS), ["optimizer"], "lr", ["lr"], metric="accuracy")
    assert found.select("optimizer", "lr").rows() == [
        ("adam", 0.001),
        ("adam", 0.01),
        ("adam", 0.1),
        ("gd", 0.01),
        ("gd", 0.1),
    ]
    assert found["width"].to_list() == [0.0] * 5
