"""Where the seconds of a run went, and the mean share of each phase for every setting."""

from collections.abc import Sequence

import polars as pl

MEASURED = ("loader", "copy", "forward", "backward", "exchange", "optimizer")  # of the training seconds
TRAINING = (*MEASURED, "other")  # other: Python between them
BESIDE = ("evaluation", "checkpoint")
PHASES = (*TRAINING, *BESIDE)


def splits(telemetry: pl.DataFrame) -> pl.DataFrame:
    """run, steps, examples, seconds (of training), whole (with what is beside), and the seconds of each phase: a line a
    run, at its last line of telemetry.

    Where sampled phases add up to more than the clock, they are the training seconds.
    """
    last = telemetry.sort("run", "step").group_by("run", maintain_order=True).last()
    last = last.with_columns(pl.col("exchange").fill_null(0.0))  # a run of one device has none
    measured = pl.sum_horizontal(MEASURED)
    table = last.with_columns(pl.max_horizontal("seconds", measured).alias("seconds"))
    table = table.with_columns((pl.col("seconds") - measured).clip(lower_bound=0.0).alias("other"))
    whole = pl.sum_horizontal(PHASES).alias("whole")
    return table.select("run", pl.col("step").alias("steps"), "examples", "seconds", whole, *PHASES)


def phases(runs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """by..., n, seconds, whole, and each phase as a share of the whole: means over the runs of a setting.

    `runs` is `splits` with the columns of `by`. The shares of a setting add up to 1.
    """
    timed = runs.filter(pl.col("whole") > 0)
    shares = [(pl.col(name) / pl.col("whole")).mean().alias(name) for name in PHASES]
    return timed.group_by(by, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n"), pl.col("seconds", "whole").mean(), *shares
    )
