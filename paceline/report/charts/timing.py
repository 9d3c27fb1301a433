"""Where the time of each compared setting goes, as stacked bars; memory, utilisation and power over time, as curves."""

from dataclasses import replace
from typing import Any, NamedTuple

import altair as alt
import polars as pl

from paceline.analyse.phases import PHASES
from paceline.analyse.resources import aligned
from paceline.report.charts.curves import Curves, curve_numbers
from paceline.report.charts.look import COLOURS, FAINT, GREY, NUMBER, data, shortened
from paceline.report.columns import GB
from paceline.report.facts import Facts
from paceline.report.timing.measured import Usage

ROWS = 40
ROW = 24  # pixels
_TONES = {
    "loader": COLOURS[4],
    "copy": COLOURS[3],
    "forward": COLOURS[5],
    "backward": COLOURS[0],
    "exchange": COLOURS[7],
    "optimizer": COLOURS[2],
    "other": GREY,
    "evaluation": COLOURS[1],
    "checkpoint": FAINT,
}
OVER_TIME = {  # what is drawn: column, and how it becomes what is said
    "resident memory (GB)": pl.col("resident_bytes") / GB,
    "device memory (GB)": pl.col("device_used_bytes") / GB,
    "utilisation (%)": pl.col("utilisation") * 100,
    "power (W)": pl.col("power_watts"),
}
_ALONE = ("utilisation (%)", "power (W)")  # the machine's: a run's only where it was alone


class Bars(NamedTuple):
    parts: pl.DataFrame  # name, phase, amount (seconds, or per cent of them), share, start, end
    order: list[str]
    phases: list[str]
    seconds: bool  # whether amounts are seconds
    left_out: int


def bar_numbers(usage: Usage) -> Bars | None:
    """Seconds where every run was timed alone, else per cent. None where nothing was timed."""
    if usage.phases.is_empty():
        return None
    table = usage.phases.head(ROWS)
    seconds = "whole" in table.columns
    names = shortened(table["label"], 44)
    there = [name for name in PHASES if float(table[name].max() or 0) > 0]  # type: ignore[arg-type]
    whole = pl.col("whole") if seconds else pl.lit(100.0)
    long = (
        table.with_columns(pl.Series("name", names, pl.String), whole.alias("_whole"))
        .unpivot(there, index=["name", "_whole"], variable_name="phase", value_name="share")
        .with_columns((pl.col("share") * pl.col("_whole")).alias("amount"))
    )
    end = pl.col("amount").cum_sum().over("name")
    parts = long.with_columns((end - pl.col("amount")).alias("start"), end.alias("end"))
    kept = parts.select("name", "phase", "amount", "share", "start", "end")
    return Bars(kept, names, there, seconds, usage.phases.height - table.height)


def bar_chart(bars: Bars) -> alt.TopLevelMixin:
    title = "seconds, mean over seeds" if bars.seconds else "% of a run's seconds, mean over seeds"
    scale = alt.Scale(domain=bars.phases, range=[_TONES[name] for name in bars.phases])
    legend = alt.Legend(title=None, orient="top", symbolType="square", columns=len(bars.phases))
    axis = alt.Axis(grid=True, tickCount=6, format=NUMBER)
    chart: alt.TopLevelMixin = (
        alt.Chart(data(bars.parts))
        .mark_bar(height=ROW * 0.7, stroke="white", strokeWidth=0.5)
        .encode(
            y=alt.Y("name:N", sort=bars.order, title=None, axis=alt.Axis(labelLimit=320)),
            x=alt.X("start:Q", title=title, axis=axis, scale=alt.Scale(nice=False)),
            x2="end:Q",
            color=alt.Color("phase:N", scale=scale, sort=bars.phases, legend=legend),
            tooltip=[
                alt.Tooltip("name:N", title="setting"),
                "phase:N",
                alt.Tooltip("amount:Q", title="seconds" if bars.seconds else "%", format=".4~g"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
        .properties(width=560, height=ROW * len(bars.order))
    )
    return chart


def over_time(facts: Facts, what: str) -> Curves | None:
    """One of OVER_TIME at the best settings, against seconds of training, or steps where runs were not alone."""
    usage: Any = facts.usage
    if what in _ALONE and not facts.exclusive:
        return None
    lines = usage.telemetry.select("run", "step", "seconds", OVER_TIME[what].alias(what)).drop_nulls()
    named = facts.at_best.select("run", "label").join(lines, on="run", how="inner", maintain_order="left")
    rows = aligned(named, "label", ["seconds", what])
    rows = rows.drop("label").unique(["run", "step"], maintain_order=True)
    return curve_numbers(replace(facts, rows=rows), what, along(facts)) if rows.height else None


def along(facts: Facts) -> str:
    return "seconds" if facts.exclusive else "step"
