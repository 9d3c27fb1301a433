"""Verdicts on curves whose truth is known, over many seeds and noise levels."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from paceline.analyse.verdicts import verdicts

from .tables import rows_of, runs_of

ROWS = 50
X = np.linspace(0, 1, ROWS)
NOISES = (0.0, 0.002, 0.01, 0.03)
SEEDS = 25

Curve = Callable[[np.ndarray], dict[str, np.ndarray]]


def _pair(loss: np.ndarray, train: np.ndarray) -> dict[str, np.ndarray]:
    return {"validation_loss": loss, "train_loss": train}


TRUTH: dict[str, list[Curve]] = {
    "diverged": [lambda e: _pair(2.3 * np.exp(3 * X) * e, 2.3 * np.exp(3 * X))],
    "stalled": [
        lambda e: _pair(2.3 * e, np.full(ROWS, 2.3)),
        lambda e: _pair((2.3 + 0.5 * np.exp(-((X - 0.1) ** 2) * 400)) * e, np.full(ROWS, 2.3)),
    ],
    "oscillating": [
        lambda e: _pair(
            (0.3 + 2 * np.exp(-20 * X)) * (1 + 0.3 * np.sin(np.arange(ROWS) * 2.1)) * e, 0.3 + 2 * np.exp(-20 * X)
        ),
        lambda e: _pair(0.4 + 2 * np.exp(-20 * X) + 0.6 * np.clip(X - 0.5, 0, 1) * e, 0.4 + 0.6 * X),
    ],
    "over-fitting": [lambda e: _pair((0.3 + 2 * np.exp(-15 * X) + 0.5 * X**2) * e, 2.3 * np.exp(-6 * X))],
    "still improving": [
        lambda e: _pair(2.3 * np.exp(-2 * X) * e, 2.3 * np.exp(-2 * X)),
        lambda e: _pair(2.3 * (1 - 0.5 * X) * e, 2.3 * (1 - 0.5 * X)),
    ],
    "converged": [
        lambda e: _pair((0.3 + 2 * np.exp(-15 * X)) * e, 0.3 + 2 * np.exp(-15 * X)),
        lambda e: _pair((0.3 + 2 * np.exp(-30 * X)) * e, 0.3 * np.exp(-X)),
    ],
}
CASES = [(truth, place, noise) for truth, curves in TRUTH.items() for place in range(len(curves)) for noise in NOISES]


def judged(curves: dict[str, dict[str, np.ndarray]], **columns: object) -> pl.DataFrame:
    return verdicts(rows_of(curves), runs_of(list(curves), **columns))


@pytest.mark.parametrize(("truth", "place", "noise"), CASES)
def test_known_curves_get_their_verdict(truth: str, place: int, noise: float) -> None:
    made: dict[str, dict[str, np.ndarray]] = {}
    for seed in range(SEEDS):
        spread = np.exp(noise * np.random.default_rng(seed).normal(size=ROWS))
        spread[0] = 1.0
        made[f"r{seed}"] = TRUTH[truth][place](spread)
    table = judged(made)
    assert (table["verdict"] == truth).mean() >= 0.9, table.group_by("verdict").len()
    assert table["reason"].is_not_null().all()
    assert set(table["verdict"]) <= set(TRUTH)


def test_status_and_missing_numbers_say_diverged() -> None:
    fine = {"loss": np.full(ROWS, 1.0)}
    table = judged(
        {"a": fine, "b": fine}, status=["diverged", "done"], reason=["a loss is not finite at step 60", None]
    )
    assert table["verdict"].to_list() == ["diverged", "stalled"]
    assert "not finite at step 60" in table["reason"][0]
    rows = rows_of({"a": fine}).with_columns(nonfinite=pl.col("step") == 100)
    assert verdicts(rows, runs_of(["a"]))["verdict"].to_list() == ["diverged"]


def test_over_fitting_beyond_the_start_is_no_divergence() -> None:
    loss = np.where(X < 0.2, 2.3 - 5 * X, 1.3 + 4 * (X - 0.2))
    assert judged({"a": _pair(loss, 2.3 * np.exp(-6 * X))})["verdict"].to_list() == ["over-fitting"]


def test_what_is_not_judged_says_why() -> None:
    curve = {"loss": np.full(3, 1.0)}
    table = judged(
        {"a": curve, "b": curve, "c": curve}, status=["done", "queued", "failed"], reason=[None, None, "out of memory"]
    )
    assert table["verdict"].to_list() == [None, None, None]
    assert table["window"].to_list() == [None, None, None]
    assert table["reason"].to_list() == [
        "no verdict, 3 measured rows are too few: 5 are needed",
        "no verdict, the run is queued",
        "no verdict, the run is failed: out of memory",
    ]


def test_a_run_without_rows_stays() -> None:
    table = verdicts(rows_of({"a": {"loss": np.full(9, 1.0)}}), runs_of(["b", "a"], status=["queued", "done"]))
    assert table["run"].to_list() == ["b", "a"]


def test_a_loss_as_good_as_zero_has_converged() -> None:
    table = judged(
        {"falls": {"loss": 23.7 * 10.0 ** (-12 * X)}, "zero": {"loss": np.where(X < 0.5, 23.7 * 10.0 ** (-12 * X), 0)}}
    )
    assert table["verdict"].to_list() == ["converged", "converged"]
    assert "below a millionth of its start, 23.7" in table["reason"][0]


def test_chance_accuracy_is_stalled_though_the_loss_settled() -> None:
    table = judged({"a": {"loss": 2.3 + 0.3 * np.exp(-30 * X), "accuracy": np.full(ROWS, 0.1)}})
    assert table["verdict"].to_list() == ["stalled"]
    assert table["reason"][0] == "accuracy began at 0.1 and ends at 0.1, and test loss falls no more"


def test_a_slow_rate_that_learns_is_not_stalled() -> None:
    """Adadelta at 0.0001: in 500 steps the loss falls by less than 1 %, and accuracy rises from 0.1 to 0.6."""
    slow = 2.3 * (1 - 0.006 * X)
    table = judged(
        {"learns": {"loss": slow, "accuracy": 0.1 + 0.5 * X}, "not": {"loss": slow, "accuracy": 0.1 + 0 * X}}
    )
    assert table["verdict"].to_list() == ["still improving", "stalled"]


def test_a_good_start_is_not_stalled() -> None:
    """Pre-trained weights begin at 0.95 and end at 0.965."""
    table = judged({"a": {"loss": 0.1 + 0.1 * np.exp(-30 * X), "accuracy": 0.965 - 0.015 * np.exp(-30 * X)}})
    assert table["verdict"].to_list() == ["converged"]


def test_accuracy_alone_and_losses_below_zero_are_judged() -> None:
    table = judged({"a": {"accuracy": 0.9 - 0.8 * np.exp(-20 * X)}, "b": {"loss": -1 - X}, "c": {"loss": 1.0 - 2 * X}})
    assert table["verdict"].to_list() == ["converged", "still improving", "still improving"]


def test_reasons_carry_their_numbers() -> None:
    rising = TRUTH["over-fitting"][0](np.ones(ROWS))
    reason = judged({"a": rising})["reason"][0]
    assert reason.startswith("validation loss rose by ")
    assert reason.endswith(" while train loss went on falling")
    assert "in the last 12 of 50 rows, to " in judged({"a": {"loss": 2.3 * np.exp(-X)}})["reason"][0]


def test_verdicts_do_not_depend_on_row_order_or_scale() -> None:
    rng = np.random.default_rng(0)
    curves = {
        f"{truth}{i}": make(np.exp(0.01 * rng.normal(size=ROWS)))
        for truth, made in TRUTH.items()
        for i, make in enumerate(made)
    }
    rows, runs = rows_of(curves), runs_of(list(curves))
    table = verdicts(rows, runs)
    assert verdicts(rows.sample(fraction=1.0, shuffle=True, seed=1), runs).equals(table)
    assert verdicts(pl.concat([rows, rows]), pl.concat([runs, runs])).equals(table)
    scaled = rows.with_columns(pl.col("loss", "validation_loss", "train_loss") * 1000)
    assert verdicts(scaled, runs)["verdict"].equals(table["verdict"])


def test_noise_that_lasts_over_rows_misleads_in_a_minority() -> None:
    """A limit that docs/definitions.md states: correlated noise of 3 % on a converged curve."""
    made: dict[str, dict[str, np.ndarray]] = {}
    for seed in range(200):
        noise = 0.03 * np.random.default_rng(seed).normal(size=ROWS)
        for row in range(1, ROWS):
            noise[row] = 0.6 * noise[row - 1] + 0.8 * noise[row]
        made[f"r{seed}"] = TRUTH["converged"][0](np.exp(noise))
    assert (judged(made)["verdict"] == "converged").mean() > 0.7
