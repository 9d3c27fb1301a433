"""How much a tuned axis matters: the result at each of its values, the other tuned axes at their best."""

from collections.abc import Sequence

import polars as pl

from paceline.analyse.best import best_of_tuned
from paceline.analyse.held_out import higher_is_better

WITHIN = 0.01  # of the best


def sensitivity(
    runs: pl.DataFrame,
    finals: pl.DataFrame,
    compare: Sequence[str],
    axis: str,
    tune: Sequence[str],
    *,
    metric: str,
) -> pl.DataFrame:
    """compare..., axis, n, mean, low, high, width, width_unit: by compared setting, then axis value.

    width: how far the axis can move from the best value, neighbour by neighbour, with every mean within 1 % of the
    best and no seed diverged or failed: in decades where all values are positive numbers, else in values.
    """
    keys = list(compare)
    others = [name for name in tune if name != axis]
    tried = runs.filter(pl.col(axis).is_not_null())
    table = best_of_tuned(tried, finals, [*keys, axis], others, metric=metric)
    table = _with_width(table.sort(*keys, axis, maintain_order=True), keys or [pl.lit(0)], axis, metric)
    return table.select(*keys, axis, "n", "mean", "low", "high", "width", "width_unit")


def _with_width(table: pl.DataFrame, each: Sequence[str | pl.Expr], axis: str, metric: str) -> pl.DataFrame:
    """Finds the unbroken stretch of good values about the best one, and measures it."""
    mean = pl.when(pl.col("diverged") + pl.col("failed") == 0).then("mean")
    best = (mean.max() if higher_is_better(metric) else mean.min()).over(each)
    good = ((mean - best).abs() <= WITHIN * best.abs()).fill_null(False)
    table = table.with_columns(good.alias("_good"), (mean == best).fill_null(False).alias("_best"))
    table = table.with_columns((~pl.col("_good")).cum_sum().over(each).alias("_stretch"))
    at_best = pl.col("_stretch").filter(pl.col("_best")).first().over(each)
    table = table.with_columns((pl.col("_good") & (pl.col("_stretch") == at_best)).fill_null(False).alias("_inside"))
    width, unit = _width(table, axis)
    known = pl.col("_best").any().over(each)
    return table.with_columns(pl.when(known).then(width.over(each)).alias("width"), pl.lit(unit).alias("width_unit"))


def _width(table: pl.DataFrame, axis: str) -> tuple[pl.Expr, str]:
    values = pl.col(axis).filter(pl.col("_inside"))
    if table[axis].dtype.is_numeric() and bool((table[axis] > 0).all()):
        return (values.max() / values.min()).log10(), "decades"
    return values.len().cast(pl.Float64), "values"
