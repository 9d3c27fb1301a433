"""Over several tasks: which setting does most of them nearly as fast as the best (AlgoPerf's performance profile)."""

import polars as pl

from paceline.analyse.profile import performance_profile
from paceline.analyse.target import to_target
from paceline.report.facts import Facts

TASK_AXES = ("data", "model")
MIN_TASKS = 3
MARGIN = 0.01  # a task's target: its best mean accuracy less this
TAUS = (1.0, 2.0, 4.0)


def profile(facts: Facts) -> pl.DataFrame:
    """setting, area, and the share of tasks done within tau times the steps of each task's best; empty if it has fewer
    than three tasks, or nothing but tasks to compare."""
    of = facts.columns
    tasks = [name for name in of.compare if name in TASK_AXES]
    solvers = [name for name in of.compare if name not in tasks]
    if not tasks or not solvers or not of.higher or facts.best.select(tasks).n_unique() < MIN_TASKS:
        return pl.DataFrame()
    named = facts.best.with_columns(setting=_words(solvers), task=_words(tasks))
    costs = pl.concat([_costs(facts, group) for _, group in named.group_by("task", maintain_order=True)])
    found = performance_profile(costs, solver="setting", task="task", cost="steps")
    shares = [pl.col("share").filter(pl.col("tau") <= tau).last().alias(f"within {tau:g}x") for tau in TAUS]
    return (
        found.group_by("setting", maintain_order=True)
        .agg(pl.col("area").first(), *shares)
        .sort("area", descending=True)
    )


def _costs(facts: Facts, group: pl.DataFrame) -> pl.DataFrame:
    """Median steps to the task's target of every setting; null where fewer than half of the seeds reached it."""
    best = group["mean"].max()
    runs = group.select("label", "at").join(facts.runs, on=["label", "at"], how="inner")
    target = float(best) - MARGIN if isinstance(best, float) else 1.0
    reached = to_target(facts.rows, runs, ["label"], metric=facts.columns.metric, target=target)
    joined = group.join(reached.select("label", "steps"), on="label", how="left", maintain_order="left")
    return joined.select("setting", "task", pl.col("steps").cast(pl.Float64))


def _words(names: list[str]) -> pl.Expr:
    return pl.concat_str([pl.col(name).cast(pl.String).fill_null("-") for name in names], separator=", ")
