"""Two records side by side: the ratio of times of every setting, and the difference of its results."""

from typing import NamedTuple

import altair as alt
import polars as pl

from paceline.report.charts.look import COLOURS, GREY, INK, NUMBER, Figure, data, shortened

ROWS = 40
ROW = 22  # pixels
_NONE = "neither"
_SIDES = {"A": COLOURS[1], "B": COLOURS[0], _NONE: GREY}


class Ratios(NamedTuple):
    times: pl.DataFrame  # name, value (time of A / time of B), low, high, n, who (is faster: A, B, neither)
    gaps: pl.DataFrame  # name, value (result of A less that of B), low, high, n, who (is higher)
    order: list[str]
    metric: str
    left_out: int


def ratio_figure(settings: pl.DataFrame) -> tuple[Figure, ...]:
    """None where neither times nor results can be compared."""
    found = ratio_numbers(settings)
    said = []
    if found.times.height:
        said.append("Time of A over that of B, on a log axis: right of 1 B is faster (blue), left of it A (orange).")
    if found.gaps.height:
        said.append(f"{found.metric.capitalize()} of A less that of B: blue where it is higher in B, orange in A.")
    if not said:
        return ()
    said.append("Lines are 95 % intervals; a grey diamond claims nothing.")
    if found.left_out:
        said.append(f"The first {len(found.order)} of {len(found.order) + found.left_out}.")
    return (Figure("ratios", "A against B, setting by setting", " ".join(said), ratio_chart(found)),)


def ratio_numbers(settings: pl.DataFrame) -> Ratios:
    """Settings in their own order; results only where all have the same metric."""
    table = settings.head(ROWS)
    table = table.with_columns(pl.Series("name", shortened(table["setting"], 44), pl.String))
    metrics = settings["metric"].unique().to_list()
    faster = pl.when(pl.col("faster").is_in(["A", "B"])).then("faster").otherwise(pl.lit(_NONE))
    times = table.filter(pl.col("ratio").is_not_null()).select(
        "name",
        pl.col("ratio").alias("value"),
        pl.col("ratio_low").alias("low"),
        pl.col("ratio_high").alias("high"),
        pl.col("timed").alias("n"),
        faster.alias("who"),
    )
    higher = pl.when(pl.col("low") > 0).then(pl.lit("A")).when(pl.col("high") < 0).then(pl.lit("B"))
    gaps = table.filter(pl.col("difference").is_not_null() & pl.lit(len(metrics) == 1)).select(
        "name", pl.col("difference").alias("value"), "low", "high", "n", higher.otherwise(pl.lit(_NONE)).alias("who")
    )
    return Ratios(times, gaps, table["name"].to_list(), metrics[0] if metrics else "", settings.height - table.height)


def ratio_chart(found: Ratios) -> alt.TopLevelMixin:
    """Left: times. Right: results. Only one of them where the other cannot be compared."""
    log, linear = alt.Scale(type="log", nice=False, padding=12), alt.Scale(zero=False, nice=False, padding=12)
    panels = []
    if found.times.height:
        panels.append(_panel(found.times, found.order, "time of A / time of B", log, 1.0, labels=True))
    if found.gaps.height:
        title = f"{found.metric} of A less that of B"
        panels.append(_panel(found.gaps, found.order, title, linear, 0.0, labels=not panels))
    return alt.hconcat(*panels, spacing=24) if len(panels) > 1 else panels[0]


def _panel(
    table: pl.DataFrame, order: list[str], title: str, scale: alt.Scale, even: float, *, labels: bool
) -> alt.LayerChart | alt.FacetChart:
    """A dot and its interval for every setting, and a line where both sides are even."""
    axis = alt.Axis(labelLimit=320, grid=True, labels=labels, ticks=labels)
    base = alt.Chart(data(table)).encode(
        y=alt.Y("name:N", sort=order, title=None, axis=axis, scale=alt.Scale(domain=order)),
        color=alt.Color("who:N", scale=alt.Scale(domain=list(_SIDES), range=list(_SIDES.values())), legend=None),
    )
    shapes = alt.Scale(domain=list(_SIDES), range=["circle", "circle", "diamond"])
    tips = [alt.Tooltip("name:N"), *(alt.Tooltip(f"{name}:Q", format=NUMBER) for name in ("value", "low", "high", "n"))]
    line = alt.Chart(alt.InlineData(values=[{"even": even}])).mark_rule(color=INK, strokeWidth=1)
    return alt.layer(
        line.encode(x=_x("even", title, scale)),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(x=_x("low", title, scale), x2="high:Q"),
        base.mark_point(size=70, filled=True, opacity=1).encode(
            x=_x("value", title, scale), shape=alt.Shape("who:N", scale=shapes, legend=None), tooltip=tips
        ),
    ).properties(width=300, height=ROW * len(order))


def _x(field: str, title: str, scale: alt.Scale) -> alt.X:
    axis = alt.Axis(format=NUMBER, tickCount=5, grid=False, labelOverlap=True)
    return alt.X(f"{field}:Q", title=title, axis=axis, scale=scale)
