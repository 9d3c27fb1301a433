"""A table of an answer."""

from typing import NamedTuple

import polars as pl


class Sheet(NamedTuple):
    key: str  # its file name
    title: str
    note: str  # what a reader must know of it
    table: pl.DataFrame
