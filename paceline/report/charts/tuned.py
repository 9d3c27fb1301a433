"""How much the tuned value matters: a curve with intervals for each compared setting, and a heat map of all."""

from typing import Any, NamedTuple

import altair as alt
import polars as pl

from paceline.report.charts.labels import end_labels, pixels, placed
from paceline.report.charts.look import (
    FAINT,
    GREY,
    HEIGHT,
    HIGHLIGHTED,
    INK,
    LABELLED,
    NUMBER,
    WIDTH,
    above_zero,
    colour,
    data,
    shortened,
    spans_decades,
    width,
)
from paceline.report.facts import Facts
from paceline.report.names import plain
from paceline.report.results import shown

ROWS = 40  # of a heat map
TICKS = 12  # tried values that are ticks of their own
CELLS = 24  # columns with a number in each cell


class Sensitivity(NamedTuple):
    points: pl.DataFrame  # label, x, mean, low, high, n
    lost: pl.DataFrame  # label, x, diverged, failed: where no seed gave a value
    ends: pl.DataFrame  # label, text, line, place
    order: list[str]
    log_x: bool
    log_y: bool
    numeric: bool
    domain: tuple[float, float]


def sensitivity_numbers(facts: Facts, axis: str) -> Sensitivity | None:
    table = facts.sensitivity[axis].rename({axis: "x"}).filter(pl.col("x").is_not_null())
    points = table.filter(pl.col("mean").is_not_null()).select("label", "x", "mean", "low", "high", "n")
    if points.is_empty() or points["x"].n_unique() < 2:
        return None
    ranked = [label for label in facts.best["label"] if label in set(points["label"])]
    numeric = points["x"].dtype.is_numeric()
    log_y = facts.columns.metric == "loss" and spans_decades(points["mean"].filter(points["mean"] > 0))
    points = above_zero(points) if log_y else points
    order = ranked if len(ranked) <= LABELLED else ranked[:HIGHLIGHTED]
    domain = _domain(points, facts.columns.metric, log=log_y)
    return Sensitivity(
        points=points.sort("x") if numeric else points,
        lost=_lost(facts, axis),
        ends=_ends(points.filter(pl.col("label").is_in(order)), domain, log=log_y),
        order=order,
        log_x=numeric and spans_decades(points["x"], 1.5),
        log_y=log_y,
        numeric=numeric,
        domain=domain,
    )


def _domain(points: pl.DataFrame, metric: str, *, log: bool) -> tuple[float, float]:
    """The means decide; an interval of a few unlike seeds may reach beyond and is cut."""
    low, high = float(points["mean"].min()), float(points["mean"].max())  # type: ignore[arg-type]
    if log:
        return low / 1.5, high * 1.5
    pad = 0.06 * (high - low or abs(high) or 1.0)
    if metric == "accuracy":
        return max(0.0, low - pad), min(1.0, high + pad)
    return max(0.0, low - pad) if low >= 0 else low - pad, high + pad


def _lost(facts: Facts, axis: str) -> pl.DataFrame:
    ended = facts.runs.group_by("label", pl.col(axis).alias("x")).agg(
        (pl.col("status") == "diverged").sum().alias("diverged"),
        (pl.col("status") == "failed").sum().alias("failed"),
        pl.col("value").is_not_null().sum().alias("values"),
    )
    return ended.filter((pl.col("values") == 0) & (pl.col("diverged") + pl.col("failed") > 0)).drop("values")


def _ends(points: pl.DataFrame, domain: tuple[float, float], *, log: bool) -> pl.DataFrame:
    """The labels, at the right end of each line, highest first."""
    last = points.sort("x").group_by("label", maintain_order=True).agg(pl.col("mean").last())
    last = last.sort("mean", "label", descending=True)
    return placed(last.with_columns(pl.Series("text", shortened(last["label"]), pl.String)), domain, log=log)


