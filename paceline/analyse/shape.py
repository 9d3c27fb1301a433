"""The shape of every run's held-out curve in numbers, on the log scale: what the verdicts are read from."""

import polars as pl

from paceline.analyse.held_out import WINDOW, curve, noise, trailing

MIN_ROWS = 5  # fewer measured rows are not judged
TAIL = 4  # the window is the last quarter of the rows,
LEAST = 8  # at least 8 of them, or half where there are fewer than 16
FLOOR = 1e-6  # below a millionth of its start a loss is as good as zero
_RIGHT = ("validation_accuracy", "accuracy")


def shape(rows: pl.DataFrame) -> pl.DataFrame:
    """A line a run: start, best, end, noise of the curve, train loss since the best, trend and swing of the window."""
    table = _scaled(rows)
    return _whole(table).join(_tail(table), on="run", how="left")


def _scaled(rows: pl.DataFrame) -> pl.DataFrame:
    """The curve on the log scale, train beside it: y and t. Error (1 - accuracy) where no loss was recorded."""
    table = curve(rows, "loss", ["train_loss", *_RIGHT]).with_columns(pl.lit("loss").alias("of"))
    others = curve(rows, "accuracy", ["train_loss", *_RIGHT]).join(table, on="run", how="anti")
    error, none = (1 - pl.col("value")).alias("value"), pl.lit(None, pl.Float64).alias("train_loss")
    table = pl.concat([table, others.with_columns(error, none, pl.lit("error").alias("of"))])
    starts = table.group_by("run").agg(
        pl.col("value").first().alias("first"),
        ((pl.col("value").first() > 0) & (pl.col("value").min() >= 0) & (pl.col("of").first() == "loss")).alias("log"),
        pl.len().cast(pl.Int64).alias("n"),
    )
    table = table.join(starts, on="run", how="left", maintain_order="left")
    table = table.with_columns(pl.coalesce(*_RIGHT).alias("right"))
    return table.with_columns(_on_scale("value").alias("y"), _on_scale("train_loss").alias("t"))


def _on_scale(name: str) -> pl.Expr:
    """ln(value), no lower than ln(FLOOR start); value / |start| where a logarithm makes no sense."""
    floored = pl.max_horizontal(name, pl.col("first") * FLOOR)
    log = pl.when(pl.col(name).is_not_null() & pl.col("log")).then(floored).log()
    size = pl.when(pl.col("first") == 0).then(1.0).otherwise(pl.col("first").abs())
    return pl.when("log").then(log).otherwise(pl.col(name) / size)


def _whole(table: pl.DataFrame) -> pl.DataFrame:
    """Start, best, end and noise of the whole curve, and the train loss just after the best and at the end."""
    mean = trailing(pl.col("y"))
    best = mean.arg_min()
    after = pl.col("t").reverse().rolling_mean(WINDOW, min_samples=1).reverse()
    return table.group_by("run").agg(
        pl.col("n", "first", "log").first(),
        (pl.col("on") + " " + pl.col("of")).first().alias("name"),
        pl.col("value").tail(WINDOW).mean().alias("final"),
        pl.col("step").get(best - WINDOW // 2, null_on_oob=True).alias("best_step"),
        pl.col("y").first().alias("start"),
        mean.last().alias("end"),
        mean.min().alias("best"),
        noise(pl.col("y")).alias("noise"),
        after.get(best + 1, null_on_oob=True).alias("train_best"),
        pl.col("t").tail(WINDOW).mean().alias("train_end"),
        noise(pl.col("t").drop_nulls()).alias("train_noise"),
        pl.col("right").first().alias("right_start"),
        pl.col("right").tail(WINDOW).mean().alias("right_end"),
    )


def _tail(table: pl.DataFrame) -> pl.DataFrame:
    """The line through the last window: its fall, whether the slope is significant, swing and turns about it."""
    least = pl.max_horizontal(MIN_ROWS, pl.min_horizontal(LEAST, pl.col("n") // 2))
    window = pl.max_horizontal(pl.col("n") // TAIL, least)
    last = table.with_columns(window.alias("window"), pl.int_range(pl.len()).over("run").alias("x"))
    last = last.filter(pl.col("x") >= pl.col("n") - pl.col("window"))
    x, y = pl.col("x").cast(pl.Float64), pl.col("y")
    sums = last.group_by("run").agg(
        pl.col("window").first(),
        pl.cov(x, y).alias("xy"),
        x.var().alias("xx"),
        y.var().alias("yy"),
        (y.diff().sign().diff().abs() > 1).sum().alias("turns"),
    )
    slope = pl.col("xy") / pl.col("xx")
    left = (pl.col("yy") - slope * pl.col("xy")).clip(0.0)
    freedom = pl.col("window") - 2
    swing = (left * (pl.col("window") - 1) / freedom).sqrt()
    error = (left / freedom / pl.col("xx")).sqrt()
    fall = -slope * (pl.col("window") - 1)
    steady = slope.abs() > 3 * error
    return sums.select("run", "window", "turns", swing.alias("swing"), fall.alias("fall"), steady.alias("steady"))
