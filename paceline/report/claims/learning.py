"""Claims on whether training converges."""

from typing import Any

import polars as pl

from paceline.report.claims.values import (
    CONTRADICTED,
    REPRODUCED,
    Judged,
    MissingError,
    Row,
    rows_of,
    runs_of,
    settings_of,
)
from paceline.report.facts import Facts
from paceline.report.names import listed
from paceline.report.sentences import at

FAILED = ("diverged", "stalled", "oscillating")
FAR = 2.0  # a loss this many times that at its best tuned value, and not falling any more, has not converged


def fails(facts: Facts, item: Row) -> Judged:
    return _learnt(facts, item["fails"], wanted=False)


def learns(facts: Facts, item: Row) -> Judged:
    return _learnt(facts, item["learns"], wanted=True)


def _learnt(facts: Facts, rows: Any, wanted: bool) -> Judged:
    """Whether most seeds of every setting named learn (or do not): see FAILED and FAR."""
    found = pl.concat([settings_of(facts, row) for row in rows_of(rows)]).unique(["label", "at"], maintain_order=True)
    runs = runs_of(facts, found).filter(pl.col("status").is_in(("done", "diverged")))
    if runs.is_empty():
        raise MissingError("none of these runs has ended")
    least = facts.runs.group_by("label", "at").agg(pl.col("loss").mean()).group_by("label").agg(pl.col("loss").min())
    runs = runs.join(least.rename({"loss": "_least"}), on="label", how="left", maintain_order="left")
    failed = (
        (pl.col("status") == "diverged")
        | pl.col("verdict").is_in(FAILED).fill_null(False)
        | ((pl.col("loss") > FAR * pl.col("_least")) & (pl.col("verdict") != "still improving")).fill_null(False)
    )
    each = runs.group_by("label", "at", maintain_order=True).agg(failed.mean().alias("failed"))
    lost = [at(line) for line in each.iter_rows(named=True) if line["failed"] > 0.5]
    kept = [at(line) for line in each.iter_rows(named=True) if line["failed"] <= 0.5]
    said = [f"{listed(lost)} {'does' if len(lost) == 1 else 'do'} not converge"] * bool(lost)
    said += [f"{listed(kept)} {'converges' if len(kept) == 1 else 'converge'}"] * bool(kept)
    return (REPRODUCED if not (lost if wanted else kept) else CONTRADICTED), "; ".join(said)


def worsens(facts: Facts, item: Row) -> Judged:
    """Whether the held-out curves of most seeds worsen after their best: see docs/definitions.md, sweet spot."""
    found = settings_of(facts, item["worsens"])
    curves = facts.stable.join(found.select("label"), on="label", how="semi").filter(pl.col("sweet_spot").is_not_null())
    if curves.is_empty():
        raise MissingError("the curves are too short to tell")
    worse = int(curves["sweet_spot"].sum())
    return (REPRODUCED if 2 * worse > curves.height else CONTRADICTED), f"{worse} of {curves.height} seeds worsen"
