"""Numbers as words inside Polars expressions."""

import polars as pl


def number(value: pl.Expr, digits: int = 3) -> pl.Expr:
    """Three significant digits: 0.312, 5.7e-11, 189."""
    text = value.cast(pl.Float64).round_sig_figs(digits).cast(pl.String)
    return text.str.strip_suffix(".0")


def percent(share: pl.Expr) -> pl.Expr:
    """A share as a percentage of two significant digits."""
    return number(share * 100, 2) + " %"


def grown(change: pl.Expr) -> pl.Expr:
    """A rise as a percentage of where it began; by its logarithm where `log`, else by its share."""
    return percent(pl.when("log").then(change.exp() - 1).otherwise(change))


def fallen(change: pl.Expr) -> pl.Expr:
    """A fall, likewise."""
    return percent(pl.when("log").then(1 - (-change).exp()).otherwise(change))
