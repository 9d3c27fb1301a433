"""Each compared setting at its own best: the tuned values chosen on the mean over seeds."""

from collections.abc import Sequence

import polars as pl

from paceline.analyse.held_out import higher_is_better
from paceline.analyse.intervals import with_interval
from paceline.analyse.words import number


def best_of_tuned(
    runs: pl.DataFrame, finals: pl.DataFrame, compare: Sequence[str], tune: Sequence[str], *, metric: str
) -> pl.DataFrame:
    """compare..., tune..., n, mean, sd, low, high, chosen_mean, diverged, failed, edge, edges, note: best
    first. edge: whether a tuned value lies at the end of what was tried; edges: the names of such axes.

    Chosen on the mean of `chosen`; a setting of which every seed is done goes before one of which not. Where no seed
    of any tuned value is done, the tuned values are null and the counts are of all of them.
    """
    columns = [*compare, *tune, *_STATISTICS, "edge", "edges", "note"]
    table = _settings(runs, finals, [*compare, *tune])
    ranked = _ranked(table, "chosen_mean", metric)
    best = ranked.group_by(compare, maintain_order=True).first() if compare else ranked.head(1)
    best = _hopeless(best, table, compare, tune)
    best = _with_edges(best, runs, compare, tune)
    return _ranked(with_interval(best, metric).with_columns(_note(tune).alias("note")), "mean", metric).select(columns)


_STATISTICS = ("n", "mean", "sd", "low", "high", "chosen_mean", "diverged", "failed")


def _settings(runs: pl.DataFrame, finals: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """A line a setting: its seeds, how they ended, and the means of what is chosen on and reported."""
    status = pl.col("status")
    measured = finals.select("run", "chosen", "value")
    joined = runs.select(["run", *keys, "status"]).join(measured, on="run", how="left", maintain_order="left")
    statistics = (
        pl.col("value").count().cast(pl.Int64).alias("n"),
        pl.col("value").mean().alias("mean"),
        pl.col("value").std().alias("sd"),
        pl.col("chosen").mean().alias("chosen_mean"),
        (status == "diverged").sum().cast(pl.Int64).alias("diverged"),
        (status == "failed").sum().cast(pl.Int64).alias("failed"),
        pl.len().cast(pl.Int64).alias("seeds"),
    )
    return joined.group_by(keys, maintain_order=True).agg(*statistics) if keys else joined.select(*statistics)


def _ranked(table: pl.DataFrame, by: str, metric: str) -> pl.DataFrame:
    complete = pl.col("n") == pl.col("seeds")
    value = -pl.col(by) if higher_is_better(metric) else pl.col(by)
    return table.sort(~complete, value, nulls_last=True, maintain_order=True)


def _hopeless(best: pl.DataFrame, table: pl.DataFrame, compare: Sequence[str], tune: Sequence[str]) -> pl.DataFrame:
    """Where nothing is done, no tuned value is the best: null, and the counts of all that was tried."""
    counts = [pl.col("diverged", "failed", "seeds").sum()]
    if compare:
        totals = table.group_by(compare).agg(*counts)
        best = best.join(totals, on=compare, how="left", suffix="_all", nulls_equal=True, maintain_order="left")
    else:
        best = best.join(table.select(*counts), how="cross", suffix="_all")
    none = pl.col("n") == 0
    tuned = [pl.when(~none).then(name).alias(name) for name in tune]
    summed = [pl.when(none).then(f"{name}_all").otherwise(name).alias(name) for name in ("diverged", "failed", "seeds")]
    return best.with_columns(*tuned, *summed)


def _with_edges(best: pl.DataFrame, runs: pl.DataFrame, compare: Sequence[str], tune: Sequence[str]) -> pl.DataFrame:
    """Adds `_edge NAME`: smallest, largest or null, for each tuned axis of numbers. Nothing lies below a smallest 0."""
    for name in tune:
        numeric = runs[name].dtype.is_numeric()
        low, high = pl.col(name).min().alias("_low"), pl.col(name).max().alias("_high")
        tried = runs.group_by(compare).agg(low, high) if compare else runs.select(low, high)
        best = (
            best.join(tried, on=list(compare), how="left", nulls_equal=True, maintain_order="left")
            if compare
            else best.join(tried, how="cross")
        )
        side = (
            pl.when(pl.lit(not numeric) | (pl.col("_low") == pl.col("_high")))
            .then(pl.lit(None, pl.String))
            .when(pl.col(name) == pl.col("_high"))
            .then(pl.lit("largest"))
            .when((pl.col(name) == pl.col("_low")) & (pl.col(name) != 0 if numeric else pl.lit(False)))
            .then(pl.lit("smallest"))
        )
        best = best.with_columns(side.alias(f"_edge {name}")).drop("_low", "_high")
    sides = [pl.when(pl.col(f"_edge {name}").is_not_null()).then(pl.lit(name)) for name in tune]
    edges = pl.concat_list(*sides).list.drop_nulls() if sides else pl.lit([], pl.List(pl.String))
    return best.with_columns(edges.alias("edges")).with_columns(edge=pl.col("edges").list.len() > 0)


def _note(tune: Sequence[str]) -> pl.Expr:
    """What a reader must know of the line; null if nothing."""
    parts = [_edge_words(name) for name in tune] + [_count_words("diverged"), _count_words("failed"), _unfinished()]
    text = pl.concat_str(*parts, separator="; ", ignore_nulls=True)
    return pl.when(text != "").then(text)


def _edge_words(name: str) -> pl.Expr:
    side = f"_edge {name}"
    value = number(pl.col(name).cast(pl.Float64, strict=False), 6)
    words = pl.format("{} {} is the {} tried: the optimum may lie outside", pl.lit(name), value, pl.col(side))
    return pl.when(pl.col(side).is_not_null()).then(words)


def _count_words(status: str) -> pl.Expr:
    what = pl.when(pl.col("n") == 0).then(pl.lit("runs")).otherwise(pl.lit("seeds"))
    return pl.when(pl.col(status) > 0).then(pl.format("{} of {} {} {}", status, "seeds", what, pl.lit(status)))


def _unfinished() -> pl.Expr:
    left = pl.col("seeds") - pl.col("n") - pl.col("diverged") - pl.col("failed")
    what = pl.when(pl.col("n") == 0).then(pl.lit("runs")).otherwise(pl.lit("seeds"))
    return pl.when(left > 0).then(pl.format("{} of {} {} not finished", left, "seeds", what))
