"""How each run went: one of six verdicts with its reason, by the definitions of docs/definitions.md."""

import math
from typing import NamedTuple

import polars as pl

from paceline.analyse.shape import FLOOR, MIN_ROWS, shape
from paceline.analyse.words import fallen, grown, number

FACTOR = 1.5  # a loss that ends this many times its start has diverged
LEFT = 0.01  # a loss within 1 % of its start has not left it
RIGHT = 0.02  # an accuracy within 0.02 of its start has learnt nothing,
WRONG = 0.1  # or within a tenth of its error there, where that is less
SWING = 0.07  # standard deviation about the trend: rows differ by 10 % (0.07 sqrt 2) from one to the next
RISE = 0.05  # a rise of 5 % above the best counts
WORTH = 0.02  # an improvement of 2 % in the window counts,
SHARE = 0.1  # and so does a tenth of all improvement so far


class _Case(NamedTuple):
    """A verdict, when it holds (the first that holds is given), its reason, and the threshold that decided."""

    verdict: str | None
    holds: pl.Expr
    reason: pl.Expr
    threshold: pl.Expr | float | None


def verdicts(rows: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """run, verdict, reason, window (rows), threshold: a line a run, in the order of `runs`.

    Judged on the logarithm of the held-out loss, where 0.01 is 1 %. A run that has not ended, or has fewer than five
    measured rows, has no verdict (null) but a reason.
    """
    blown = rows.group_by("run").agg(pl.col("nonfinite").fill_null(False).any().alias("blown"))
    table = (
        runs.select("run", "status", pl.col("reason").alias("said"))
        .unique("run", keep="first", maintain_order=True)
        .join(shape(rows), on="run", how="left", maintain_order="left")
        .join(blown, on="run", how="left", maintain_order="left")
    )
    return _judged(_with_thresholds(table)).select(
        "run", "verdict", "reason", pl.when(pl.col("n") >= MIN_ROWS).then("window").alias("window"), "threshold"
    )


def _with_thresholds(table: pl.DataFrame) -> pl.DataFrame:
    """Noise is the larger of that from row to row and the swing of the window, which sees slow noise too."""
    noise = pl.max_horizontal("noise", "swing")
    return table.with_columns(
        pl.max_horizontal(2 * noise, LEFT).alias("leave"),
        pl.max_horizontal(3 * noise, RISE).alias("rise"),
        pl.max_horizontal(2 * pl.col("train_noise"), WORTH).alias("learn"),
        pl.min_horizontal(pl.lit(WORTH), SHARE * (pl.col("start") - pl.col("end"))).clip(0.0).alias("worth"),
    )


def _judged(table: pl.DataFrame) -> pl.DataFrame:
    verdict, reason = pl.lit(None, pl.String), pl.lit(None, pl.String)
    threshold = pl.lit(None, pl.Float64)
    for case in reversed((*_unjudged(), _diverged(), *_settled())):
        holds = case.holds.fill_null(False)
        verdict = pl.when(holds).then(pl.lit(case.verdict, pl.String)).otherwise(verdict)
        reason = pl.when(holds).then(case.reason).otherwise(reason)
        threshold = pl.when(holds).then(case.threshold).otherwise(threshold)
    return table.with_columns(verdict.alias("verdict"), reason.alias("reason"), threshold.alias("threshold"))


def _unjudged() -> tuple[_Case, ...]:
    """No verdict, and the one verdict that needs no curve."""
    status, rows = pl.col("status"), pl.col("n").fill_null(0)
    said = pl.when(pl.col("said").is_null() | (status == "done")).then(pl.lit("")).otherwise(": " + pl.col("said"))
    ended = status.is_in(["done", "diverged"])
    infinite = (status == "diverged") | pl.col("blown")
    few = pl.format("no verdict, {} measured rows are too few: {} are needed", rows, pl.lit(MIN_ROWS))
    return (
        _Case(None, ~ended, pl.format("no verdict, the run is {}{}", status, said), None),
        _Case("diverged", infinite, pl.lit("a value became infinite or no number") + said, None),
        _Case(None, rows < MIN_ROWS, few, None),
    )


def _diverged() -> _Case:
    train = pl.col("train_end")
    above = pl.col("end") > pl.col("start") + pl.when("log").then(math.log(FACTOR)).otherwise(FACTOR - 1)
    reason = pl.format("{} ends at {}, above {} times its start {}", "name", _end(), pl.lit(FACTOR), _first())
    return _Case("diverged", above & (train.is_null() | (train > pl.col("start"))), reason, FACTOR)


def _settled() -> tuple[_Case, ...]:
    """The verdicts on a run that stayed finite, in order of precedence."""
    swinging = (pl.col("swing") > SWING) & (pl.col("turns") >= 1) & ~pl.col("steady")
    risen = pl.col("end") - pl.col("best") > pl.col("rise")
    learning = (pl.col("train_best") - pl.col("train_end") > pl.col("learn")).fill_null(False)
    falling = pl.col("steady") & (pl.col("fall") > pl.col("worth"))
    least = pl.min_horizontal(pl.lit(RIGHT), WRONG * (1 - pl.col("right_start")))
    right = pl.col("right_end") >= pl.col("right_start") + least
    begun = (right & pl.col("steady") & (pl.col("fall") > 0)).fill_null(False)
    stuck = (pl.col("end") > pl.col("start") - pl.col("leave")) & ~swinging & ~(risen & learning) & ~begun
    blind = ~right & ~falling
    return (
        _Case("stalled", stuck, _stuck(), pl.col("leave")),
        _Case("stalled", blind, _blind(), least),
        _Case("oscillating", swinging, _swing(), SWING),
        _Case("over-fitting", risen & learning, _rise() + " while train loss went on falling", pl.col("rise")),
        _Case("oscillating", risen, _rise() + " with no fall of the train loss: it does not settle", pl.col("rise")),
        _Case("still improving", falling, _fall(), pl.col("worth")),
        _Case("converged", pl.col("n").is_not_null(), _flat(), pl.col("worth")),
    )


def _first() -> pl.Expr:
    return number(pl.col("first"))


def _end() -> pl.Expr:
    return number(pl.col("final"))


def _window() -> pl.Expr:
    return pl.format("the last {} of {} rows", "window", "n")


def _stuck() -> pl.Expr:
    better = pl.when(pl.col("final") < pl.col("first")).then(pl.lit("not better than its start by more than its noise"))
    words = better.otherwise(pl.lit("no better than its start"))
    return pl.format("{} began at {} and ends at {}: {}", "name", _first(), _end(), words)


def _blind() -> pl.Expr:
    right = number(pl.col("right_start")), number(pl.col("right_end"))
    return pl.format("accuracy began at {} and ends at {}, and {} falls no more", *right, "name")


def _swing() -> pl.Expr:
    return pl.format("{} swings by {} about its trend in {}", "name", grown(pl.col("swing")), _window())


def _rise() -> pl.Expr:
    size = grown(pl.col("end") - pl.col("best"))
    return pl.format("{} rose by {} from its best (near step {}) to {}", "name", size, "best_step", _end())


def _fall() -> pl.Expr:
    return pl.format("{} still fell by {} in {}, to {}", "name", fallen(pl.col("fall")), _window(), _end())


def _flat() -> pl.Expr:
    """As good as zero, a trend too small to matter, or none beyond the swing."""
    zero = pl.format("below a millionth of its start, {}", _first())
    trend = pl.format("a change of only {} in {}", grown(pl.col("fall").abs()), _window())
    none = pl.format("no trend beyond its swing of {} in {}", grown(pl.col("swing")), _window())
    tiny = pl.col("log") & (pl.col("final") < FLOOR * pl.col("first"))
    why = pl.when(tiny).then(zero).when(pl.col("steady")).then(trend).otherwise(none)
    return pl.format("{} {}: {}", "name", _end(), why)