def sensitivity_chart(found: Sensitivity, axis: str, metric: str) -> alt.TopLevelMixin:
    kind: Any = "log" if found.log_x else "linear"
    side: Any = alt.X(
        f"x:{'Q' if found.numeric else 'N'}",
        title=plain(axis),
        sort=None,
        scale=alt.Scale(type=kind, nice=False, padding=12) if found.numeric else alt.Undefined,
        axis=alt.Axis(grid=False, labelAngle=0, labelOverlap=True, **_ticks(found)),
    )
    scale = alt.Scale(type="log" if found.log_y else "linear", domain=list(found.domain), nice=False, zero=False)
    up = alt.Y(
        "mean:Q", title=f"{metric} on test", scale=scale, axis=alt.Axis(tickCount=6, format=NUMBER, labelOverlap=True)
    )
    bright = found.points.filter(pl.col("label").is_in(found.order[:HIGHLIGHTED]))
    dull = found.points.filter(pl.col("label").is_in(found.order[HIGHLIGHTED:]))
    faint = found.points.filter(~pl.col("label").is_in(found.order))
    layers: list[Any] = []
    if faint.height:
        behind = alt.Chart(data(faint)).encode(x=side, y=up, detail="label:N")
        layers.append(behind.mark_line(clip=True, color=FAINT, strokeWidth=1, strokeOpacity=0.5))
    if dull.height:
        beyond = alt.Chart(data(dull)).encode(x=side, y=up, detail="label:N", tooltip=_tips(axis))
        layers += [beyond.mark_line(clip=True, color=GREY, strokeWidth=1.3), beyond.mark_circle(clip=True, color=GREY)]
    base = alt.Chart(data(bright)).encode(x=side, color=colour(found.order)["color"])
    bars = base.transform_filter("isValid(datum.low)").mark_rule(clip=True, strokeWidth=1.5, strokeOpacity=0.8)
    layers.append(bars.encode(y=alt.Y("low:Q", title=f"{metric} on test"), y2="high:Q"))
    layers.append(
        base.mark_line(clip=True).encode(
            y=up, strokeDash=colour(found.order)["strokeDash"], strokeWidth=width(found.order)
        )
    )
    layers.append(base.mark_circle(clip=True, size=45, opacity=1).encode(y=up, tooltip=_tips(axis)))
    layers += _crosses(found, side)
    layers += end_labels(found.ends, found.order)
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def _ticks(found: Sensitivity) -> dict[str, Any]:
    """Ticks at the values that were tried, where they are few."""
    if not found.numeric:
        return {}
    tried = found.points["x"].unique().sort().to_list()
    return {"format": "~g", **({"values": tried} if len(tried) <= TICKS else {})}


def _tips(axis: str) -> list[alt.Tooltip]:
    numbers = [alt.Tooltip(f"{name}:Q", format=NUMBER) for name in ("mean", "low", "high", "n")]
    return [alt.Tooltip("label:N", title="setting"), alt.Tooltip("x:N", title=plain(axis)), *numbers]


def _crosses(found: Sensitivity, side: Any) -> list[Any]:
    """Where every seed diverged or failed there is no point: a cross at the foot says so."""
    shown_ = found.order[:HIGHLIGHTED]
    lost = found.lost.filter(pl.col("label").is_in(shown_))
    if lost.is_empty():
        return []
    row = {label: HEIGHT - 6 - 11 * n for n, label in enumerate(shown_)}
    lost = lost.with_columns(pl.Series("foot", [row[label] for label in lost["label"]], pl.Int64))
    tips = [alt.Tooltip("label:N", title="setting"), alt.Tooltip("x:N", title="at"), "diverged:Q", "failed:Q"]
    marks = alt.Chart(data(lost)).mark_text(text="×", fontSize=15, fontWeight="bold")
    return [
        marks.encode(x=side, y=alt.Y("foot:Q", scale=None, axis=None), color=colour(found.order)["color"], tooltip=tips)
    ]


class Heat(NamedTuple):
    cells: (
        pl.DataFrame
    )  # label, x (words), mean, low, high, n, text, shade (from 0 to 1, which decides the colour of the text)
    rows: list[str]
    columns: list[str]
    log: bool
    left_out: int  # compared settings beyond what can be read
    domain: tuple[float, float]


