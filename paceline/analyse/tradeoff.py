"""A result against its seconds: which settings no other beats in both, and the fastest that is as good as the best."""

import polars as pl

from paceline.analyse.held_out import higher_is_better
from paceline.analyse.pairs import pairwise
from paceline.analyse.ratios import medians

MARGIN = 0.01  # of accuracy, or as a share of a loss: a result this much worse still counts as the same


def tradeoff(runs: pl.DataFrame, *, metric: str) -> pl.DataFrame:
    """label, n, value, seconds, low, high, behind, behind_low, behind_high, front, good, choice: quickest first.

    `runs` has label, seed, value and seconds. value: mean over seeds; seconds: median with its interval (low, high);
    behind: how much worse than the best value, seed by seed, with its 95 % interval. front: no other is at least as
    good in both and better in one. good: behind is not separated from 0, and at most MARGIN; null where one seed says
    nothing. choice: the fastest of the good. Only labels with both are there.
    """
    known = runs.filter(pl.col("value").is_not_null(), pl.col("seconds") > 0)
    sign = 1.0 if higher_is_better(metric) else -1.0
    values = known.group_by("label", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n"), pl.col("value").mean().alias("value")
    )
    seconds = medians(known, ["label"], "seconds").drop("n").rename({"median": "seconds"})
    table = values.join(seconds, on="label", how="left", maintain_order="left")
    better = pl.col("_better")
    table = table.with_columns((pl.col("value") * sign).alias("_better")).sort("seconds", -better, maintain_order=True)
    table = table.with_columns(better.cum_max().shift(1).alias("_before"))
    best = str(table.sort(better, descending=True, maintain_order=True)["label"].first())
    table = table.join(_behind(known, best, metric), on="label", how="left", maintain_order="left")
    first = pl.col("label") == best
    margin = MARGIN if higher_is_better(metric) else MARGIN * abs(table.filter(first)["value"][0])
    as_good = (pl.col("behind_low") <= 0) & (pl.col("behind") <= margin)
    told = pl.col("behind_low").is_not_null()
    good = pl.when(first).then(pl.col("n") > 1).otherwise(pl.when(told).then(as_good))
    table = table.with_columns(_front().alias("front"), good.alias("good")).drop("_better", "_before")
    good = pl.col("good").fill_null(False)
    quickest = good & (pl.col("seconds") == pl.col("seconds").filter(good).min())
    return table.with_columns((quickest & quickest.cast(pl.Int64).cum_sum().eq(1)).fill_null(False).alias("choice"))


def _behind(known: pl.DataFrame, best: str, metric: str) -> pl.DataFrame:
    """label, behind, behind_low, behind_high: against the best, by shared seeds; positive is worse."""
    pairs = pairwise(known.select("label", "seed", "value"), metric=metric)
    first = pl.col("a") == best
    turned = pl.when(first).then(1.0).otherwise(-1.0)
    ends = pl.col("low") * turned, pl.col("high") * turned
    return pairs.filter(first | (pl.col("b") == best)).select(
        pl.when(first).then("b").otherwise("a").alias("label"),
        (pl.col("difference") * turned).alias("behind"),
        pl.min_horizontal(ends).alias("behind_low"),
        pl.max_horizontal(ends).alias("behind_high"),
    )


def _front() -> pl.Expr:
    """Of settings sorted by seconds, then best value first: better than all faster ones, best of the as fast."""
    better = pl.col("_better")
    faster = pl.col("_before").first().over("seconds")
    return (better == better.max().over("seconds")) & (better > faster).fill_null(True)
