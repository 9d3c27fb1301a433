"""The verdicts on a claim, and what every judgement shares: the settings it names, their values, their words."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from paceline.analyse.pairs import MOST, pairwise
from paceline.errors import RecordError
from paceline.report.facts import Facts
from paceline.report.names import counted
from paceline.report.results import shown
from paceline.report.selection import axes_of, settings
from paceline.report.sentences import at

REPRODUCED, CONTRADICTED, OPEN, UNTESTABLE = "reproduced", "contradicted", "not separated", "not testable here"
STABLE = "epochs to stable"
Row = dict[str, Any]
Judged = tuple[str, str]  # verdict and why


class MissingError(RecordError):
    """What a claim names was not measured."""


def rows_of(rows: Any) -> list[Row]:
    return list(rows) if isinstance(rows, list) else [rows]


def settings_of(facts: Facts, row: Row) -> pl.DataFrame:
    found = settings(facts, row).filter(pl.col("mean").is_not_null() | (pl.col("diverged") > 0))
    if found.is_empty():
        raise MissingError(f"nothing was measured here of {', '.join(f'{k} {shown(v)}' for k, v in row.items())}")
    return found


def runs_of(facts: Facts, chosen: pl.DataFrame) -> pl.DataFrame:
    """The runs of some settings."""
    return facts.runs.join(chosen.select("label", "at"), on=["label", "at"], how="semi", maintain_order="left")


def name(facts: Facts, row: Row) -> str:
    """What the row names, in words: its setting where it is one, else its keys."""
    found = settings(facts, row)
    if found.height == 1:
        return at(found.row(0, named=True))
    return " / ".join(v if isinstance(v, str) else f"{k} {shown(v)}" for k, v in row.items())


def metric_of(facts: Facts, item: Row) -> str:
    return str(item.get("of", facts.columns.metric))


def higher(facts: Facts, item: Row) -> bool:
    return metric_of(facts, item) == "accuracy"


def compared(facts: Facts, item: Row, rows: Sequence[Row]) -> pl.DataFrame:
    """The one line of `pairwise` for two rows."""
    named = {name for row in rows for name in axes_of(facts, row)}
    others = [name for name in facts.columns.compare if name not in named and name != "case"]
    tables = []
    for row in rows:
        values = values_of(facts, item, settings_of(facts, row), by=others)
        tables.append(values.with_columns(label=pl.lit(name(facts, row))))
    return pairwise(pl.concat(tables), metric="accuracy" if higher(facts, item) else "loss")


def values_of(facts: Facts, item: Row, chosen: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """label (the setting), seed and value of the runs of some settings; as `seed`, the seed and what `by` names."""
    runs, metric = runs_of(facts, chosen), metric_of(facts, item)
    if metric == STABLE:
        runs = runs.drop("value").join(facts.stable.select("run", pl.col("stable_epoch").alias("value")), on="run")
    elif metric not in runs.columns:
        raise MissingError(f"'{metric}' is nothing that was measured")
    elif metric != facts.columns.metric:
        runs = runs.with_columns(pl.col(metric).alias("value"))
    runs = runs.filter(pl.col("value").is_not_null())
    if runs.is_empty():
        raise MissingError("no curve became stable" if metric == STABLE else f"no {metric} was measured")
    names = pl.Series("label", [at(line) for line in runs.iter_rows(named=True)], pl.String)
    key = pl.concat_str(*(pl.col(name).cast(pl.String) for name in (*by, "seed")), separator=" ")
    return runs.with_columns(names).select("label", key.alias("seed"), pl.col("value").cast(pl.Float64))


def difference(pair: Row) -> str:
    if pair["low"] is None or pair["low"] == pair["high"]:
        return f"{shown(pair['difference'])} (n = {pair['n']})"
    return f"{shown(pair['difference'])} (95 % interval {shown(pair['low'])} to {shown(pair['high'])}, n = {pair['n']})"


def more_seeds(pair: Row) -> str:
    more = pair["more_seeds"]
    return f"; about {counted(more, 'more seed')} would tell" if more and more < MOST else ""


def few(n: int) -> str:
    return "one seed" if n == 1 else "no seed in common"
