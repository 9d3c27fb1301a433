"""10,000 runs of 50 rows are analysed in seconds."""

import time

import numpy as np
import polars as pl

from paceline.analyse.best import best_of_tuned
from paceline.analyse.curves import best_step
from paceline.analyse.finals import finals
from paceline.analyse.stable import epochs_to_stable
from paceline.analyse.target import to_target
from paceline.analyse.verdicts import verdicts

RUNS, ROWS = 10_000, 50


def test_half_a_million_rows() -> None:
    rng = np.random.default_rng(0)
    loss = (0.1 + 2.3 * np.exp(-np.linspace(0, 3, ROWS)) * np.exp(0.02 * rng.normal(size=(RUNS, ROWS)))).ravel()
    names, place = np.array([f"{i:016x}" for i in range(RUNS)]), np.tile(np.arange(ROWS), RUNS)
    rows = pl.DataFrame({"run": np.repeat(names, ROWS), "step": place * 10, "epoch": place, "examples": place * 1000, "seconds": place * 0.1, "train_loss": loss, "loss": loss, "accuracy": 1 - loss / 3, "nonfinite": False})  # fmt: skip
    number = np.arange(RUNS)
    runs = pl.DataFrame({"run": names, "lr": 10.0 ** -(number // 5 % 100), "optimizer": number // 500, "seed": number % 5, "status": "done", "timing": "exclusive", "reason": None}, schema_overrides={"reason": pl.String})  # fmt: skip
    began = time.monotonic()
    ends = finals(rows, runs, select="validation", metric="accuracy")
    best = best_of_tuned(runs, ends, ["optimizer"], ["lr"], metric="accuracy")
    tables = verdicts(rows, runs), best_step(rows), epochs_to_stable(rows)
    reached = to_target(rows, runs, ["optimizer", "lr"], metric="accuracy", target=0.9)
    assert time.monotonic() - began < 15
    assert [table.height for table in (*tables, best, reached)] == [RUNS, RUNS, RUNS, 20, 2000]
