"""The same runs trained twice, A and B: how their times and results compare, setting by setting and over all."""

import polars as pl

from paceline.analyse.intervals import with_interval
from paceline.analyse.ratios import with_log_interval
from paceline.analyse.words import percent

PAIRS: dict[str, type[pl.DataType]] = {
    "setting": pl.String,
    "metric": pl.String,  # accuracy or loss
    **{
        f"{name}_{side}": kind
        for side in "ab"
        for name, kind in (
            ("timing", pl.String),  # exclusive, shared or stacked
            ("step", pl.Int64),  # the last
            ("seconds", pl.Float64),  # of training
            ("value", pl.Float64),
            ("samples", pl.Float64),  # a second
            ("memory", pl.Float64),
            ("before", pl.Float64),  # of the noise probe, seconds
            ("after", pl.Float64),
        )
    },
}
FASTER_A, FASTER_B, SAME, REFUSED = "A", "B", "no difference shown", "refused"


def by_setting(pairs: pl.DataFrame) -> pl.DataFrame:
    """A line a setting, in the order of `pairs`, which has the columns PAIRS, a line a run that both trained.

    n, timed (pairs whose times may be compared), untimed (why the first other may not); seconds, samples and memory of
    each side (medians) and value (mean); ratio: the median of A's seconds over B's, with ratio_low and ratio_high, the
    95 % t interval of the mean log ratio, widened to hold the median; noise: how far the probe moved on the noisier
    side, largest over least, less 1; faster: A, B, no difference shown or refused, and why; difference of the values,
    A less B, with low and high, its 95 % paired interval.
    """
    each = pairs.with_columns(_untimed().alias("untimed")).with_columns(_log_ratio().alias("log"))
    log, gap = pl.col("log"), pl.col("value_a") - pl.col("value_b")
    paired = gap.is_not_null()
    grouped = each.group_by("setting", maintain_order=True).agg(
        pl.col("metric").first(),
        pl.len().cast(pl.Int64).alias("n"),
        log.count().cast(pl.Int64).alias("timed"),
        *(pl.col(f"seconds_{side}").filter(log.is_not_null()).median() for side in "ab"),
        log.median(),
        log.mean().alias("centre"),
        log.std().alias("spread"),
        pl.max_horizontal(_moved("a"), _moved("b")).alias("noise"),
        pl.col("untimed").drop_nulls().first(),
        *(pl.col(f"samples_{side}").filter(log.is_not_null()).median() for side in "ab"),
        *(pl.col(f"value_{side}").filter(paired).mean() for side in "ab"),
        gap.count().cast(pl.Int64).alias("valued"),
        gap.mean().alias("difference"),
        gap.std().alias("sd"),
        *(pl.col(f"memory_{side}").median() for side in "ab"),
    )
    return _differences(_ratios(grouped)).drop("centre", "spread", "valued", "sd", "log")


def overall(settings: pl.DataFrame) -> pl.DataFrame:
    """One line over the settings: settings, ratio (geometric mean), ratio_low, ratio_high, noise, faster and why.

    The interval is the 95 % t interval of the log ratios over settings; that of its pairs where there is one setting.
    noise is the median over settings.
    """
    timed = settings.filter(pl.col("ratio").is_not_null())
    if timed.height == 1:
        return timed.select(pl.lit(1, pl.Int64).alias("settings"), *_VERDICT)
    log = pl.col("ratio").log()
    pooled = timed.select(
        pl.len().cast(pl.Int64).alias("settings"),
        log.mean().alias("log"),
        log.mean().alias("centre"),
        log.std().alias("spread"),
        pl.col("noise").median(),
        pl.len().cast(pl.Int64).alias("timed"),
        pl.lit(settings["why"].drop_nulls().first(), pl.String).alias("untimed"),
    )
    return _ratios(pooled).select("settings", *_VERDICT)


