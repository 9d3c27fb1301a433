"""Training accuracy beside held-out accuracy, with the gap between them; precision and recall where they are known."""

import polars as pl

from paceline.analyse.gap import WORTH, gaps, over_fitting
from paceline.analyse.intervals import summarise
from paceline.report.facts import Facts
from paceline.report.names import quoted
from paceline.report.results import shown


def fit_table(facts: Facts) -> pl.DataFrame:
    """label, train accuracy, validation accuracy, test accuracy, gap, low, high, n, macro precision, macro recall,
    never said: each compared setting at its best; a column of which nothing is known is not there."""
    if not facts.columns.higher:
        return pl.DataFrame()
    table = facts.best.select("label", pl.col("mean").alias("test accuracy"))
    table = table.join(_gap(facts), on="label", how="left", maintain_order="left")
    if facts.wrong:
        table = table.join(facts.wrong.scores, on="label", how="left", maintain_order="left")
    names = ("label", "train accuracy", "validation accuracy", "test accuracy", "gap", "low", "high", "n",
             "macro_precision", "macro_recall", "never_said")  # fmt: skip
    kept = [name for name in names if name in table.columns and table[name].null_count() < table.height]
    more = {"gap", "macro_precision"} & set(kept)
    return table.select(kept).rename(lambda name: name.replace("_", " ")) if more else pl.DataFrame()


def _gap(facts: Facts) -> pl.DataFrame:
    done = facts.at_best.filter(pl.col("status") == "done").select("label", "run")
    each = done.join(gaps(facts.rows), on="run", how="inner", maintain_order="left")
    validated = pl.col("held_out").filter(pl.col("on") == "validation").mean()
    means = each.group_by("label", maintain_order=True).agg(
        pl.col("train_accuracy").mean().alias("train accuracy"), validated.alias("validation accuracy")
    )
    gap = summarise(each, ["label"], "gap").rename({"mean": "gap"}).drop("sd")
    return means.join(gap, on="label", how="left", maintain_order="left")


def over_fitted(facts: Facts) -> list[str]:
    """The settings whose gap is separated from 0 and worth saying, in words, the widest first. Against test too: few
    validation images may be harder than others by chance."""
    table = fit_table(facts)
    if not {"gap", "low"} <= set(table.columns):
        return []
    wide = (
        table.rename({"gap": "mean"})
        .filter(over_fitting(), pl.col("train accuracy") - pl.col("test accuracy") > WORTH)
        .sort("mean", descending=True)
    )
    return [
        f"{quoted(row['label'])} by {shown(row['mean'])} (95 % interval {shown(row['low'])} to {shown(row['high'])}, "
        f"n = {row['n']} seeds)"
        for row in wide.iter_rows(named=True)
    ]
