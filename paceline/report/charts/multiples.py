"""Small multiples: one little chart a compared setting, its tuned values as lines, the best of them strong."""

from typing import NamedTuple

import altair as alt
import polars as pl

from paceline.report.charts.curves import line_range, setting_means
from paceline.report.charts.look import COLOURS, FAINT, NUMBER, data, shortened
from paceline.report.facts import Facts
from paceline.report.names import plain
from paceline.report.results import shown
from paceline.report.thin import thin

PANELS, POINTS = 24, 50


class Multiples(NamedTuple):
    lines: pl.DataFrame  # panel, series, at, x, mean, best (1 or 0)
    order: list[str]
    domain: tuple[float, float]
    left_out: int


def multiples_numbers(facts: Facts, y: str) -> Multiples | None:
    """None with fewer than three panels, or nothing but one line in each."""
    means = setting_means(facts, y, "step")
    have = set(means["label"])
    ranked = [row for row in facts.best.iter_rows(named=True) if row["label"] in have]
    if len(ranked) < 3 or means["series"].n_unique() <= len(ranked):
        return None
    chosen = [row["label"] for row in ranked[:PANELS]]
    marked = facts.best.select("label", "at", pl.lit(1).alias("best"))
    lines = means.filter(pl.col("label").is_in(chosen)).join(marked, on=["label", "at"], how="left")
    lines = thin(lines.with_columns(pl.col("best").fill_null(0)), "series", "x", ["mean"], POINTS)
    shown_ones = ranked[:PANELS]
    names = shortened((_title(row) for row in shown_ones), 30)
    titles = {row["label"]: name for row, name in zip(shown_ones, names, strict=True)}
    lines = lines.with_columns(panel=pl.col("label").replace_strict(titles))
    strong = lines.filter(pl.col("best") == 1)
    domain = line_range(strong if strong.height else lines, y, log=False)
    order = [titles[label] for label in chosen]
    return Multiples(
        lines.select("panel", "series", "at", "x", "mean", "best"), order, domain, len(ranked) - len(chosen)
    )


def _title(row: dict[str, object]) -> str:
    return f"{row['label']} {shown(row['mean'])}"


def multiples_chart(found: Multiples, y: str) -> alt.TopLevelMixin:
    scale = alt.Scale(domain=list(found.domain), nice=False, zero=False)
    side = alt.X("x:Q", title="step", axis=alt.Axis(grid=False, tickCount=3, format="~s"))
    up = alt.Y("mean:Q", title=plain(y), scale=scale, axis=alt.Axis(tickCount=4, format=NUMBER))
    tips = [alt.Tooltip("at:N", title="at"), alt.Tooltip("x:Q", title="step"), alt.Tooltip("mean:Q", format=NUMBER)]
    base = alt.Chart().encode(x=side, y=up, detail="series:N")
    chart = alt.layer(
        base.transform_filter("datum.best == 0").mark_line(clip=True, color=FAINT, strokeWidth=1, strokeOpacity=0.75),
        base.transform_filter("datum.best == 1").mark_line(clip=True, color=COLOURS[0], strokeWidth=2.4),
        base.mark_circle(clip=True, size=50, opacity=0).encode(tooltip=tips),
        data=data(found.lines),
    ).properties(width=178, height=120)
    header = alt.Header(title=None, labelFontSize=12, labelPadding=4)
    return chart.facet(
        facet=alt.Facet("panel:N", sort=found.order, header=header, title=None),
        columns=_across(len(found.order)),
        spacing=18,
    )


def _across(panels: int) -> int:
    """Four in a row, or three where that leaves fewer gaps."""
    return min((4, 3), key=lambda columns: (-panels % columns, -columns))
