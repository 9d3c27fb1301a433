"""Workers x pinning x batch size: which loader is fastest, and from how many workers on there is no gain."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from paceline.analyse.speed import NOISY, speeds

GAIN = 1.05  # an interval of the ratio below this holds no gain worth saying; beyond, none is shown
ALIKE = "within noise of the best"
SATURATION = {
    "best_workers": pl.Int64,
    "samples_per_second": pl.Float64,
    "saturated_at": pl.Int64,
    "against": pl.Int64,
    "ratio": pl.Float64,
    "ratio_low": pl.Float64,
    "ratio_high": pl.Float64,
    "pairs": pl.Int64,
    "no_gain": pl.Boolean,
    "statement": pl.String,
}


def loading(runs: pl.DataFrame, keys: Sequence[str], within: Sequence[str] = ()) -> pl.DataFrame:
    """within..., keys..., n, samples_per_second, low, high, ratio, ratio_low, ratio_high, noise, stands: fastest first.

    `keys` make a loader's setting (workers, pin_memory, batch); the best is sought among those that share `within`, and
    every ratio is to it. stands: best, within noise of the best, slower, or why nothing can be said.
    """
    labelled = runs.with_columns(_words(keys).alias("label"), _words(within).alias("_group"))
    tables = []
    for (_,), group in labelled.group_by("_group", maintain_order=True):
        best = _fastest(group)
        names = group.select(*within, *keys, "label").unique("label", maintain_order=True)
        table = speeds(group, best).with_columns(_stands().alias("stands"))
        joined = names.join(table, on="label", how="left", maintain_order="left")
        tables.append(joined.sort("samples_per_second", descending=True, nulls_last=True, maintain_order=True))
    measured = ("n", "samples_per_second", "low", "high", "ratio", "ratio_low", "ratio_high", "noise", "stands")
    return pl.concat(tables).select(*within, *keys, *measured)


def saturation(runs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """by..., best_workers, samples_per_second (of these), saturated_at, against, ratio, ratio_low, ratio_high, pairs,
    no_gain, statement: a line each setting of `by` with several numbers of workers.

    saturated_at: the fewest workers within noise of the best; null where that cannot be said. ratio: the speed of
    `against` workers, the fastest of those that are more, to that at saturation; where there are none, of the fastest
    of those that are fewer. no_gain: whether more workers are shown to gain nothing.
    """
    lines = []
    workers = pl.col("workers")
    counted = runs.filter(workers.is_not_null())
    counted = counted.with_columns(workers.cast(pl.String).alias("label"), _words(by).alias("_group"))
    for _, group in counted.group_by("_group", maintain_order=True):
        if group["workers"].n_unique() > 1:
            lines.append({name: group[name][0] for name in by} | _saturated(group))
    schema = {name: runs.schema[name] for name in by} | SATURATION
    return pl.DataFrame(lines, schema=schema)


def _words(names: Sequence[str]) -> pl.Expr:
    said = [pl.col(name).cast(pl.String).fill_null("-") for name in names]
    return pl.concat_str(said, separator=" / ") if said else pl.lit("")


def _fastest(runs: pl.DataFrame) -> str:
    """The label with the largest median; of equals the first."""
    means = runs.group_by("label", maintain_order=True).agg(pl.col("samples_per_second").median())
    return str(means.sort("samples_per_second", descending=True, nulls_last=True, maintain_order=True)["label"][0])


def _stands() -> pl.Expr:
    alike = (pl.col("claim") == "no difference") | (pl.col("why") == NOISY).fill_null(False)
    return (
        pl.when(pl.col("claim") == "reference")
        .then(pl.coalesce("why", pl.lit("best")))
        .when(alike)
        .then(pl.lit(ALIKE))
        .when(pl.col("why").is_not_null())
        .then("why")
        .otherwise("claim")
    )


def _saturated(group: pl.DataFrame) -> dict[str, Any]:
    best = _fastest(group)
    table = speeds(group, best).with_columns(pl.col("label").cast(pl.Int64).alias("workers"), _stands().alias("stands"))
    speed = table.filter(pl.col("label") == best)["samples_per_second"][0]
    found: dict[str, Any] = {"best_workers": int(best), "samples_per_second": speed}
    unsaid = table.filter(~pl.col("stands").is_in(["best", ALIKE, "slower"]))
    if unsaid.height:
        return found | {"no_gain": False, "statement": f"nothing can be said: {unsaid['stands'][0]}"}
    enough = int(table.filter(pl.col("stands").is_in(["best", ALIKE]))["workers"].min())  # type: ignore[arg-type]
    most = int(table["workers"].max())  # type: ignore[arg-type]
    rest = group.filter(pl.col("workers") > enough if enough < most else pl.col("workers") < enough)
    other = _fastest(rest)
    row = speeds(group, str(enough)).filter(pl.col("label") == other).row(0, named=True)
    sizes = {name: row[name] for name in ("ratio", "ratio_low", "ratio_high", "pairs")}
    more = enough < most
    no_gain = more and row["ratio_high"] * (row["noise"] if row["why"] == NOISY else 1.0) <= GAIN
    said = _statement(enough, int(other), row, more=more, no_gain=no_gain)
    return found | {"saturated_at": enough, "against": int(other), **sizes, "no_gain": no_gain, "statement": said}


def _statement(enough: int, other: int, row: dict[str, Any], *, more: bool, no_gain: bool) -> str:
    interval = f"95 % interval {row['ratio_low']:.3g} to {row['ratio_high']:.3g}, n = {row['pairs']}"
    size = f"{row['ratio']:.3g} times the speed ({interval})"
    verb = "gives" if other == 1 else "give"
    if not more:
        return f"the most tried, {_count(enough)}, is the fastest, so more may gain; {_count(other)} {verb} {size}"
    than = f"more than {_count(enough)}" if enough else "workers"
    if no_gain:
        return f"no gain from {than}: {other} {verb} {size}"
    if row["why"] == NOISY and row["ratio"] > 1:
        return f"a gain from {than} cannot be told from the machine's noise: {other} {verb} {size}"
    return f"no gain shown from {than}: {other} {verb} {size}"


def _count(workers: int) -> str:
    return "1 worker" if workers == 1 else f"{workers} workers"
