"""Recorded rows as the tables a person reads: a line a run, and a line a setting with its mean over seeds."""

import math
from collections.abc import Iterable
from typing import Any

import polars as pl

from paceline.plan.expand import Trial
from paceline.record.reader import SCHEMA, PackState, RunState, states
from paceline.record.writer import OVER
from paceline.spec import Study

_SPENT = ("step", "seconds", "wall_seconds")
_FOUND = ("train_loss", "loss", "accuracy", "validation_loss", "validation_accuracy")

_NOTED: dict[str, Any] = {  # of status.json, where the run was measured
    "peak_bytes": pl.Int64,
    "memory_bytes": pl.Int64,
    "samples_per_second": pl.Float64,
    "compile_seconds": pl.Float64,
    "telemetry_share": pl.Float64,
    "turnaround_seconds": pl.Float64,
    "stack": pl.String,
    "sent_bytes": pl.Int64,
    "imbalance": pl.Float64,
}
_NESTED = {  # the same, of its groups: a column each, GROUP_NAME
    "work": ("flops", "bytes", "calls"),
    "probe": ("flops", "bytes", "call_seconds", "before", "after", "spread"),
}


def axis_names(trials: Iterable[Trial]) -> list[str]:
    return list(dict.fromkeys(name for trial in trials for name in trial.axes))


def _frame(trials: list[Trial]) -> pl.DataFrame:
    """run, case, axes, seed: a line a trial. Two cases that share a run have a line each."""
    columns: dict[str, list[Any]] = {"run": [t.id for t in trials], "case": [t.case or None for t in trials]}
    for name in axis_names(trials):
        columns[name] = _one_type([t.axes.get(name) for t in trials])
    columns["seed"] = [t.run.seed for t in trials]
    return pl.DataFrame(columns, schema_overrides={"run": pl.String, "case": pl.String, "seed": pl.Int64})


def _one_type(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values] if float in kinds else values
    return values if len(kinds) <= 1 else [None if value is None else str(value) for value in values]


def _beside(frame: pl.DataFrame, measured: Iterable[str]) -> pl.DataFrame:
    """The frame with every axis that shares its name with something measured called `axis.NAME`."""
    return frame.rename({name: f"axis.{name}" for name in frame.columns[1:] if name in measured})


def join_rows(trials: list[Trial], rows: pl.DataFrame, packs: Iterable[PackState] = ()) -> pl.DataFrame:
    """Every recorded row of the study with case, axes, seed and timing: what `export` writes.

    An axis that a row has too (lr, which the schedule changes from row to row) is the column `axis.lr`.
    """
    timing = {run: state.details.get("timing") for run, state in states(packs).items()}
    frame = _frame(trials).with_columns(pl.Series("timing", [timing.get(t.id) for t in trials], pl.String))
    joined = _beside(frame, SCHEMA).join(rows, on="run", how="inner", maintain_order="left")
    return joined.drop(
        [
            name
            for name in joined.columns
            if name not in SCHEMA and joined[name].null_count() == len(joined) and name != "case"
        ]
    )


def run_table(
    trials: list[Trial], packs: list[PackState], rows: pl.DataFrame, select: str = "validation"
) -> pl.DataFrame:
    """A line a run with the values of its last row; for `select: best_epoch`, what it found is of its best on test."""
    known = states(packs)
    standing = [known.get(trial.id) for trial in trials]
    frame = _beside(_frame(trials), (*_SPENT, *_FOUND)).with_columns(
        pl.Series("status", [s.status if s else "queued" for s in standing], pl.String),
        pl.Series("timing", [s.details.get("timing") if s else None for s in standing], pl.String),
        pl.Series("reason", [s.details.get("reason") if s else None for s in standing], pl.String),
        pl.Series("pack", [s.pack.id if s else None for s in standing], pl.String),
        pl.Series(
            "evaluation_seconds", [s.details.get("evaluation_seconds") if s else None for s in standing], pl.Float64
        ),
    )
    frame = frame.with_columns(_noted(standing))
    if "probe_before" in frame.columns:
        frame = frame.with_columns(pl.Series("probe_kind", list(map(_probe_kind, trials, standing)), pl.String))
    spent = rows.sort("step").group_by("run").agg(pl.col(name).last() for name in _SPENT)
    found = _ranked(rows, select).group_by("run", maintain_order=True).agg(pl.col(name).last() for name in _FOUND)
    for each in (spent, found):
        frame = frame.join(each, on="run", how="left", maintain_order="left")
    return frame


