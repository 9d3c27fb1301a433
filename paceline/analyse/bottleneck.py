"""What limits each setting: the loader, the copies, other devices, or by a roofline arithmetic, memory or launching."""

from collections.abc import Sequence

import polars as pl

from paceline.analyse.phases import TRAINING
from paceline.analyse.words import number, percent

WAITS = 1 / 3  # share of the training seconds from which waiting may be what limits
EXPLAINED = 0.5  # share of a step; where all three together are less, the reason says so
_WAITING = ("loader", "copy", "exchange")
_WORK = ("work_flops", "work_bytes", "work_calls")
_PROBE = ("probe_flops", "probe_bytes", "probe_call_seconds")
_ROOFLINE = ("compute", "memory", "launch")


def bottlenecks(runs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """by..., n, verdict, reason, loader, copy, exchange, step_seconds, compute, memory, launch: means over a setting's
    runs.

    `runs` is phases.splits with the columns of `by` and, where measured, work_* of a step and probe_* of the machine.
    loader, copy and exchange are shares of the training seconds: the largest share of all phases names the verdict if
    it is one of them and at least a third. Else compute, memory and launch decide: the share of a step that its work
    would take at the machine's peak, at its bandwidth, and by the mere calling of operations; the largest names it.
    """
    timed = runs.filter((pl.col("seconds") > 0) & (pl.col("steps") > 0))
    timed = timed.with_columns(_known(runs, name) for name in (*_WORK, *_PROBE))
    step = pl.col("seconds") / pl.col("steps")
    explained = (
        pl.col("work_flops") / pl.col("probe_flops"),
        pl.col("work_bytes") / pl.col("probe_bytes"),
        pl.col("work_calls") * pl.col("probe_call_seconds"),
    )
    table = timed.group_by(by, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n"),
        step.mean().alias("step_seconds"),
        *((pl.col(name) / pl.col("seconds")).mean().alias(name) for name in TRAINING),
        *((seconds / step).mean().alias(name) for name, seconds in zip(_ROOFLINE, explained, strict=True)),
        pl.any_horizontal(pl.col(_WORK).is_not_null()).any().alias("_work"),
        pl.any_horizontal(pl.col(_PROBE).is_not_null()).any().alias("_probe"),
    )
    said = table.with_columns(_verdict().alias("verdict"), _reason().alias("reason"))
    return said.select(*by, "n", "verdict", "reason", *_WAITING, "step_seconds", *_ROOFLINE)


def _known(table: pl.DataFrame, name: str) -> pl.Expr:
    """A column, null where it is not above 0 or not there."""
    if name not in table.columns:
        return pl.lit(None, pl.Float64).alias(name)
    value = pl.col(name).cast(pl.Float64)
    return pl.when(value > 0).then(value).alias(name)


def _waiting(name: str) -> pl.Expr:
    others = [pl.col(other) for other in TRAINING if other != name]
    return (pl.col(name) >= WAITS) & (pl.col(name) >= pl.max_horizontal(others))


def _missing() -> pl.Expr:
    return pl.any_horizontal(pl.col(name).is_null() for name in _ROOFLINE)


def _largest(name: str) -> pl.Expr:
    return pl.col(name) >= pl.max_horizontal(_ROOFLINE)


def _verdict() -> pl.Expr:
    return (
        pl.when(_waiting("loader"))
        .then(pl.lit("loader-bound"))
        .when(_waiting("copy"))
        .then(pl.lit("copy-bound"))
        .when(_waiting("exchange"))
        .then(pl.lit("communication-bound"))
        .when(_missing())
        .then(pl.lit("unknown"))
        .when(_largest("compute"))
        .then(pl.lit("compute-bound"))
        .when(_largest("memory"))
        .then(pl.lit("memory-bound"))
        .otherwise(pl.lit("launch-bound"))
    )


def _reason() -> pl.Expr:
    lacking = (
        pl.when(~pl.col("_work"))
        .then(pl.lit("the work of a step was not counted"))
        .when(~pl.col("_probe"))
        .then(pl.lit("this machine was not probed; `measure: time` in the study does so"))
        .otherwise(pl.lit("work or probe is incomplete"))
    )
    waits = [
        pl.format("{} of the training seconds go into {}", percent(pl.col(name)), pl.lit(what))
        for name, what in (
            ("loader", "waiting for batches"),
            ("copy", "copying batches to the device"),
            ("exchange", "waiting for other devices"),
        )
    ]
    little = pl.when(pl.sum_horizontal(_ROOFLINE) < EXPLAINED)
    rest = little.then(pl.lit(" (most of the step is explained by none of the three)")).otherwise(pl.lit(""))
    sizes = [
        pl.format(what, percent(pl.col(name)), number(pl.col("step_seconds") * 1000)) + rest
        for name, what in (
            ("compute", "its arithmetic at the machine's peak is {} of a step of {} ms"),
            ("memory", "its reads and writes at the machine's bandwidth are {} of a step of {} ms"),
            ("launch", "the mere calling of its operations is {} of a step of {} ms"),
        )
    ]
    return (
        pl.when(_waiting("loader"))
        .then(waits[0])
        .when(_waiting("copy"))
        .then(waits[1])
        .when(_waiting("exchange"))
        .then(waits[2])
        .when(_missing())
        .then(lacking)
        .when(_largest("compute"))
        .then(sizes[0])
        .when(_largest("memory"))
        .then(sizes[1])
        .otherwise(sizes[2])
    )
