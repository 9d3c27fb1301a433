"""Fewer points to draw, with every extreme kept."""

import polars as pl


def thin(table: pl.DataFrame, by: str, x: str, values: list[str], most: int) -> pl.DataFrame:
    """At most about `most` points a series: its first and last, and of each stretch where each value is least and most.

    A spike of one row survives; a series that is short enough stays whole.
    """
    table = table.sort(by, x, maintain_order=True).with_row_index("_at")
    place, length = pl.int_range(pl.len()).over(by), pl.len().over(by)
    stretches = max(1, most // (2 * len(values)))
    table = table.with_columns(_place=place, _length=length)
    long = table.filter(pl.col("_length") > most).with_columns(
        _stretch=pl.col("_place") * stretches // pl.col("_length")
    )
    extremes = [
        pl.col("_at")
        .sort_by(value, descending=descending, nulls_last=True, maintain_order=True)
        .first()
        .alias(f"{value}{descending}")
        for value in values
        for descending in (False, True)
    ]
    picked = long.group_by(by, "_stretch").agg(extremes).drop(by, "_stretch")
    at = pl.concat([picked[name] for name in picked.columns]) if picked.width else pl.Series([], dtype=pl.UInt32)
    ends = (pl.col("_place") == 0) | (pl.col("_place") == pl.col("_length") - 1)
    keep = (pl.col("_length") <= most) | ends | pl.col("_at").is_in(at.unique().implode())
    return table.filter(keep).drop("_at", "_place", "_length")
