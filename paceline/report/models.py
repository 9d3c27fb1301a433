"""Models side by side: seconds an epoch, accuracy, memory. Only where the compared settings differ in their model."""

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from paceline.plan.cost import facts_of
from paceline.record.writer import OVER
from paceline.report.columns import GB
from paceline.report.facts import Facts
from paceline.report.names import listed
from paceline.spec import Run
from paceline.spec.expression import batch_size
from paceline.spec.window import stride


class Models(NamedTuple):
    table: pl.DataFrame  # compared axes, model, seconds per epoch, accuracy, low, high, n, memory GB, memory %
    refusal: str  # why seconds are missing; "" if none are


def model_table(facts: Facts) -> Models | None:
    runs = facts.known if _several(facts) else {}
    if len({str(run.model) for run in runs.values()}) < 2:
        return None
    each = _each(facts, runs)
    alone = (pl.col("timing") == "exclusive").fill_null(False).all()
    by_setting = each.group_by("label", maintain_order=True).agg(
        pl.col("model").first(),
        pl.when(alone).then(pl.col("seconds per epoch").mean()).alias("seconds per epoch"),
        (pl.col("memory") / GB).max().alias("memory GB"),
        (100 * pl.col("memory") / pl.col("of")).max().alias("memory %"),
    )
    of = facts.columns
    names = [name for name in of.compare if name != "model"]
    table = facts.best.select("label", *names, "mean", "low", "high", "n").join(
        by_setting, on="label", how="left", maintain_order="left"
    )
    table = table.select(
        "model",
        *names,
        "seconds per epoch",
        pl.col("mean").alias(of.metric),
        "low",
        "high",
        "n",
        "memory GB",
        "memory %",
    )
    unknown = [name for name in ("memory GB", "memory %") if table[name].null_count() == table.height]
    return Models(table.drop(unknown), _refusal(each))


def _several(facts: Facts) -> bool:
    return "model" in facts.columns.compare or any("model" in case for case in facts.study.cases.values())


def _each(facts: Facts, runs: Mapping[str, Run]) -> pl.DataFrame:
    """A line an ended run at the best settings: label, model, timing, seconds per epoch, memory (bytes), of (bytes)."""
    ended = facts.at_best.filter(pl.col("status").is_in(OVER))
    last = facts.rows.group_by("run").agg(pl.col("seconds", "examples").max())
    each = ended.join(last.rename({"seconds": "trained"}), on="run", how="left", maintain_order="left")
    epochs = [epochs_trained(runs[run], seen) for run, seen in each.select("run", "examples").iter_rows()]
    memory = [
        pl.col(name) if name in each.columns else pl.lit(None, pl.Int64) for name in ("peak_bytes", "memory_bytes")
    ]
    return each.select(
        "label",
        pl.Series("model", [str(runs[run].model) for run in each["run"]], pl.String),
        "timing",
        pl.when(pl.col("status") == "done")
        .then(pl.col("trained") / pl.Series(epochs, dtype=pl.Float64))
        .alias("seconds per epoch"),
        memory[0].alias("memory"),
        memory[1].alias("of"),
    )


def epochs_trained(run: Run, examples: int | None) -> float | None:
    """How many a run has trained for; None where the size of its data is not known."""
    if run.epochs is not None and run.early_stop is None:
        return float(run.epochs)
    size = facts_of(run.data)
    if size is None or not examples:
        return None
    pool = run.subset.size if run.subset else size.train
    width = batch_size(run.global_batch, 0)
    return examples / pool * stride(width, run.overlap) / width


def _refusal(each: pl.DataFrame) -> str:
    how = each["timing"].fill_null("unknown").unique().sort().to_list()
    others = [kind for kind in how if kind != "exclusive"]
    if not others:
        return ""
    return (
        f"Seconds per epoch are blank where a run was timed {listed(others)}, not exclusive: others slowed its clock. "
        "`measure: time` in the study trains runs one by one."
    )
