"""The charts of the benchmark page."""

from typing import Any

import altair as alt

from bench.table import CHARTS

RATIOS = ("softmax", "line", "lab_cnn", "resnet18", "loader", "telemetry")
BLUE, GREY, RED = "#1f5fa8", "#8a8f98", "#b3261e"


def draw(kept: dict[str, Any]) -> None:
    _ratios(kept).save(CHARTS["Ratios"])
    if kept.get("growth"):
        _growth(kept["growth"]["points"]).save(CHARTS["Growth"])
    cells = [row for name, section in kept.items() if name.startswith("links-") for row in section["rows"]]
    if cells:
        _predicted(cells).save(CHARTS["Predicted against measured"])


def _ratios(kept: dict[str, Any]) -> Any:
    lines = [
        {**line, "work": section["title"].partition(":")[0], "who": line["against"].partition(":")[0]}
        for name, section in kept.items()
        if name in RATIOS
        for line in section["lines"]
    ]
    ends = [value for line in lines for value in (line["low"], line["high"], line["target"] or line["value"], 1.0)]
    scale = alt.Scale(type="log", domain=[min(ends) / 1.2, max(ends) * 1.2], nice=False)
    y = alt.Y("who:N", title=None, sort=None, axis=alt.Axis(labelLimit=340))
    title = "times as fast as the peer (log scale), 95 % interval; red: the target"
    base = alt.Chart(alt.InlineData(values=lines))
    points = base.mark_circle(color=BLUE, size=90, opacity=1).encode(alt.X("value:Q", scale=scale, title=title), y=y)
    spans = base.mark_rule(color=BLUE, size=2).encode(alt.X("low:Q", scale=scale), alt.X2("high:Q"), y=y)
    aimed = base.transform_filter("isValid(datum.target)").mark_tick(color=RED, thickness=2, size=18)
    targets = aimed.encode(alt.X("target:Q", scale=scale), y=y)
    layered: Any = alt.layer(spans, points, targets).properties(width=420)
    named = alt.Header(labelOrient="top", labelAngle=0, labelAnchor="start", labelFontWeight="bold")
    return layered.facet(row=alt.Row("work:N", title=None, sort=None, header=named)).resolve_scale(y="independent")


def _growth(points: list[dict[str, Any]]) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=points))
        .mark_line(point=True)
        .encode(
            x=alt.X("runs:Q", scale=alt.Scale(type="log"), title="runs in the sweep (log scale)"),
            y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds a run (log scale)"),
            color=alt.Color("tool:N", title=None, scale=alt.Scale(range=[BLUE, GREY])),
        )
        .properties(width=420, height=220)
    )
    return chart


def _predicted(cells: list[dict[str, Any]]) -> Any:
    """Each cell's step, measured and predicted; on the line they are the same."""
    lines = [
        {**cell, "x": cell["measured, ms"], "y": cell["predicted, ms"], "how": cell["compression"]} for cell in cells
    ]
    ends = [value for line in lines for value in (line["x"], line["y"])]
    low, high = min(ends) / 1.15, max(ends) * 1.15
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    marks = alt.Chart(alt.InlineData(values=lines)).mark_point(filled=True, size=70, opacity=0.85)
    ticks = [value for value in (50, 100, 200, 500, 1000, 2000, 5000) if low <= value <= high]
    axis = alt.Axis(values=ticks, format="~s", grid=True)
    points = marks.encode(
        alt.X("x:Q", scale=scale, axis=axis, title="measured, ms a step (log scale)"),
        alt.Y("y:Q", scale=scale, axis=axis, title="predicted, ms a step (log scale)"),
        color=alt.Color("link:N", title="link", sort=None, scale=alt.Scale(range=[BLUE, "#2a9d8f", "#d98e04", RED])),
        shape=alt.Shape("network:N", title="network", sort=None),
    )
    same = alt.Chart(alt.InlineData(values=[{"x": low, "y": low}, {"x": high, "y": high}])).mark_line(
        color=GREY, strokeDash=[4, 3]
    )
    line = same.encode(alt.X("x:Q", scale=scale), alt.Y("y:Q", scale=scale))
    return alt.layer(line, points).properties(width=360, height=360)
