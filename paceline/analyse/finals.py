"""One value a run: what a tuned setting is chosen on, and what is reported."""

import polars as pl

from paceline.analyse.held_out import column, higher_is_better

SELECTS = ("validation", "test", "best_epoch")


def finals(rows: pl.DataFrame, runs: pl.DataFrame, *, select: str, metric: str) -> pl.DataFrame:
    """run, chosen, value, step, epoch, chosen_on: a line a run, in the order of `runs`.

    validation, test: the last row; best_epoch: the row with the best test value, the first of equals.
    A run that is not done has no value.
    """
    if select not in SELECTS:
        raise ValueError(f"select is '{select}'; allowed: {', '.join(SELECTS)}.")
    measured = _measured(rows, select, metric)
    best = pl.col("value").arg_max() if higher_is_better(metric) else pl.col("value").arg_min()
    place = best if select == "best_epoch" else pl.len() - 1
    ends = measured.group_by("run").agg(pl.col("chosen", "value", "step", "epoch", "chosen_on").get(place))
    ids = runs.select("run", "status").unique("run", keep="first", maintain_order=True)
    done = ids.filter(pl.col("status") == "done").select("run").join(ends, on="run", how="left")
    return ids.select("run").join(done, on="run", how="left", maintain_order="left")


def _measured(rows: pl.DataFrame, select: str, metric: str) -> pl.DataFrame:
    """Rows with a test value, by step; chosen is validation where asked for and measured, else test."""
    validation = column(rows, f"validation_{metric}") if select == "validation" else pl.lit(None, pl.Float64)
    table = rows.select(
        "run",
        "step",
        "epoch",
        column(rows, metric).cast(pl.Float64).alias("value"),
        validation.cast(pl.Float64).alias("chosen"),
    )
    on = pl.when(pl.col("chosen").is_null()).then(pl.lit("test")).otherwise(pl.lit("validation"))
    return (
        table.filter(pl.col("value").is_not_null())
        .with_columns(on.alias("chosen_on"), pl.col("chosen").fill_null(pl.col("value")))
        .sort("run", "step")
    )
