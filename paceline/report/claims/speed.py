"""Claims on speed: which setting trains faster, and where more devices gain more."""

import polars as pl

from paceline.analyse.pairs import ALPHA, pairwise
from paceline.analyse.speed import speeds
from paceline.report.claims.values import (
    CONTRADICTED,
    OPEN,
    REPRODUCED,
    UNTESTABLE,
    Judged,
    MissingError,
    Row,
    few,
    more_seeds,
    name,
    rows_of,
    runs_of,
    settings_of,
)
from paceline.report.facts import Facts
from paceline.report.results import shown


def faster(facts: Facts, item: Row) -> Judged:
    first, second = rows_of(item["faster"])[:2]
    line = _speed(facts, first, second)
    a, b = name(facts, first), name(facts, second)
    if line["claim"] == "refused":
        return UNTESTABLE, f"{a} against {b}: {line['why']}"
    said = (
        f"{a} trains {shown(line['ratio'])} times the examples a second of {b} ({_interval(line)}, n = {line['pairs']})"
    )
    if "at_most" in item:
        return _at_most(line, float(item["at_most"])), said
    least = float(item.get("by", 1.0))
    if line["ratio_low"] > 1 and line["ratio_high"] >= least:
        return REPRODUCED, said
    return (CONTRADICTED if line["ratio_high"] < max(least, 1.0) else OPEN), said


def _at_most(line: Row, most: float) -> str:
    if line["ratio_high"] <= most:
        return REPRODUCED
    return CONTRADICTED if line["ratio_low"] > most else OPEN


def gains_more(facts: Facts, item: Row) -> Judged:
    """Of two speed-ups, whether the first is the larger: seed by seed, on the log scale."""
    sides = []
    for first, second in item["gains_more"]:
        line = _speed(facts, first, second)
        if line["claim"] == "refused":
            raise MissingError(f"{name(facts, first)} against {name(facts, second)}: {line['why']}")
        mine, other = (_rates(facts, row).select("seed", pl.col("samples_per_second").log()) for row in (first, second))
        both = mine.join(other, on="seed", how="inner", suffix="_other")
        gain = pl.col("samples_per_second") - pl.col("samples_per_second_other")
        sides.append((both.select("seed", gain.alias("value")), line))
    table = pl.concat([side.with_columns(label=pl.lit(name)) for name, (side, _) in zip("ab", sides, strict=True)])
    pair = pairwise(table, metric="accuracy").row(0, named=True)
    said = " against ".join(f"{shown(line['ratio'])} times ({_interval(line)})" for _, line in sides)
    if pair["p"] is None:
        return UNTESTABLE, f"{said}: {few(pair['n'])}"
    if pair["p"] >= ALPHA:
        return OPEN, f"{said}{more_seeds(pair)}"
    return (REPRODUCED if pair["a"] == "a" else CONTRADICTED), said


def _rates(facts: Facts, row: Row) -> pl.DataFrame:
    runs = runs_of(facts, settings_of(facts, row))
    if "samples_per_second" not in runs.columns:
        raise MissingError("no speed was recorded")
    return runs.filter(pl.col("status") == "done")


def _speed(facts: Facts, first: Row, second: Row) -> Row:
    """The line of `speeds` of the first, the second being its reference."""
    both = [
        _rates(facts, row).with_columns(label=pl.lit(name)) for name, row in zip("ab", (first, second), strict=True)
    ]
    return speeds(pl.concat(both), "b").filter(pl.col("label") == "a").row(0, named=True)


def _interval(line: Row) -> str:
    return f"95 % interval {shown(line['ratio_low'])} to {shown(line['ratio_high'])}"
