"""What the columns of every table are made to look like for a reader."""

from collections.abc import Mapping

import polars as pl

GB = 2**30


def whole(table: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Speeds of thousands as whole numbers."""
    there = [name for name in names if name in table.columns]
    large = [name for name in there if float(table[name].max() or 0) >= 1000]  # type: ignore[arg-type]
    return table.with_columns(pl.col(large).round(0).cast(pl.Int64)) if large else table


def spoken(table: pl.DataFrame, names: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Columns as one would say them: by these names, else without underscores; dotted ones are axes and stay."""
    said = names or {}
    return table.rename(lambda name: said.get(name, name if "." in name else name.replace("_", " ")))


def without_empty(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(name for name in table.columns if table[name].null_count() < table.height)
