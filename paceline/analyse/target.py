"""How long to a target: steps, epochs, examples and seconds, with runs that never reach it counted, not dropped."""

from collections.abc import Sequence

import polars as pl

from paceline.analyse.held_out import curve, higher_is_better
from paceline.analyse.quantiles import median_place

OVER = ("done", "diverged", "failed")
ALONE = "train them one by one (--jobs 1 --no-stack, or measure: time), into another --out"
_COSTS = ("steps", "epochs", "examples", "seconds")


def to_target(rows: pl.DataFrame, runs: pl.DataFrame, by: Sequence[str], *, metric: str, target: float) -> pl.DataFrame:
    """by..., n, reached, steps, epochs, examples, seconds, low, high, refusal: a line a setting of ended runs.

    Each cost is the least by which half of the runs had reached the target, on validation where there is one, else
    on test: the Kaplan-Meier median, null if fewer than half did. low, high: 95 % interval of the median of steps by
    order statistics from six runs on, the range below; null where censored.
    """
    ended = runs.filter(pl.col("status").is_in(OVER)).select("run", *by, "timing", "status")
    hits = _first_hits(rows, metric, target).join(ended.filter(pl.col("status") == "done"), on="run", how="semi")
    each = ended.drop("status").join(hits, on="run", how="left", maintain_order="left")
    keys = list(by) or ["_all"]
    each = each.with_columns(pl.lit(0).alias("_all"))
    timing = pl.col("timing").fill_null("unknown")
    counts = each.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n"),
        pl.col("steps").count().cast(pl.Int64).alias("reached"),
        (timing != "exclusive").sum().alias("_shared"),
        timing.filter(timing != "exclusive").unique().sort().str.join(" or ").alias("_how"),
    )
    each = each.join(_with_places(counts), on=keys, how="left", nulls_equal=True, maintain_order="left")
    medians = each.group_by(keys, maintain_order=True).agg(
        *(_at(name, "_middle").alias(name) for name in _COSTS),
        _at("steps", "_lower").alias("low"),
        _at("steps", "_upper").alias("high"),
    )
    table = counts.join(medians, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return _refuse(table).select(*by, "n", "reached", *_COSTS, "low", "high", "refusal")


def _first_hits(rows: pl.DataFrame, metric: str, target: float) -> pl.DataFrame:
    """run, steps, epochs (begun), examples, seconds at the first row that meets the target."""
    value = pl.col("value")
    met = value >= target if higher_is_better(metric) else value <= target
    begun = pl.when(pl.col("step") > 0).then(pl.col("epoch") + 1).otherwise(0)
    hits = curve(rows, metric, ["examples", "seconds"]).filter(met).group_by("run", maintain_order=True).first()
    return hits.select("run", pl.col("step").alias("steps"), begun.alias("epochs"), "examples", "seconds")


def _with_places(counts: pl.DataFrame) -> pl.DataFrame:
    """Adds the places, from 0, of the median and of its interval's ends in the sorted runs."""
    n = counts["n"].to_numpy()
    lower = median_place(n)
    return counts.with_columns(
        pl.Series("_middle", (n + 1) // 2 - 1), pl.Series("_lower", lower), pl.Series("_upper", n - 1 - lower)
    )


def _at(name: str, place: str) -> pl.Expr:
    """The value at a place of the sorted runs of a group; censored ones, null, stand last."""
    return pl.col(name).sort(nulls_last=True).get(pl.col(place).first())


def _refuse(table: pl.DataFrame) -> pl.DataFrame:
    """Takes seconds away where not every run was timed alone, and says so."""
    shared = pl.col("_shared") > 0
    why = (
        pl.when(pl.col("_how") == "oversubscribed")
        .then(pl.lit(": there were more processes than cores"))
        .otherwise(pl.lit(f", so that others slowed their clock; {ALONE}"))
    )
    words = pl.format("no seconds: {} of {} runs were timed {}, not exclusive{}", "_shared", "n", "_how", why)
    return table.with_columns(
        pl.when(~shared).then("seconds").alias("seconds"), pl.when(shared).then(words).alias("refusal")
    )
