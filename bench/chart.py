"""The charts of the benchmark page."""

from typing import Any

import altair as alt

from bench.table import CHARTS

BLUE, GREY, RED = "#1f5fa8", "#8a8f98", "#b3261e"


def draw(kept: dict[str, Any]) -> None:
    _ratios(kept).save(CHARTS["Ratios"])
    if kept.get("growth"):
        _growth(kept["growth"]["points"]).save(CHARTS["Growth"])


def _ratios(kept: dict[str, Any]) -> Any:
    lines = [
        {**line, "work": section["title"].partition(":")[0], "who": line["against"].partition(":")[0]}
        for name, section in kept.items()
        if name in ("softmax", "line", "lab_cnn")
        for line in section["lines"]
    ]
    y = alt.Y("who:N", title=None, sort=None, axis=alt.Axis(labelLimit=340))
    x = alt.X("value:Q", scale=alt.Scale(type="log"), title="times as fast as the peer (log scale); tick: the target")
    base = alt.Chart(alt.InlineData(values=lines))
    bars = base.mark_bar(color=BLUE, height=10).encode(x=x, y=y)
    spans = base.mark_rule(color="black").encode(x=alt.X("low:Q"), x2="high:Q", y=y)
    targets = base.mark_tick(color=RED, thickness=2, size=18).encode(x=alt.X("target:Q"), y=y)
    layered: Any = alt.layer(bars, spans, targets).properties(width=420)
    return layered.facet(row=alt.Row("work:N", title=None, sort=None)).resolve_scale(y="independent")


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