def overall_difference(settings: pl.DataFrame) -> pl.DataFrame:
    """metric, settings, difference, low, high, apart: a line a metric.

    The mean over settings of A less B, its 95 % t interval over settings (over pairs where there is one setting), and
    how many settings' own intervals leave 0 out.
    """
    known = settings.filter(pl.col("difference").is_not_null())
    apart = ((pl.col("low") > 0) | (pl.col("high") < 0)).fill_null(False).sum().cast(pl.Int64).alias("apart")
    pooled = known.group_by("metric", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n"),
        pl.col("difference").mean().alias("mean"),
        pl.col("difference").std().alias("sd"),
        pl.col("low").first().alias("first_low"),
        pl.col("high").first().alias("first_high"),
        apart,
    )
    alone = pl.col("n") == 1
    return with_interval(pooled).select(
        "metric",
        pl.col("n").alias("settings"),
        pl.col("mean").alias("difference"),
        pl.when(alone).then("first_low").otherwise("low").alias("low"),
        pl.when(alone).then("first_high").otherwise("high").alias("high"),
        "apart",
    )


_VERDICT = ("ratio", "ratio_low", "ratio_high", "noise", "faster", "why")


def _untimed() -> pl.Expr:
    """Why the times of a pair may not be compared; null where they may."""
    reasons = []
    for side in "ab":
        timing, name = pl.col(f"timing_{side}"), side.upper()
        reasons.append(pl.when(timing.is_null()).then(pl.lit(f"{name} was not timed")))
        reasons.append(pl.when(timing != "exclusive").then(pl.format(f"{name} was timed {{}}, not exclusive", timing)))
    steps = pl.when(pl.col("step_a") != pl.col("step_b")).then(
        pl.format("A ended after {} steps, B after {}", "step_a", "step_b")
    )
    known = ((pl.col("seconds_a") > 0) & (pl.col("seconds_b") > 0)).fill_null(False)
    return pl.coalesce(*reasons, steps, pl.when(~known).then(pl.lit("no seconds are recorded")))


def _log_ratio() -> pl.Expr:
    return pl.when(pl.col("untimed").is_null()).then(pl.col("seconds_a").log() - pl.col("seconds_b").log())


def _moved(side: str) -> pl.Expr:
    """How far the probe moved beside the timed runs of a side, least to most; null without one."""
    probes = pl.concat_list(f"before_{side}", f"after_{side}").filter(pl.col("log").is_not_null()).explode()
    seen = probes.filter(probes > 0)
    return seen.max() / seen.min() - 1


def _ratios(table: pl.DataFrame) -> pl.DataFrame:
    """log, centre, spread, timed, noise and untimed as ratio, its interval, and who may be called faster."""
    found = with_log_interval(
        table.select(n="timed", median=pl.col("log").exp(), _mean=pl.col("centre"), _sd=pl.col("spread"))
    )
    names = {"ratio": "median", "ratio_low": "low", "ratio_high": "high"}
    table = table.with_columns(found[column].alias(name) for name, column in names.items())
    effect = pl.max_horizontal(pl.col("ratio"), 1 / pl.col("ratio")) - 1
    holds_1 = (pl.col("ratio_low") <= 1) & (pl.col("ratio_high") >= 1)
    noisy = (pl.col("noise") >= effect).fill_null(False)
    moved = pl.format("the noise probe moved by {}, the times differ by {}", percent(pl.col("noise")), percent(effect))
    why = (
        pl.when(pl.col("timed") == 0)
        .then(pl.coalesce("untimed", pl.lit("nothing was timed")))
        .when(pl.col("timed") == 1)
        .then(pl.lit("one pair: no interval"))
        .when(noisy & ~holds_1)
        .then(moved)
    )
    return table.with_columns(why.alias("why")).with_columns(
        pl.when(pl.col("why").is_not_null())
        .then(pl.lit(REFUSED))
        .when(holds_1)
        .then(pl.lit(SAME))
        .otherwise(pl.when(pl.col("ratio") > 1).then(pl.lit(FASTER_B)).otherwise(pl.lit(FASTER_A)))
        .alias("faster")
    )


def _differences(table: pl.DataFrame) -> pl.DataFrame:
    ends = with_interval(table.select(pl.col("valued").alias("n"), pl.col("difference").alias("mean"), "sd"))
    return table.with_columns(ends["low"], ends["high"])
