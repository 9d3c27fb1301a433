"""The verdicts on a claim, and what every judgement shares: the settings it names, their values, their words."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from paceline.analyse.pairs import MOST, pairwise
from paceline.errors import RecordError
from paceline.report.claims.measures import MEASURES
from paceline.report.facts import Facts, seeds_agree
from paceline.report.names import counted, listed
from paceline.report.results import shown
from paceline.report.selection import axes_of, fixed_of, settings, unknown
from paceline.report.sentences import at
from paceline.spec.published import HIGHER, STABLE

REPRODUCED, CONTRADICTED, OPEN, UNTESTABLE = "reproduced", "contradicted", "not separated", "not testable here"
FIRST, SECOND = "first", "second"
Row = dict[str, Any]
Judged = tuple[str, str]  # verdict and why


class MissingError(RecordError):
    """What a claim names was not measured."""


def rows_of(named: Any) -> list[Row]:
    """The rows of one row, of several, or of pairs of them."""
    return [row for each in named for row in rows_of(each)] if isinstance(named, list) else [named]


def together(each: Sequence[Judged]) -> Judged:
    """Contradicted where any is; reproduced where all are. The words of those that decide."""
    verdicts = [verdict for verdict, _ in each]
    decides = next((word for word in (CONTRADICTED, UNTESTABLE, OPEN) if word in verdicts), REPRODUCED)
    return decides, "; ".join(why for verdict, why in each if verdict == decides)


def settings_of(facts: Facts, row: Row) -> pl.DataFrame:
    """Those the row names, best first."""
    if strange := unknown(facts, row):
        raise MissingError(f"the study does not vary {', '.join(strange)}")
    found = settings(facts, row).filter(pl.col("mean").is_not_null() | (pl.col("diverged") > 0))
    if found.is_empty():
        raise MissingError(f"nothing was measured here of {', '.join(f'{k} {shown(v)}' for k, v in row.items())}")
    return found


def runs_of(facts: Facts, chosen: pl.DataFrame) -> pl.DataFrame:
    """The runs of some settings."""
    return facts.runs.join(chosen.select("label", "at"), on=["label", "at"], how="semi", maintain_order="left")


def open_axes(facts: Facts, rows: Sequence[Row]) -> list[str]:
    """The compared axes of which no row names a value, or all name the same list: values are paired by these too."""
    said = [axes_of(facts, row) for row in rows]
    named = {name for axes in said for name in axes}
    shared = {name for name in named if all(axes.get(name) == said[0].get(name) for axes in said)}
    several = {name for name in shared if isinstance(said[0][name], list)}
    by_case = any(fixed_of(facts, row) for row in rows)
    closed = (named - several) | ({"case"} if by_case else set())
    return [name for name in facts.columns.compare if name not in closed]


def side(facts: Facts, row: Row, by: Sequence[str]) -> pl.DataFrame:
    """The settings of a row, one for every value of the axes left open: of several the best."""
    found = settings_of(facts, row)
    return found.unique(list(by), keep="first", maintain_order=True) if by else found.head(1)


def sides(facts: Facts, first: Row, second: Row, by: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    both = side(facts, first, by), side(facts, second, by)
    if both[0].select("label", "at").equals(both[1].select("label", "at")):
        raise MissingError("both sides name the same setting")
    return both


def keyed(runs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """`seed` made of the seed and the axes left open, so that pairs agree in both; `own_seed` is the seed alone."""
    key = pl.concat_str(*(pl.col(name).cast(pl.String).fill_null("") for name in (*by, "seed")), separator=" ")
    return runs.with_columns(key.alias("seed"), own_seed="seed")


def by_draw(table: pl.DataFrame, *values: pl.Expr) -> pl.DataFrame:
    """A keyed table of two labels with a line a label and draw: over the axes left open, of what both labels have. The
    same seed in ten settings is one draw, not ten."""
    shared = table.filter(pl.col("label").n_unique().over("seed") > 1)
    lines = shared.group_by("label", "own_seed", maintain_order=True).agg(*values)
    if lines.is_empty():
        raise MissingError("no seed in common")
    return lines.rename({"own_seed": "seed"})


def name(facts: Facts, row: Row) -> str:
    """What the row names, in words: its setting where it is one, else its keys."""
    found = settings(facts, row)
    if found.height == 1:
        return at(found.row(0, named=True))
    return " / ".join(v if isinstance(v, str) else _words(k, v) for k, v in row.items())


def _words(key: str, value: Any) -> str:
    if not isinstance(value, list):
        return f"{key} {shown(value)}"
    return f"{'' if key == 'case' else f'{key} '}{listed([shown(each) for each in value])}"


def metric_of(facts: Facts, item: Row) -> str:
    return str(item.get("of", facts.columns.metric))


def paired(facts: Facts, item: Row, table: pl.DataFrame) -> Row:
    """The line of `pairwise` for the two labels of a table, with `zero`: whether both are losses as good as none."""
    metric = metric_of(facts, item)
    line = pairwise(table, metric="accuracy" if HIGHER[metric] else "loss").row(0, named=True)
    means = table.group_by("label").agg(pl.col("value").mean())["value"]
    return {**line, "zero": metric == "loss" and all(map(facts.as_good_as_zero, means))}


def compared(facts: Facts, item: Row, first: Row, second: Row) -> Row:
    """The line of `pairwise` for two rows, over the axes that both leave open their mean for each draw."""
    by = open_axes(facts, [first, second])
    both = zip((FIRST, SECOND), sides(facts, first, second, by), strict=True)
    table = pl.concat([values_of(facts, item, chosen, by).with_columns(label=pl.lit(word)) for word, chosen in both])
    return paired(facts, item, by_draw(table, pl.col("value").mean(), pl.col("exact").all()))


def values_of(facts: Facts, item: Row, chosen: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """label (the setting), seed (see `keyed`), own_seed and value of the runs of some settings that are done."""
    runs, metric = runs_of(facts, chosen).filter(pl.col("status") == "done"), metric_of(facts, item)
    if metric in MEASURES:
        rows = facts.rows.join(runs.select("run"), on="run", how="semi", maintain_order="left")
        read = MEASURES[metric](rows, facts.columns.metric)
        runs = runs.drop("value").join(read, on="run", how="left", maintain_order="left")
    elif metric not in runs.columns:
        raise MissingError(f"'{metric}' is nothing that was measured")
    elif metric != facts.columns.metric:
        runs = runs.with_columns(pl.col(metric).alias("value"))
    measured = runs.filter(pl.col("value").is_not_null())
    if metric == STABLE and 0 < measured.height < runs.height:
        without = listed(
            dict.fromkeys(at(line) for line in runs.filter(pl.col("value").is_null()).iter_rows(named=True))
        )
        unstable = f"{runs.height - measured.height} of {runs.height} curves became stable at no epoch or fell back"
        raise MissingError(f"{unstable} (of {without})")
    if measured.is_empty():
        who = listed(dict.fromkeys(at(line) for line in runs.iter_rows(named=True)))
        what = "no curve became stable, or stayed so," if metric == STABLE else f"no {metric} was measured"
        raise MissingError(f"{what}{f' of {who}' if who else ''}")
    runs = measured
    names = pl.Series("label", [at(line) for line in runs.iter_rows(named=True)], pl.String)
    named = runs.with_columns(names).with_columns(seeds_agree("label").alias("exact"))
    return keyed(named, by).select("label", "seed", "own_seed", pl.col("value").cast(pl.Float64), "exact")


def difference(pair: Row) -> str:
    n = f"n = {pair['n']}"
    if pair["low"] is None or pair["low"] == pair["high"]:
        return f"{shown(pair['difference'])} ({n})"
    return f"{shown(pair['difference'])} (95 % interval {shown(pair['low'])} to {shown(pair['high'])}, {n})"


def more_seeds(pair: Row) -> str:
    more = pair["more_seeds"]
    if not more or more >= MOST:
        return ""
    return f"; about {counted(more, 'more seed')} would tell"


def few(seeds: int) -> str:
    return "one seed" if seeds == 1 else "no seed in common"
