"""Loaders: the best, where workers stop to help, and what cannot be said."""

from typing import Any

import polars as pl
import pytest

from paceline.analyse.loading import ALIKE, GAIN, loading, saturation
from paceline.analyse.speed import SHARED, SINGLE

WOBBLE = [0.99, 1.0, 1.01]


def runs_of(speed: dict[tuple[int | None, bool | None, int], float], wobble: list[float] = WOBBLE) -> pl.DataFrame:
    """(workers, pin_memory, batch) -> samples a second, over seeds that wobble; settings in turn wobble the other way."""
    lines = [
        (*key, seed, value * (by if place % 2 else wobble[-1 - seed]), "exclusive")
        for place, (key, value) in enumerate(speed.items())
        for seed, by in enumerate(wobble)
    ]
    schema: dict[str, Any] = {"workers": pl.Int64, "pin_memory": pl.Boolean, "batch": pl.Int64, "seed": pl.Int64}
    return pl.DataFrame(lines, schema={**schema, "samples_per_second": pl.Float64, "timing": pl.String}, orient="row")


SATURATES = {(0, False, 32): 100.0, (1, False, 32): 150.0, (2, False, 32): 300.0, (4, False, 32): 301.0}
KEYS = ["workers", "pin_memory", "batch"]


def test_the_best_and_what_is_as_good() -> None:
    found = loading(runs_of(SATURATES), KEYS)
    assert found.select("workers", "stands").rows() == [(4, "best"), (2, ALIKE), (1, "slower"), (0, "slower")]
    assert found["samples_per_second"].to_list() == pytest.approx([301.0, 300.0, 150.0, 100.0])
    assert found["ratio"].to_list() == pytest.approx([1.0, 300 / 301, 150 / 301, 100 / 301], rel=0.01)


def test_saturation_is_the_fewest_workers_within_noise_of_the_best() -> None:
    found = saturation(runs_of(SATURATES), ["pin_memory", "batch"])
    assert found.height == 1
    row = found.row(0, named=True)
    assert (row["pin_memory"], row["batch"]) == (False, 32)
    assert (row["best_workers"], row["saturated_at"], row["against"]) == (4, 2, 4)
    assert row["ratio"] == pytest.approx(301 / 300, rel=1e-6)
    assert row["ratio_low"] < 1 < row["ratio_high"]
    assert row["ratio_high"] > GAIN, "so that a gain is not excluded"
    assert row["statement"].startswith(
        "no gain shown from more than 2 workers: 4 give 1 times the speed (95 % interval 0."
    )
    assert row["statement"].endswith(", n = 3)")


def test_workers_that_still_help_and_workers_that_never_do() -> None:
    still = saturation(runs_of({(0, False, 1): 100.0, (1, False, 1): 200.0}), ["batch"]).row(0, named=True)
    assert (still["saturated_at"], still["against"], still["ratio"]) == (1, 0, pytest.approx(0.5))
    assert still["statement"].startswith(
        "the most tried, 1 worker, is the fastest, so more may gain; 0 workers give 0.5"
    )
    sure = saturation(runs_of(SATURATES, [0.999, 1.0, 1.001]), []).row(0, named=True)
    assert sure["statement"].startswith("no gain from more than 2 workers: 4 give 1 times")
    never = saturation(runs_of({(0, False, 1): 200.0, (1, False, 1): 120.0, (2, False, 1): 100.0}), []).row(
        0, named=True
    )
    assert (never["saturated_at"], never["against"], never["ratio"]) == (0, 1, pytest.approx(0.6))
    assert never["statement"].startswith("no gain from workers: 1 gives 0.6 times the speed")


def test_noise_makes_fewer_workers_enough() -> None:
    steps = runs_of({(0, False, 1): 100.0, (1, False, 1): 130.0, (2, False, 1): 160.0})
    assert saturation(steps, [])["saturated_at"].to_list() == [2]
    noisy = steps.with_columns(probe_before=pl.lit(1.0), probe_after=pl.lit(1.3))
    assert saturation(noisy, [])["saturated_at"].to_list() == [1]
    assert saturation(noisy, [])["statement"][0].startswith(
        "a gain from more than 1 worker cannot be told from the machine's noise: 2 give 1.23 times the speed"
    )


def test_what_the_noise_may_hide_is_not_called_no_gain() -> None:
    """Two workers are 12 % slower, on a machine that varies by 20 %: they may be as much faster."""
    table = runs_of({(0, False, 32): 100.0, (2, False, 32): 88.0})
    table = table.with_columns(probe_before=pl.lit(1.0), probe_after=pl.lit(1.2))
    said = saturation(table, [])["statement"][0]
    assert said.startswith("no gain shown from workers: 2 give 0.88 times the speed")


def test_the_memory_loader_stands_in_the_table_and_not_in_the_count_of_workers() -> None:
    table = runs_of(SATURATES | {(None, None, 32): 3000.0})
    found = loading(table, KEYS)
    assert found.select("workers", "stands").row(0) == (None, "best")
    assert set(found["stands"][1:]) == {"slower"}
    assert saturation(table, ["pin_memory", "batch"])["best_workers"].to_list() == [4]
    assert saturation(table.filter(pl.col("workers").is_null()), ["batch"]).is_empty()


def test_each_group_has_its_own_best() -> None:
    table = pl.concat([runs_of(SATURATES).with_columns(model=pl.lit(m), samples_per_second=pl.col("samples_per_second") * k)
                       for m, k in (("small", 1.0), ("large", 0.1))])  # fmt: skip
    found = loading(table, KEYS, ["model"])
    assert found.columns[:4] == ["model", *KEYS]
    assert found.filter(stands="best").select("model", "workers").rows() == [("small", 4), ("large", 4)]
    assert saturation(table, ["model"])["saturated_at"].to_list() == [2, 2]
    several = runs_of(SATURATES | {(0, False, 64): 50.0, (2, False, 64): 100.0, (1, True, 64): 9.0})
    assert saturation(several, ["pin_memory", "batch"]).select("pin_memory", "batch", "saturated_at").rows() == [
        (False, 32, 2),
        (False, 64, 2),
    ]


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (runs_of(SATURATES, [1.0]), SINGLE),
        (runs_of(SATURATES).with_columns(timing=pl.lit("shared")), SHARED),
    ],
)
def test_nothing_is_said_of_one_repetition_or_of_runs_that_were_not_alone(table: pl.DataFrame, why: str) -> None:
    row = saturation(table, []).row(0, named=True)
    assert (row["saturated_at"], row["statement"]) == (None, f"nothing can be said: {why}")
    assert why in loading(table, KEYS)["stands"].to_list()
