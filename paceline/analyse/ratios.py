"""Positive quantities compared by their ratio, on the log scale: medians with 95 % intervals, paired by seed."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from paceline.analyse.quantiles import t_quantile


def medians(table: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """by..., n, median, low, high: the interval is that of the t distribution of the logs, null below n = 2.

    It is widened to hold the median where skew puts that outside. What is missing or not above 0 does not count.
    """
    positive = table.filter(_usable(pl.col(value)))
    stats = positive.group_by(by, maintain_order=True).agg(
        pl.col(value).cast(pl.Float64).median().alias("median"), *_log_moments(pl.col(value).log())
    )
    settings = table.select(by).unique(maintain_order=True)
    joined = settings.join(stats, on=list(by), how="left", nulls_equal=True, maintain_order="left")
    return with_log_interval(joined).select(*by, "n", "median", "low", "high")


def ratios(table: pl.DataFrame, by: Sequence[str], value: str, reference: pl.DataFrame) -> pl.DataFrame:
    """by..., pairs, ratio, low, high: of `value` to that of `reference` (seed, value), seed by seed.

    The ratio is the median over seeds, the interval as in `medians`.
    """
    log = pl.col(value).log().median().alias("_log")
    mine = table.filter(_usable(pl.col(value))).group_by(*by, "seed", maintain_order=True).agg(log)
    other = reference.filter(_usable(pl.col(value))).group_by("seed").agg(log.alias("_other"))
    paired = mine.join(other, on="seed", how="inner", maintain_order="left")
    logs = pl.col("_log") - pl.col("_other")
    stats = paired.group_by(by, maintain_order=True).agg(logs.median().exp().alias("median"), *_log_moments(logs))
    settings = table.select(by).unique(maintain_order=True)
    joined = settings.join(stats, on=list(by), how="left", nulls_equal=True, maintain_order="left")
    return with_log_interval(joined).select(
        *by, pl.col("n").alias("pairs"), pl.col("median").alias("ratio"), "low", "high"
    )


def _usable(value: pl.Expr) -> pl.Expr:
    return (value.is_not_null() & value.is_finite() & (value > 0)).fill_null(False)


def _log_moments(log: pl.Expr) -> list[pl.Expr]:
    return [pl.len().cast(pl.Int64).alias("n"), log.mean().alias("_mean"), log.std().alias("_sd")]


def with_log_interval(table: pl.DataFrame) -> pl.DataFrame:
    """Adds low and high to n, median, _mean and _sd of the logs: the t interval of the mean log, widened to hold the
    median; null below n = 2."""
    n = table["n"].fill_null(0)
    t = pl.Series("_t", t_quantile(n.to_numpy().astype(np.float64)), pl.Float64).fill_nan(None)
    table = table.with_columns(n, t)
    half = pl.col("_t") * pl.col("_sd") / pl.col("n").sqrt()
    ends = (
        pl.min_horizontal((pl.col("_mean") - half).exp(), "median"),
        pl.max_horizontal((pl.col("_mean") + half).exp(), "median"),
    )
    known = pl.col("n") >= 2
    return table.with_columns(pl.when(known).then(ends[0]).alias("low"), pl.when(known).then(ends[1]).alias("high"))