def heat_numbers(facts: Facts, axis: str) -> Heat | None:
    table = facts.sensitivity[axis].rename({axis: "x"}).filter(pl.col("x").is_not_null())
    xs = table["x"].unique(maintain_order=True)
    columns = [shown(x) for x in (xs.sort() if xs.dtype.is_numeric() else xs)]
    rows = [label for label in facts.best["label"] if label in set(table["label"])]
    if len(columns) < 2 or not rows or table["mean"].null_count() == table.height:
        return None
    lost = _lost(facts, axis)
    cells = table.select("label", "x", "mean", "low", "high", "n").join(lost, on=["label", "x"], how="left")
    gone = lost.join(table, on=["label", "x"], how="anti").with_columns(
        *(pl.lit(None, table[n].dtype).alias(n) for n in ("mean", "low", "high", "n"))
    )
    cells = pl.concat([cells, gone.select(cells.columns)], how="vertical_relaxed").filter(
        pl.col("label").is_in(rows[:ROWS])
    )
    log = facts.columns.metric == "loss" and spans_decades(cells["mean"], 1.0)
    domain = _shades(cells["mean"], log=log)
    texts = [_cell(row) for row in cells.iter_rows(named=True)]
    shade = pixels([m if m is not None else domain[0] for m in cells["mean"]], domain, 1.0, log=log)
    cells = cells.with_columns(
        pl.Series("x", [shown(x) for x in cells["x"]]), pl.Series("text", texts), pl.Series("shade", shade, pl.Float64)
    )
    return Heat(cells, rows[:ROWS], columns, log, max(0, len(rows) - ROWS), domain)


def _shades(means: pl.Series, *, log: bool) -> tuple[float, float]:
    """The range of the colours."""
    found = means.drop_nulls()
    low, high = float(found.min()), float(found.max())  # type: ignore[arg-type]
    return (low, high if high > low else (low * 10 if log else low + 1e-9))


def _cell(row: dict[str, Any]) -> str:
    if row["mean"] is None:
        return "div." if row["diverged"] else "failed" if row["failed"] else "-"
    return f"{row['mean']:.3g}"


def heat_chart(heat: Heat, axis: str, metric: str) -> alt.TopLevelMixin:
    """Cividis, which the colour-blind read as others do; best settings on top; what diverged is said in words."""
    better_is_dark = metric == "loss"
    wide = max(34, min(64, 620 // len(heat.columns)))
    base = alt.Chart(data(heat.cells)).encode(
        x=alt.X(
            "x:N", title=plain(axis), sort=heat.columns, axis=alt.Axis(labelAngle=0 if wide > 40 else -45, grid=False)
        ),
        y=alt.Y("label:N", title=None, sort=heat.rows, axis=alt.Axis(labelLimit=240, grid=False)),
    )
    scale = alt.Scale(
        type="log" if heat.log else "linear",
        scheme="cividis",
        domain=list(heat.domain),
        nice=False,
        reverse=better_is_dark,
    )
    legend = alt.Legend(
        title=f"{metric} on test", format=NUMBER, gradientLength=min(200, 24 * len(heat.rows) + 20), tickCount=4
    )
    numbers = [alt.Tooltip(f"{name}:Q", format=NUMBER) for name in ("mean", "low", "high", "n", "diverged", "failed")]
    tips = [alt.Tooltip("label:N", title="setting"), alt.Tooltip("x:N", title=plain(axis)), *numbers]
    cells = (
        base.transform_filter("isValid(datum.mean)")
        .mark_rect()
        .encode(color=alt.Color("mean:Q", scale=scale, legend=legend), tooltip=tips)
    )
    lost = (
        base.transform_filter("!isValid(datum.mean)")
        .mark_rect(fill="transparent", stroke=GREY, strokeDash=[2, 2])
        .encode(tooltip=tips)
    )
    layers = [cells, lost]
    if len(heat.columns) <= CELLS:
        light = "datum.shade < 0.5" if not better_is_dark else "datum.shade > 0.5"
        ink = alt.condition("!isValid(datum.mean)", alt.value(INK), alt.value("#000000"))
        pale = (
            base.transform_filter(f"isValid(datum.mean) && !({light})")
            .mark_text(fontSize=11, color="#ffffff")
            .encode(text="text:N")
        )
        dark = (
            base.transform_filter(f"!isValid(datum.mean) || ({light})")
            .mark_text(fontSize=11)
            .encode(text="text:N", color=ink)
        )
        layers += [pale, dark]
    return alt.layer(*layers).properties(width=wide * len(heat.columns), height=24 * len(heat.rows))
