"""The curve a run is judged by: validation where the run has it, else test; its noise and its smoothed form."""

from collections.abc import Iterable

import polars as pl

WINDOW = 5  # rows of the trailing mean
_NORMAL = 1.4826  # median absolute value -> standard deviation, for normal noise


def higher_is_better(metric: str) -> bool:
    if metric not in ("accuracy", "loss"):
        raise ValueError(f"metric is '{metric}'; allowed: accuracy (higher is better), loss (lower is better).")
    return metric == "accuracy"


def column(rows: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name) if name in rows.columns else pl.lit(None, pl.Float64).alias(name)


def curve(rows: pl.DataFrame, metric: str, extra: Iterable[str] = ()) -> pl.DataFrame:
    """run, step, epoch, extra..., value, on: one line a row where the metric was measured, by run and step.

    A run that two cases share stands twice in `rows`, and once here.
    """
    chosen, test = f"validation_{metric}", metric
    names = dict.fromkeys((*extra, chosen, test))
    table = rows.select("run", "step", "epoch", *(column(rows, name) for name in names))
    table = table.unique(["run", "step"], keep="first", maintain_order=True)
    validated = table.group_by("run").agg(pl.col(chosen).is_not_null().any().alias("validated"))
    value = pl.when("validated").then(chosen).otherwise(test).cast(pl.Float64)
    on = pl.when("validated").then(pl.lit("validation")).otherwise(pl.lit("test"))
    measured = table.join(validated, on="run", how="left").with_columns(value.alias("value"), on.alias("on"))
    kept = measured.filter(pl.col("value").is_not_null() & pl.col("value").is_finite())
    return kept.select("run", "step", "epoch", *extra, "value", "on").sort("run", "step")


def noise(value: pl.Expr) -> pl.Expr:
    """Standard deviation of the noise on a curve: the median absolute second difference, which no straight trend moves.

    Second differences of independent noise have six times its variance (Gasser, Sroka & Jennen-Steinmetz 1986).
    """
    second = value.diff().diff().abs().median()
    return (second * (_NORMAL / 6**0.5)).fill_null(0.0)


def smoothed(value: pl.Expr, window: int) -> pl.Expr:
    """Centred moving mean; at the ends, of the rows there are."""
    return value.rolling_mean(window, min_samples=1, center=True)


def trailing(value: pl.Expr) -> pl.Expr:
    """Mean of the last WINDOW rows up to each; null before there are so many. Its last value is the curve's end."""
    return value.rolling_mean(WINDOW)
