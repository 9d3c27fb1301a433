"""Samples a second of the compared settings, and which is faster than a reference: said, or refused with the reason."""

import polars as pl

from paceline.analyse.ratios import medians, ratios

NOISY = "noise larger than the effect"
SHARED = "runs were not timed alone"
SINGLE = "one repetition"
UNPAIRED = "no seed in common"
UNMEASURED = "too short to be measured"
_PROBES = ("probe_before", "probe_after")


def speeds(runs: pl.DataFrame, reference: str) -> pl.DataFrame:
    """label, n, samples_per_second, low, high, ratio, ratio_low, ratio_high, pairs, noise, claim, why: a line a label.

    `runs` has label, seed, samples_per_second, timing and, where measured, probe_before, probe_after and probe_kind
    (probes of one kind are the same work). The ratio is to the reference, seed by seed. noise: the slowest noise probe
    of the two settings over the fastest of the same kind, the most of any kind. claim: reference, faster, slower, no
    difference (the interval of the ratio holds 1), or refused, with the reason in `why`.
    """
    alone = (pl.col("timing") == "exclusive").fill_null(False).all().over("label")
    timed = runs.with_columns(alone.alias("_alone"), pl.when(alone).then("samples_per_second").alias("_speed"))
    speed = medians(timed, ["label"], "_speed").rename({"median": "samples_per_second"})
    ratio = ratios(timed, ["label"], "_speed", timed.filter(pl.col("label") == reference))
    ratio = ratio.rename({"low": "ratio_low", "high": "ratio_high"})
    table = speed.join(ratio, on="label", how="left", maintain_order="left")
    table = table.join(_noise(timed, reference), on="label", how="left", maintain_order="left")
    table = table.with_columns(_why(reference).alias("why"))
    table = table.with_columns(_claim(reference).alias("claim"))
    names = ("label", "n", "samples_per_second", "low", "high", "ratio", "ratio_low", "ratio_high", "pairs", "noise")
    return table.select(*names, "claim", "why")


def _noise(timed: pl.DataFrame, reference: str) -> pl.DataFrame:
    """label, noise, _both: whether the runs of the label, and those of the reference too, were timed alone."""
    each = timed.group_by("label", maintain_order=True).agg(pl.col("_alone").first())
    noise = [spread(timed.filter(pl.col("label").is_in([label, reference]))) for label in each["label"]]
    both = pl.col("_alone") & pl.col("_alone").filter(pl.col("label") == reference).first()
    return each.select("label", pl.Series("noise", noise, pl.Float64), both.fill_null(False).alias("_both"))


def spread(runs: pl.DataFrame) -> float | None:
    """The slowest probe over the fastest of the same kind, the most of any kind; None where there are none."""
    unknown = [pl.lit(None, pl.Float64).alias(name) for name in _PROBES if name not in runs.columns]
    unknown += [pl.lit("").alias(name) for name in ("probe_kind",) if name not in runs.columns]
    kinds = (
        runs.with_columns(unknown)
        .group_by("probe_kind")
        .agg((pl.max_horizontal(_PROBES).max() / pl.min_horizontal(_PROBES).min()).alias("spread"))
    )
    most = kinds["spread"].max()
    return float(most) if isinstance(most, float) else None


def _differs() -> pl.Expr:
    return ((pl.col("ratio_low") > 1) | (pl.col("ratio_high") < 1)).fill_null(False)


def _why(reference: str) -> pl.Expr:
    """Why no claim is made; null where one is."""
    effect = pl.max_horizontal(pl.col("ratio"), 1 / pl.col("ratio"))
    drowned = (_differs() & (pl.col("noise") >= effect)).fill_null(False)
    return (
        pl.when(~pl.col("_both"))
        .then(pl.lit(SHARED))
        .when(pl.col("n") == 0)
        .then(pl.lit(UNMEASURED))
        .when(pl.col("label") == reference)
        .then(pl.lit(None, pl.String))
        .when(pl.col("pairs") == 0)
        .then(pl.lit(UNPAIRED))
        .when(pl.col("pairs") == 1)
        .then(pl.lit(SINGLE))
        .when(drowned)
        .then(pl.lit(NOISY))
    )


def _claim(reference: str) -> pl.Expr:
    return (
        pl.when(pl.col("label") == reference)
        .then(pl.lit("reference"))
        .when(pl.col("why").is_not_null())
        .then(pl.lit("refused"))
        .when(~_differs())
        .then(pl.lit("no difference"))
        .when(pl.col("ratio") > 1)
        .then(pl.lit("faster"))
        .otherwise(pl.lit("slower"))
    )
