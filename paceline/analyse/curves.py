"""The best step of every run, and whether going on made it worse."""

import polars as pl

from paceline.analyse.held_out import curve, higher_is_better, noise, trailing

WORSE = 3.0  # times the noise
ROUNDING = 1e-12  # of the moving mean


def best_step(rows: pl.DataFrame, *, metric: str = "accuracy") -> pl.DataFrame:
    """run, best_step, best_epoch, best_value, sweet_spot, worsening: a line a run, on validation where it has one.

    worsening: the best mean of 5 rows in a row less the mean of the last 5, in the metric's unit, at least 0.
    sweet_spot: worsening is above 3 times the noise of the curve, so that stopping there would have been better;
    null where fewer than 5 rows tell nothing.
    """
    sign = 1.0 if higher_is_better(metric) else -1.0
    better = pl.col("value") * sign
    mean = trailing(better)
    table = (
        curve(rows, metric)
        .group_by("run", maintain_order=True)
        .agg(
            pl.col("step").get(better.arg_max()).alias("best_step"),
            pl.col("epoch").get(better.arg_max()).alias("best_epoch"),
            pl.col("value").get(better.arg_max()).alias("best_value"),
            (mean.max() - mean.last()).alias("worsening"),
            noise(pl.col("value")).alias("noise"),
        )
    )
    above = (pl.col("worsening") > WORSE * pl.col("noise")).fill_null(False) & (pl.col("worsening") > ROUNDING)
    sweet = pl.when(pl.col("worsening").is_not_null()).then(above)
    return table.select("run", "best_step", "best_epoch", "best_value", sweet.alias("sweet_spot"), "worsening")
