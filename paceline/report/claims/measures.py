"""What a claim may be `of` besides what a run ends with: one number a run, read off its curve."""

from collections.abc import Callable

import polars as pl

from paceline.analyse.gap import gaps
from paceline.analyse.held_out import curve
from paceline.analyse.shape import shape
from paceline.analyse.stable import epochs_to_stable
from paceline.spec.published import STABLE

NEAR = 0.01  # of the way from start to end: closer to its end a parameter crosses nothing


def _stable(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    return epochs_to_stable(rows, metric=metric).select("run", value="stable_epoch")


def _gap(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    return gaps(rows).select("run", value="gap")


def _swing(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    return shape(rows).select("run", value="swing")


def _at_first(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    """At the first evaluation after an update."""
    after = curve(rows, "accuracy").filter(pl.col("step") > 0)
    return after.group_by("run", maintain_order=True).agg(pl.col("value").first())


def _crossings(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    """How often W passes the value that it ends at."""
    off = pl.col("W") - pl.col("W").last()
    far = off.filter(off.abs() > NEAR * off.first().abs())
    return _of_parameter(rows, "W", (far.sign().diff() != 0).sum())


def _detour(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    """How far b goes away from where it ends."""
    way = (pl.col("b").last() - pl.col("b").first()).sign()
    return _of_parameter(rows, "b", (way * (pl.col("b").first() - pl.col("b"))).max())


def _of_parameter(rows: pl.DataFrame, name: str, value: pl.Expr) -> pl.DataFrame:
    if name not in rows.columns:
        return rows.select("run", value=pl.lit(None, pl.Float64)).clear()
    path = (
        rows.select("run", "step", pl.col(name).cast(pl.Float64))
        .drop_nulls()
        .unique(["run", "step"], keep="first")
        .sort("run", "step")
    )
    return path.group_by("run", maintain_order=True).agg(value.alias("value"))


MEASURES: dict[str, Callable[[pl.DataFrame, str], pl.DataFrame]] = {
    STABLE: _stable,
    "gap": _gap,
    "swing": _swing,
    "accuracy at first": _at_first,
    "crossings of W": _crossings,
    "detour of b": _detour,
}
