"""Means over seeds with their 95 % intervals."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from paceline.analyse.quantiles import t_quantile


def summarise(table: pl.DataFrame, by: Sequence[str], value: str, *, metric: str = "") -> pl.DataFrame:
    """by..., n, mean, sd, low, high: the 95 % interval mean +- t(0.975, n - 1) sd / sqrt(n), null for n = 1.

    Missing values do not count. The interval of an accuracy is cut at 0 and 1.
    """
    measured = pl.col(value).cast(pl.Float64).fill_nan(None)
    stats = [measured.count().cast(pl.Int64).alias("n"), measured.mean().alias("mean"), measured.std().alias("sd")]
    summary = table.group_by(by, maintain_order=True).agg(*stats) if by else table.select(*stats)
    return with_interval(summary, metric)


def with_interval(table: pl.DataFrame, metric: str = "") -> pl.DataFrame:
    """Adds low and high to n, mean, sd."""
    quantile = pl.Series("_t", t_quantile(table["n"].to_numpy().astype(np.float64))).fill_nan(None)
    half = pl.col("sd") * quantile / pl.col("n").cast(pl.Float64).sqrt()
    ends = [(pl.col("mean") - half).alias("low"), (pl.col("mean") + half).alias("high")]
    return table.with_columns(end.clip(0.0, 1.0) if metric == "accuracy" else end for end in ends)
