"""(k) Published tables, shown and not scored: what their authors predicted or found, beside our fits."""

from typing import Any

import polars as pl

from bench.table import Section
from paceline.analyse.fits import compare, predict
from paceline.analyse.scaling import STRONG, WEAK
from paceline.api import load

TURNAROUND, EPOCH = "minutes", "seconds an epoch"
THEIRS = {TURNAROUND: "just over 11.5", EPOCH: "just over 22"}  # msoe-caltech's own prediction for 16


def section() -> Section:
    rows = [*_caltech(), *_fruit(), *_upc()]
    return Section("(k) published tables, shown and not scored", "", [], [*_refusals(), *NOTES], rows=rows)


def _caltech() -> list[dict[str, Any]]:
    """2 to 8 GPUs of two kinds; 16 predicted."""
    found = []
    for quantity in (TURNAROUND, EPOCH):
        points = times("msoe-caltech", quantity)
        found += [_line("msoe-caltech", quantity, 16, points, WEAK, THEIRS[quantity])]
        fewer = points.filter(pl.col("devices") >= 4)
        found += [_line("msoe-caltech, V100 alone", quantity, 16, fewer, WEAK, THEIRS[quantity])]
    return found


def _fruit() -> list[dict[str, Any]]:
    points = times("msoe-fruit", TURNAROUND)
    kept = points.filter(pl.col("devices") < 4)
    said = points.filter(pl.col("devices") == 4)["seconds"][0] / 60
    return [_line("msoe-fruit, 1 and 2 GPUs", TURNAROUND, 4, kept, WEAK, f"{said:.2f} (measured)")]


def _upc() -> list[dict[str, Any]]:
    points = times("upc-gpus", "seconds")
    return [_line("upc-gpus", "seconds", count, points, STRONG, "") for count in (8, 16)]


def times(study: str, quantity: str) -> pl.DataFrame:
    """devices and seconds of the study's published rows; of several of one count the last. A weak study's time is of
    the same examples."""
    column = {TURNAROUND: ", minutes", EPOCH: EPOCH, "seconds": "training seconds"}[quantity]
    rows = load(study).published["rows"]
    lines = [(row["devices"], value) for row in rows for name, value in row.items() if column in name]
    factor = 60.0 if quantity == TURNAROUND else 1.0
    table = pl.DataFrame(
        {"devices": [count for count, _ in lines], "seconds": [factor * float(value) for _, value in lines]}
    ).unique("devices", keep="last", maintain_order=True)
    return table.with_columns((1 / pl.col("seconds")).alias("samples_per_second"))


def _line(table: str, quantity: str, count: int, points: pl.DataFrame, scaling: str, theirs: str) -> dict[str, Any]:
    row = predict(points, [count], scaling=scaling).row(0, named=True)
    unit = 60.0 if quantity == TURNAROUND else 1.0
    ours = {name: 1 / row[name] / unit if row[name] else None for name in ("predicted", "high", "low")}
    return {
        "table": table,
        "quantity": quantity,
        "devices": count,
        "published": theirs,
        "ours": ours["predicted"],
        "from": ours["high"],
        "to": ours["low"],
        "law": row["model"] or "",
        "held-out miss, %": row["held_out_miss_percent"],
        "says": row["stands"] or "",
        "but": row["refusal"] or "",
    }


def _refusals() -> list[str]:
    """A fit with fewer points than it has parameters."""
    two = times("msoe-caltech", TURNAROUND).filter(pl.col("devices") >= 4)
    refused = compare(two, scaling=WEAK).filter(pl.col("refusal").is_not_null())
    return [f"From two counts (msoe-caltech's V100): {row['refusal']}." for row in refused.iter_rows(named=True)]


NOTES = [
    "Times of the published rows as they are in the gallery's studies; ours are fits to them, with a 95 % interval "
    "where the points allow one. msoe-caltech has T4 GPUs at 2 and V100 at 4 and 8 (its T4 at 4 are left out), and is "
    "faster than linear from 2 to 4, which no law here can be; its fit is shown with and without that row.",
]
