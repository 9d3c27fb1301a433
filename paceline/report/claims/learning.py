"""Claims on whether training converges, and whether more of it does harm."""

import polars as pl

from paceline.analyse.curves import ROUNDING, best_step
from paceline.analyse.shape import FLOOR
from paceline.record.writer import ENDED
from paceline.report.claims.values import (
    CONTRADICTED,
    OPEN,
    REPRODUCED,
    UNTESTABLE,
    Judged,
    MissingError,
    Row,
    few,
    metric_of,
    rows_of,
    runs_of,
    settings_of,
    together,
)
from paceline.report.facts import Facts
from paceline.report.sentences import at

FAILED = ("diverged", "stalled", "oscillating")
MOST = 0.8  # of the seeds must agree: of three all, of five four
FAR = 2.0  # a loss this many times that at its best tuned value, and not falling any more, has not converged


def fails(facts: Facts, item: Row) -> Judged:
    return _learnt(facts, rows_of(item["fails"]), wanted=False)


def learns(facts: Facts, item: Row) -> Judged:
    return _learnt(facts, rows_of(item["learns"]), wanted=True)


def _learnt(facts: Facts, rows: list[Row], wanted: bool) -> Judged:
    """Whether the seeds of every setting named learn (or do not): see MOST, FAILED and FAR."""
    found = pl.concat([settings_of(facts, row).select("label", "at") for row in rows]).unique(maintain_order=True)
    ended = runs_of(facts, found).filter(pl.col("status").is_in(ENDED))
    judged = ended.filter((pl.col("status") == "diverged") | pl.col("verdict").is_not_null())
    if judged.is_empty():
        raise MissingError("none of these runs has ended" if ended.is_empty() else "the curves are too short to tell")
    runs = _with_failure(facts, judged)
    each = runs.group_by("label", "at", maintain_order=True).agg(pl.len().alias("n"), pl.col("failed").sum())
    return together([_most(line, wanted) for line in each.iter_rows(named=True)])


def _with_failure(facts: Facts, runs: pl.DataFrame) -> pl.DataFrame:
    """Losses as good as zero are alike; those below zero have no multiples."""
    done = facts.runs.filter(pl.col("status") == "done")
    least = done.group_by("label", "at").agg(pl.col("loss").mean()).group_by("label").agg(pl.col("loss").min())
    start = facts.rows.drop_nulls("loss").sort("step").group_by("run").agg(pl.col("loss").first().alias("_start"))
    runs = runs.join(least.rename({"loss": "_least"}), on="label", how="left", maintain_order="left")
    runs = runs.join(start, on="run", how="left", maintain_order="left")
    zero = FLOOR * pl.col("_start").abs()
    far = (pl.max_horizontal("loss", zero) > FAR * pl.max_horizontal("_least", zero)) & (pl.col("_least") >= 0)
    failed = (
        (pl.col("status") == "diverged")
        | pl.col("verdict").is_in(FAILED).fill_null(False)
        | (far & (pl.col("verdict") != "still improving")).fill_null(False)
    )
    return runs.with_columns(failed.alias("failed"))


def _most(line: Row, wanted: bool) -> Judged:
    setting, n, failed = at(line), line["n"], line["failed"]
    if n < 2:
        return UNTESTABLE, f"{setting}: {few(n)}"
    said = f"{setting} learns with {n - failed} of {n} seeds"
    learnt = n - failed
    return _share(learnt if wanted else failed, failed if wanted else learnt, n), said


def _share(speak_for: int, speak_against: int, n: int) -> str:
    return REPRODUCED if speak_for >= MOST * n else CONTRADICTED if speak_against >= MOST * n else OPEN


def worsens(facts: Facts, item: Row) -> Judged:
    """Whether the held-out curves worsen after their best: see docs/definitions.md, sweet spot. Those that end at
    their best speak against it; those that end below it, by no more than their noise, for neither."""
    metric = metric_of(facts, item)
    if metric not in ("accuracy", "loss", "train_accuracy"):
        raise MissingError(f"whether {metric} worsens is not judged")
    runs = runs_of(facts, settings_of(facts, rows_of(item["worsens"])[0])).filter(pl.col("status") == "done")
    rows = facts.rows.join(runs.select("run"), on="run", how="semi", maintain_order="left")
    if metric == "train_accuracy":
        rows = rows.select("run", "step", "epoch", accuracy=metric)
    curves = best_step(rows, metric="loss" if metric == "loss" else "accuracy").drop_nulls("sweet_spot")
    if curves.is_empty():
        raise MissingError("the curves are too short to tell")
    n = curves.height
    if n < 2:
        return UNTESTABLE, few(1)
    worse, rising = int(curves["sweet_spot"].sum()), int((curves["worsening"] <= ROUNDING).sum())
    of = "" if metric == facts.columns.metric else f" of {metric.replace('_', ' ')}"
    ends = "1 ends at its best" if rising == 1 else f"{rising} end at their best"
    return _share(worse, rising, n), f"{worse} of {n} curves{of} worsen, {ends}"
