"""Curves of training: loss, log loss, accuracy and parameters against steps or seconds."""

import math
from typing import Any, NamedTuple

import altair as alt
import polars as pl

from paceline.record.writer import OVER
from paceline.report.charts.labels import end_labels, placed
from paceline.report.charts.look import (
    FAINT,
    GREY,
    HEIGHT,
    HIGHLIGHTED,
    LABELLED,
    NUMBER,
    WIDTH,
    above_zero,
    colour,
    data,
    shortened,
    width,
)
from paceline.report.facts import Facts
from paceline.report.names import plain
from paceline.report.results import shown
from paceline.report.thin import thin

CONTEXT = 100  # faint lines behind them
POINTS, CONTEXT_POINTS = 240, 32  # of a line


class Curves(NamedTuple):
    """What a chart of curves shows: numbers only."""

    lines: pl.DataFrame  # label, x, mean, low, high (least and most over the seeds), at, n; the compared, at their best
    context: pl.DataFrame  # series, x, mean: other settings, in grey
    ends: pl.DataFrame  # label, x, mean, text, line (pixel), place (pixel of the label), best value first
    order: list[str]  # labels in the order of their rank, which is that of the colours
    domain: tuple[float, float]
    log: bool
    others: int  # settings that stand behind, of which `context` shows an even choice
    drawn: int


def curve_numbers(facts: Facts, y: str, x: str = "step", *, log: bool = False) -> Curves | None:
    """None where there is nothing to draw."""
    means = setting_means(facts, y, x)
    ranked = facts.best.filter(pl.col("mean").is_not_null())["label"].to_list()
    ranked += [label for label in facts.best["label"] if label not in set(ranked)]
    ranked = ranked if len(ranked) <= LABELLED else ranked[:HIGHLIGHTED]
    best = facts.best.select("label", "at").filter(pl.col("label").is_in(ranked))
    lines = means.join(best, on=["label", "at"], how="semi", maintain_order="left")
    if lines.is_empty():  # nothing finished: of each compared setting, what was tried first
        best = means.select("label", "at").unique("label", keep="first", maintain_order=True).head(HIGHLIGHTED)
        lines = means.join(best, on=["label", "at"], how="semi", maintain_order="left")
    if lines.is_empty() or lines["x"].n_unique() < 2:
        return None
    ends = _last(lines)
    if log:
        means, lines = above_zero(means), above_zero(lines)
    order = [label for label in ranked if label in set(lines["label"])]
    behind = means.join(best, on=["label", "at"], how="anti", maintain_order="left")
    chosen = _even_choice(behind, CONTEXT)
    lines = _in_order(thin(lines, "label", "x", ["mean", "low", "high"], POINTS), order)
    context = thin(behind.filter(pl.col("series").is_in(chosen)), "series", "x", ["mean"], CONTEXT_POINTS)
    domain = line_range(lines, y, log=log)
    ends = _ends(ends, domain, log=log)
    others = behind["series"].n_unique()
    return Curves(lines, context.select("series", "x", "mean"), ends, order, domain, log, others, len(chosen))


def setting_means(facts: Facts, y: str, x: str) -> pl.DataFrame:
    """Each setting's mean over its seeds, step by step, as far as all of them go: no step averages the survivors. Runs
    that have not ended count only where none of their setting has."""
    over = pl.col("status").is_in(OVER)
    named = facts.runs.filter(over | ~over.any().over("label", "at")).select("run", "label", "at")
    rows = facts.rows.select("run", "step", pl.col(x).alias("x"), pl.col(y).alias("y")).drop_nulls()
    joined = named.join(rows, on="run", how="inner", maintain_order="left")
    seeds = joined.group_by("label", "at").agg(pl.col("run").n_unique().alias("seeds"))
    value = pl.col("y")
    steps = joined.group_by("label", "at", "step", maintain_order=True).agg(
        pl.col("x").mean(),
        value.mean().alias("mean"),
        value.min().alias("low"),
        value.max().alias("high"),
        pl.len().alias("n"),
    )
    whole = steps.join(seeds, on=["label", "at"], how="left", maintain_order="left").filter(
        pl.col("n") == pl.col("seeds")
    )
    return whole.with_columns(series=pl.col("label") + " · " + pl.col("at")).drop("seeds", "step")


def _in_order(lines: pl.DataFrame, order: list[str]) -> pl.DataFrame:
    """Best first, which is drawn first: beneath the others, but wider."""
    rank = pl.DataFrame({"label": order}, schema={"label": pl.String}).with_row_index("_rank")
    return lines.join(rank, on="label", how="left", maintain_order="left").sort("_rank", "x").drop("_rank")


def _even_choice(behind: pl.DataFrame, most: int) -> list[str]:
    """Of many series, some from best to worst at even ranks, both ends among them."""
    last = behind.sort("x").group_by("series").agg(pl.col("mean").last()).sort("mean", "series")["series"].to_list()
    if len(last) <= most:
        return last
    return [last[round(i * (len(last) - 1) / (most - 1))] for i in range(most)]


def line_range(lines: pl.DataFrame, y: str, *, log: bool) -> tuple[float, float]:
    """The range of the labelled lines: a diverged one behind them must not flatten the rest.

    An accuracy leaves out its steep first fifth; a loss has its top where the lines begin.
    """
    if y.endswith("accuracy"):
        late = lines.filter(pl.col("x") >= 0.2 * pl.col("x").max().over("label"))
        low, high = _float(late["low"].min()), _float(late["high"].max())
        pad = 0.04 * (high - low or 0.1)
        return max(0.0, low - pad), min(1.0, high + pad)
    low, high = _float(lines["low"].min()), _float(lines["high"].max())
    if y.endswith("loss"):
        begin = _float(lines.sort("x").group_by("label").agg(pl.col("high").first())["high"].max())
        high = min(high, 1.15 * begin) if begin > 0 else high
    if log:
        return 10 ** (math.log10(low) - 0.1), 10 ** (math.log10(max(high, low * 10)) + 0.1)
    pad = 0.03 * (high - low or abs(high) or 1.0)
    return (0.0 if y.endswith("loss") and low >= 0 else low - pad), high + pad


