"""How much better a run knows its training examples than held-out ones, at its end."""

import polars as pl

from paceline.analyse.held_out import curve

WORTH = 0.02  # a gap below this is no matter


def gaps(rows: pl.DataFrame) -> pl.DataFrame:
    """run, train_accuracy, held_out, on, gap: a line a run, at its last row that has both accuracies.

    held_out is validation where the run has it, else test (`on`); gap is train_accuracy less held_out.
    """
    both = curve(rows, "accuracy", ["train_accuracy"]).filter(pl.col("train_accuracy").is_not_null())
    last = both.group_by("run", maintain_order=True).last()
    gap = pl.col("train_accuracy") - pl.col("value")
    return last.select("run", "train_accuracy", pl.col("value").alias("held_out"), "on", gap.alias("gap"))


def over_fitting() -> pl.Expr:
    """Whether a mean gap with its 95 % interval (mean, low) is above 0 by more than chance, and large enough to say."""
    return ((pl.col("low") > 0) & (pl.col("mean") > WORTH)).fill_null(False)
