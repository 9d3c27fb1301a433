"""Compared settings two by two, paired by seed and corrected for the number of comparisons."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from paceline.analyse.held_out import higher_is_better
from paceline.analyse.quantiles import Array, normal_quantile, t_quantile, t_tail

ALPHA = 0.05
POWER = 0.8
MOST = 1000  # more seeds than this are not counted
ROUNDING = 1e-12  # of the results: a difference below is none


def pairwise(table: pl.DataFrame, compare: Sequence[str] = (), *, metric: str) -> pl.DataFrame:
    """a, b, n, difference, low, high, p, p_holm, separated, more_seeds: every pair, a the better, best pairs first.

    `table` has value, seed and label (without a label: the words of `compare`). difference is by how much a is
    better, with the 95 % interval of the paired t-test over shared seeds; p_holm is Holm's (1979), over all pairs.
    Differences that agree in all digits while the results vary do so by chance: their spread is that of the results.
    So do results that agree because they are counted (accuracies of few examples): where `exact` says of a label that
    its seeds do not agree in all that was measured, they are known no better than to the least step between results.
    """
    sign = 1.0 if higher_is_better(metric) else -1.0
    labels, values = _matrix(_labelled(table, compare), sign)
    first, second = np.triu_indices(len(labels), 1)
    n, difference, sd = _paired(values[first], values[second])
    exact = _exact(table, labels)
    by_chance = (sd == 0) & (difference != 0) & ~(exact[first] & exact[second])
    sd = np.where(by_chance, _step(values), sd)
    swap = difference < 0
    first, second, difference = np.where(swap, second, first), np.where(swap, first, second), np.abs(difference)
    p = _p_values(n, difference, sd)
    p_holm, alpha = holm(p)
    separated = (p_holm < ALPHA) & (difference > 0)
    half = t_quantile(n) * sd / np.sqrt(np.maximum(n, 1))
    most = 1.0 if higher_is_better(metric) else np.inf  # accuracies differ by no more
    columns = {
        "a": [labels[i] for i in first],
        "b": [labels[i] for i in second],
        "n": n.astype(np.int64),
        "difference": difference,
        "low": np.maximum(difference - half, -most),
        "high": np.minimum(difference + half, most),
        "p": p,
        "p_holm": p_holm,
        "separated": separated,
        "more_seeds": np.where(separated, np.nan, more_seeds(n, difference, sd, alpha)),
    }
    return pl.DataFrame(columns, schema_overrides={"a": pl.String, "b": pl.String}).with_columns(
        pl.col("difference", "low", "high", "p", "p_holm").fill_nan(None),
        pl.col("more_seeds").fill_nan(None).cast(pl.Int64),
    )


def _labelled(table: pl.DataFrame, compare: Sequence[str]) -> pl.DataFrame:
    if "label" in table.columns:
        return table
    words = pl.concat_str(*(pl.col(name).cast(pl.String) for name in compare), separator=", ", ignore_nulls=True)
    return table.with_columns(words.alias("label"))


def _matrix(table: pl.DataFrame, sign: float) -> tuple[list[str], Array]:
    """Labels, best mean first, and a line a label, a column a seed: larger is better, NaN where missing."""
    value = (pl.col("value").cast(pl.Float64) * sign).mean().alias("value")
    means = table.group_by("label", maintain_order=True).agg(value)
    labels = means.sort("value", descending=True, nulls_last=True, maintain_order=True)["label"].to_list()
    cells = table.group_by("label", "seed").agg(value).drop_nulls("value")
    seeds = {seed: place for place, seed in enumerate(table["seed"].unique().sort())}
    rows = {label: place for place, label in enumerate(labels)}
    values = np.full((len(labels), len(seeds)), np.nan)
    where = [rows[label] for label in cells["label"]], [seeds[seed] for seed in cells["seed"]]
    values[where] = cells["value"].to_numpy()
    return labels, values


def _exact(table: pl.DataFrame, labels: list[str]) -> NDArray[np.bool_]:
    if "exact" not in table.columns:
        return np.ones(len(labels), dtype=np.bool_)
    known = dict(table.group_by("label").agg(pl.col("exact").all()).iter_rows())
    return np.array([known[label] for label in labels], dtype=np.bool_)


def _step(values: Array) -> float:
    """The least difference between two results, above rounding."""
    gaps = np.diff(np.unique(values[~np.isnan(values)]))
    gaps = gaps[gaps > ROUNDING]
    return float(gaps.min()) if len(gaps) else 0.0


def _paired(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """n, mean and standard deviation of a - b over the columns that both have."""
    n, mean, sd = _moments(a - b)
    shared = ~np.isnan(a - b)
    (_, first, spread), (_, second, other) = (_moments(np.where(shared, values, np.nan)) for values in (a, b))
    mean = np.where(np.abs(mean) <= ROUNDING * np.maximum(np.abs(first), np.abs(second)), 0.0, mean)
    return n, mean, np.where((sd == 0) & (mean != 0), np.hypot(spread, other), sd)


def _moments(gaps: Array) -> tuple[Array, Array, Array]:
    """n, mean and standard deviation of each line without its NaN; NaN where there are too few."""
    known = ~np.isnan(gaps)
    n = known.sum(axis=1).astype(np.float64)
    mean = np.where(n > 0, np.where(known, gaps, 0.0).sum(axis=1) / np.maximum(n, 1), np.nan)
    off = np.where(known, gaps - mean[:, None], 0.0)
    sd = np.where(n > 1, np.sqrt((off**2).sum(axis=1) / np.maximum(n - 1, 1)), np.nan)
    return n, mean, np.where(sd <= ROUNDING * np.abs(mean), 0.0, sd)


def _p_values(n: Array, difference: Array, sd: Array) -> Array:
    """Two-sided, of the paired t-test; without any spread, 0 for a difference and 1 for none."""
    t = difference * np.sqrt(n) / np.where(sd > 0, sd, 1.0)
    p = t_tail(n, t)
    return np.where(n < 2, np.nan, np.where(sd > 0, p, np.where(difference > 0, 0.0, 1.0)))


def holm(p: Array) -> tuple[Array, Array]:
    """Holm's step-down adjusted p-values, and the level each comparison had to meet. NaN are no comparisons."""
    adjusted, alpha = np.full(len(p), np.nan), np.full(len(p), ALPHA)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    alpha[order] = ALPHA / factors
    return adjusted, alpha