def _float(value: Any) -> float:
    return float(value)


def _last(lines: pl.DataFrame) -> pl.DataFrame:
    return lines.sort("x").group_by("label", maintain_order=True).agg(pl.col("x", "mean", "at").last())


def _ends(last: pl.DataFrame, domain: tuple[float, float], *, log: bool) -> pl.DataFrame:
    """The labels, highest final value first; the value said is the true one, wherever the line had to stop."""
    last = last.sort("mean", "label", descending=True)
    names = shortened(last["label"])
    text = [f"{name}  {shown(mean)}" for name, mean in zip(names, last["mean"], strict=True)]
    return placed(last.with_columns(pl.Series("text", text, pl.String)), domain, log=log)


def curve_chart(curves: Curves, y: str, x: str) -> alt.TopLevelMixin:
    """Bands and lines in colour and dash, grey behind them, each labelled at its end."""
    axis = alt.Axis(grid=False, tickCount=6, labelExpr=f"format(datum.value, '{_ticks(curves, x)}')")
    side = alt.X("x:Q", title=_titled(x), axis=axis, scale=alt.Scale(nice=False))
    layers: list[Any] = []
    if curves.context.height:
        behind = alt.Chart(data(curves.context)).encode(x=side, y=_up(curves, y), detail="series:N")
        layers.append(behind.mark_line(clip=True, color=FAINT, strokeWidth=0.8, strokeOpacity=_faintness(curves.drawn)))
    layers += _dull(curves, side, y, x)
    layers += _bright(curves, side, y, x)
    layers += end_labels(curves.ends, curves.order)
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def _up(curves: Curves, y: str, field: str = "mean") -> alt.Y:
    scale = alt.Scale(type="log" if curves.log else "linear", domain=list(curves.domain), nice=False, zero=False)
    ticks = ".0e" if curves.log and curves.domain[0] < 1e-4 else NUMBER
    return alt.Y(
        f"{field}:Q", title=_titled(y), scale=scale, axis=alt.Axis(tickCount=6, format=ticks, labelOverlap=True)
    )


def _dull(curves: Curves, side: alt.X, y: str, x: str) -> list[Any]:
    """Compared settings beyond what colours can tell apart."""
    mine = curves.lines.filter(pl.col("label").is_in(curves.order[HIGHLIGHTED:]))
    base = alt.Chart(data(mine)).encode(x=side, y=_up(curves, y), detail="label:N")
    return [base.mark_line(clip=True, color=GREY, strokeWidth=1.3), _points(base, x)] if mine.height else []


def _bright(curves: Curves, side: alt.X, y: str, x: str) -> list[Any]:
    labels = curves.order[:HIGHLIGHTED]
    mine = curves.lines.filter(pl.col("label").is_in(labels))
    base = alt.Chart(data(mine)).encode(x=side, **colour(labels))
    hover = alt.selection_point(fields=["label"], on="pointerover", clear="pointerout", empty=True, name="hover")
    near = alt.when(hover).then(alt.value(1)).otherwise(alt.value(0.25))
    band = base.mark_area(clip=True, opacity=1, fillOpacity=0.11, strokeWidth=0).encode(
        y=_up(curves, y, "low"), y2="high:Q"
    )
    line = base.mark_line(clip=True).encode(y=_up(curves, y), strokeOpacity=near, strokeWidth=width(labels))
    several = [band] if mine["n"].max() != 1 else []
    return [*several, line, _points(base.encode(y=_up(curves, y)), x).add_params(hover)]


def _points(base: alt.Chart, x: str) -> Any:
    """Unseen, but where the pointer finds the numbers."""
    return base.mark_circle(clip=True, size=70, opacity=0).encode(
        tooltip=[
            alt.Tooltip("label:N", title="setting"), alt.Tooltip("at:N", title="at"),
            alt.Tooltip("x:Q", title=_titled(x), format=",.5~g"), alt.Tooltip("mean:Q", format=NUMBER),
            alt.Tooltip("low:Q", title="least", format=NUMBER), alt.Tooltip("high:Q", title="most", format=NUMBER),
            alt.Tooltip("n:Q", title="seeds"),
        ]
    )  # fmt: skip


def _titled(name: str) -> str:
    return {
        "step": "step",
        "seconds": "seconds of training",
        "loss": "loss on test",
        "accuracy": "accuracy on test",
    }.get(name, plain(name))


def _ticks(curves: Curves, x: str) -> str:
    if x != "step":
        return ".3~g"
    return "~s" if _float(curves.lines["x"].max()) >= 10_000 else ",d"


def _faintness(count: int) -> float:
    return max(0.12, min(0.5, 12 / (count or 1)))


def caption(curves: Curves, facts: Facts) -> str:
    several = facts.study.repeat > 1
    at = " at its own best tuned value" if facts.columns.tune else ""
    said = f"Each compared setting{at}" + (": mean over seeds, band from the least to the most." if several else ".")
    if curves.log and (curves.ends["mean"] <= 0).any():
        said += " A log axis has no 0: such values stand at its foot, with their value said."
    if curves.others:
        shown_ = f"{curves.drawn} of the {curves.others:,}" if curves.drawn < curves.others else f"the {curves.others}"
        said += f" Grey: {shown_} other settings" + (
            ", at even ranks from best to worst." if curves.drawn < curves.others else "."
        )
    return said
