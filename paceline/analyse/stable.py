"""Epochs to a stable validation accuracy, as a definition."""

import polars as pl

from paceline.analyse.held_out import curve, higher_is_better, noise, smoothed

SMOOTHING = 3  # epochs of the centred moving mean
BAND = 3.0  # times the noise
SHARE = 0.01  # of the whole rise: the least band
STAY = 3  # epochs it must stay,
LAST = 6  # or a sixth of them


def epochs_to_stable(rows: pl.DataFrame, *, metric: str = "accuracy") -> pl.DataFrame:
    """run, stable_epoch, level, band, smoothing: a line a run.

    stable_epoch: the first epoch (as a count: 1 is after the first) from which the smoothed curve, one value an
    epoch, stays within `band` of its maximum `level` to the end; band = max(3 noise, 1 % of the rise).
    Null if it does so for fewer than 3 epochs, or a sixth of them: then it still rises, or has fallen back.
    """
    sign = 1.0 if higher_is_better(metric) else -1.0
    table = _by_epoch(rows, metric, sign)
    table = table.with_columns(smoothed(pl.col("better"), SMOOTHING).over("run").alias("smooth"))
    lines = table.group_by("run", maintain_order=True).agg(
        pl.col("smooth").max().alias("top"), _band().alias("band"), pl.len().alias("epochs")
    )
    begun = _last_stretch(table.join(lines, on="run", how="left", maintain_order="left"))
    needed = pl.max_horizontal(STAY, (pl.col("epochs") / LAST).ceil())
    return lines.join(begun, on="run", how="left", maintain_order="left").select(
        "run",
        pl.when(pl.col("stayed") >= needed).then("begun").cast(pl.Int64).alias("stable_epoch"),
        (pl.col("top") * sign).alias("level"),
        "band",
        pl.lit(SMOOTHING).cast(pl.Int64).alias("smoothing"),
    )


def _by_epoch(rows: pl.DataFrame, metric: str, sign: float) -> pl.DataFrame:
    """The last row of each epoch after the first update: run, count (epochs trained), better (larger is better)."""
    measured = curve(rows, metric).filter(pl.col("step") > 0)
    last = measured.group_by("run", "epoch", maintain_order=True).agg(pl.col("value").last())
    return last.select("run", (pl.col("epoch") + 1).alias("count"), (pl.col("value") * sign).alias("better"))


def _band() -> pl.Expr:
    rise = pl.col("smooth").max() - pl.col("better").first()
    return pl.max_horizontal(BAND * noise(pl.col("better")), SHARE * rise)


def _last_stretch(table: pl.DataFrame) -> pl.DataFrame:
    """run, begun, stayed: where the curve enters the band for the last time, and how many epochs it is in it since."""
    below = pl.col("smooth") < pl.col("top") - pl.col("band")
    left = below.reverse().cum_sum().reverse().over("run")
    inside = table.filter(left == 0).group_by("run")
    return inside.agg(pl.col("count").first().alias("begun"), pl.len().alias("stayed"))