def more_seeds(n: Array, difference: Array, sd: Array, alpha: Array) -> Array:
    """Seeds to add for 80 % power at the corrected level, were the difference and its spread as observed.

    Guenther (1981): N = ((z_alpha + z_power) sd / difference)^2 + z_alpha^2 / 2. NaN without a difference or a spread.
    """
    z = normal_quantile(1 - alpha / 2)
    known = (difference > 0) & (sd > 0)
    ratio = np.where(known, sd, np.nan) / np.where(known, difference, 1.0)
    needed = np.ceil(((z + normal_quantile(POWER)) * np.minimum(ratio, MOST)) ** 2 + z**2 / 2)
    return np.clip(needed - n, 1, MOST)


def ties(pairs: pl.DataFrame, best: pl.DataFrame) -> pl.DataFrame:
    """label, rank, tied_with_best: the labels of `best` in its order, best first.

    Tied where the pair with the first is not separated; the first itself, if any other is tied with it.
    """
    labels = best.select("label").unique(maintain_order=True).with_row_index("rank", offset=1)
    first = labels["label"].first()
    open_pairs = pairs.filter(~pl.col("separated"))
    tied = [open_pairs.filter(pl.col(one) == first)[other].to_list() for one, other in (("a", "b"), ("b", "a"))]
    marked = {*tied[0], *tied[1]} | ({first} if any(tied) else set())
    is_tied = pl.col("label").is_in(list(marked)) if marked else pl.lit(False)
    return labels.select("label", pl.col("rank").cast(pl.Int64), is_tied.alias("tied_with_best"))