def _ranked(rows: pl.DataFrame, select: str) -> pl.DataFrame:
    """With the row that a run is reported by last: its end, or its best on test, the first of equals."""
    if select != "best_epoch":
        return rows.sort("step")
    metric = "accuracy" if rows["accuracy"].is_not_null().any() else "loss"
    value = pl.when(pl.col(metric).is_finite()).then(pl.col(metric) if metric == "accuracy" else -pl.col(metric))
    return rows.sort(value, "step", descending=[False, True], nulls_last=False)


def _probe_kind(trial: Trial, state: RunState | None) -> str:
    """What the work of a noise probe depends on: probes are compared with their like alone."""
    return f"{trial.run.device} {trial.run.precision} {state.details.get('threads') if state else None}"


def _noted(standing: list[RunState | None]) -> list[pl.Series]:
    """What status.json says of the runs, a column each; only of what it says of any."""
    details = [state.details if state else {} for state in standing]
    columns = {name: ([said.get(name) for said in details], kind) for name, kind in _NOTED.items()}
    for group, names in _NESTED.items():
        inner = [said.get(group) or {} for said in details]
        columns |= {f"{group}_{name}": ([said.get(name) for said in inner], pl.Float64) for name in names}
    return [
        pl.Series(name, values, kind, strict=False)
        for name, (values, kind) in columns.items()
        if any(value is not None for value in values)
    ]


def setting_table(study: Study, runs: pl.DataFrame) -> pl.DataFrame:
    """A line a setting: mean and standard deviation of the last values over its seeds, and how its runs ended.

    Sorted best first: on validation where the study tunes, selects on it and has it, else on test. A diverged run has
    no value: it is counted beside.
    """
    keys = [name for name in runs.columns[1 : runs.columns.index("seed")] if runs[name].null_count() < runs.height]
    metric = "accuracy" if runs["accuracy"].is_not_null().any() else "loss"
    validated = runs[f"validation_{metric}"].is_not_null().any()
    done = pl.col("status") == "done"
    shown = [metric, "loss"] if metric == "accuracy" else ["loss"]
    values = [_rounded(pl.col(name).filter(done).mean(), name) for name in shown]
    values.insert(1, _rounded(pl.col(metric).filter(done).std(), f"{metric} sd"))
    if validated:
        values.append(_rounded(pl.col(f"validation_{metric}").filter(done).mean(), f"validation {metric}"))
    ended = [(pl.col("status") == status).sum().alias(status) for status in OVER]
    runs, keys = (runs, keys) if keys else (runs.with_columns(study=pl.lit(study.name)), ["study"])
    table = runs.group_by(keys, maintain_order=True).agg(*values, *ended, pl.len().alias("runs"))
    tunes = bool(study.tune) or any(case.get("tune") for case in study.cases.values())
    by = f"validation {metric}" if validated and tunes and study.select == "validation" else metric
    return table.sort(by, descending=metric == "accuracy", nulls_last=True, maintain_order=True)


def compact(table: pl.DataFrame) -> pl.DataFrame:
    """Without the columns that count what did not happen, for a terminal."""
    return table.drop([name for name in ("diverged", "failed") if (table[name] == 0).all()])


def _rounded(value: pl.Expr, name: str) -> pl.Expr:
    return value.round_sig_figs(6).alias(name)


def shown(value: Any) -> str:
    """A value as a table cell."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
