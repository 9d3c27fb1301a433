"""Claims on speed: which setting trains faster, and where more devices gain more."""

from collections.abc import Sequence

import polars as pl

from paceline.analyse.pairs import ALPHA, pairwise
from paceline.analyse.speed import speeds
from paceline.report.claims.values import (
    CONTRADICTED,
    FIRST,
    OPEN,
    REPRODUCED,
    SECOND,
    UNTESTABLE,
    Judged,
    MissingError,
    Row,
    by_draw,
    few,
    keyed,
    more_seeds,
    name,
    open_axes,
    rows_of,
    runs_of,
    sides,
)
from paceline.report.facts import Facts
from paceline.report.results import shown


def faster(facts: Facts, item: Row) -> Judged:
    first, second = rows_of(item["faster"])
    line = _speed(_timed(facts, first, second, open_axes(facts, [first, second])))
    a, b = name(facts, first), name(facts, second)
    if line["claim"] == "refused":
        return UNTESTABLE, f"{a} against {b}: {line['why']}"
    said = (
        f"{a} trains {shown(line['ratio'])} times the examples a second of {b} ({_interval(line)}, n = {line['pairs']})"
    )
    low, high = line["ratio_low"], line["ratio_high"]
    if "at_most" in item:
        most = float(item["at_most"])
        return (REPRODUCED if high <= most else CONTRADICTED if low > most else OPEN), said
    least = float(item.get("by", 1.0))
    shows = low >= least if least > 1 else low > 1
    return (REPRODUCED if shows else CONTRADICTED if high < least else OPEN), said


def gains_more(facts: Facts, item: Row) -> Judged:
    """Of two speed-ups, whether the first is the larger: seed by seed, on the log scale."""
    couples = [(first, second) for first, second in item["gains_more"]]
    by = open_axes(facts, rows_of(item["gains_more"]))
    gains, said = [], []
    for word, (first, second) in zip((FIRST, SECOND), couples, strict=True):
        timed = _timed(facts, first, second, by)
        line = _speed(timed)
        if line["claim"] == "refused":
            raise MissingError(f"{name(facts, first)} against {name(facts, second)}: {line['why']}")
        gains.append(_gains(timed).with_columns(label=pl.lit(word)))
        said.append(f"{shown(line['ratio'])} times ({_interval(line)})")
    pair = pairwise(pl.concat(gains), metric="accuracy").row(0, named=True)
    words = " against ".join(said)
    if pair["p"] is None:
        return UNTESTABLE, f"{words}: {few(pair['n'])}"
    if pair["p"] >= ALPHA:
        return OPEN, f"{words}{more_seeds(pair)}"
    return (REPRODUCED if pair["a"] == FIRST else CONTRADICTED), words


def _timed(facts: Facts, first: Row, second: Row, by: Sequence[str]) -> pl.DataFrame:
    """What both sides have done, labelled FIRST and SECOND: a line a draw, over the axes left open the mean ratio."""
    tables = []
    for word, row, chosen in zip((FIRST, SECOND), (first, second), sides(facts, first, second, by), strict=True):
        runs = runs_of(facts, chosen).filter(pl.col("status") == "done")
        if runs.is_empty() or "samples_per_second" not in runs.columns:
            raise MissingError("no speed was recorded" if runs.height else f"no run of {name(facts, row)} is done")
        tables.append(keyed(runs, by).with_columns(label=pl.lit(word)))
    table = pl.concat(tables)
    probes = []
    if "probe_before" in table.columns:
        both = "probe_before", "probe_after"
        kinds = pl.col("probe_kind").unique().sort().str.join(", ")
        least, most = pl.min_horizontal(both).min(), pl.max_horizontal(both).max()
        probes = [least.alias("probe_before"), most.alias("probe_after"), kinds]
    disturbed = pl.col("timing").filter(pl.col("timing") != "exclusive").first()
    alone = pl.when(pl.col("timing").is_null().any()).then(None).otherwise(pl.coalesce(disturbed, pl.lit("exclusive")))
    return by_draw(table, pl.col("samples_per_second").log().mean().exp(), alone.alias("timing"), *probes)


def _speed(timed: pl.DataFrame) -> Row:
    """The line of `speeds` of the first, the second being its reference."""
    return speeds(timed, SECOND).filter(pl.col("label") == FIRST).row(0, named=True)


def _gains(timed: pl.DataFrame) -> pl.DataFrame:
    """seed, value: the logarithm of the first's speed less that of the second's."""
    rate = pl.col("samples_per_second").log()
    mine, other = (timed.filter(pl.col("label") == word).select("seed", rate) for word in (FIRST, SECOND))
    gain = pl.col("samples_per_second") - pl.col("samples_per_second_other")
    return mine.join(other, on="seed", how="inner", suffix="_other").select("seed", gain.alias("value"))


def _interval(line: Row) -> str:
    return f"95 % interval {shown(line['ratio_low'])} to {shown(line['ratio_high'])}"
