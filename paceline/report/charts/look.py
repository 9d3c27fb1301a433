"""How every chart looks: colours, dashes, sizes, and how a table goes into one."""

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import altair as alt
import polars as pl

# Okabe and Ito 2008, safe for the colour-blind; its yellow, too pale for a line on white, is darkened, and INK stands
# for its black, so that the page can turn it into the reader's own ink (light or dark).
INK = "#1a1a1b"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK, "#9A8700")
DASHES = ([1, 0], [8, 4], [2, 3], [10, 4, 2, 4], [16, 5], [4, 4], [10, 3, 2, 3, 2, 3], [1, 4])
GREY, FAINT = "#7f7f7f", "#9a9a9a"
HIGHLIGHTED = len(COLOURS)
LABELLED = 12  # lines with a label: the coloured ones and, where that is all of them, the last few in grey
WIDTH, HEIGHT, LABEL = 600, 320, 15  # pixels; LABEL is the height of a line of text

NUMBER = ".4~g"


class Figure(NamedTuple):
    """A chart with what stands round it."""

    key: str
    title: str
    caption: str
    chart: alt.TopLevelMixin


def data(table: pl.DataFrame) -> alt.InlineData:
    """A table inside a chart, as CSV: a third of the size of the same in JSON."""
    short = [pl.col(n).round_sig_figs(6) for n in table.columns if table[n].dtype.is_float()]
    text = table.with_columns(short).write_csv()
    kinds = {n: "number" if table[n].dtype.is_numeric() else "string" for n in table.columns}
    return alt.InlineData(values=text, format=alt.CsvDataFormat(type="csv", parse=kinds))


def spans_decades(values: pl.Series, decades: float = 2.0) -> bool:
    """Whether a log axis serves: all above 0, and from least to most a factor of 10 ** decades."""
    found = values.drop_nulls()
    if found.is_empty() or float(found.min()) <= 0:  # type: ignore[arg-type]
        return False
    return math.log10(float(found.max()) / float(found.min())) >= decades  # type: ignore[arg-type]


def above_zero(table: pl.DataFrame) -> pl.DataFrame:
    """A log axis has no 0: such values of mean, low and high stand at the least one above it."""
    least = table.select(pl.min_horizontal(pl.col(n).filter(pl.col(n) > 0).min() for n in ("mean", "low"))).item()
    return table.with_columns(pl.col("mean", "low", "high").clip(lower_bound=least or 1e-30))


def colour(labels: list[str]) -> dict[str, Any]:
    """The channels that tell series apart, in the order of `labels`: colour and dash. No legend: labels are drawn."""
    shown = labels[:HIGHLIGHTED]
    return {
        "color": alt.Color("label:N", scale=alt.Scale(domain=shown, range=list(COLOURS[: len(shown)])), legend=None),
        "strokeDash": alt.StrokeDash(
            "label:N", scale=alt.Scale(domain=shown, range=list(DASHES[: len(shown)])), legend=None
        ),
    }


def width(labels: list[str]) -> alt.StrokeWidth:
    """Lines drawn later are thinner, so that one that coincides with an earlier one does not hide it."""
    shown = labels[:HIGHLIGHTED]
    widths = [round(2.5 - 0.15 * n, 2) for n in range(len(shown))]
    return alt.StrokeWidth("label:N", scale=alt.Scale(domain=shown, range=widths), legend=None)


def shortened(labels: Iterable[str], most: int = 34) -> list[str]:
    """Labels that fit beside a chart, none like another: long ones are cut where that leaves them distinct and keeps
    the most words that not all of them have, as near to the middle as may be. Where no cut tells two apart, they get
    their place behind them."""
    whole = list(labels)
    words = [set(_words(label)) for label in whole]
    telling = [own - words[0].intersection(*words) for own in words]

    def told(names: list[str]) -> tuple[int, int]:
        return len(set(names)), sum(
            len(own.intersection(_words(name))) for own, name in zip(telling, names, strict=True)
        )

    starts = sorted(range(1, most - 1), key=lambda start: abs(start - most // 2))
    names = max(([_cut(label, start, most) for label in whole] for start in starts), key=told)
    return [name if names.count(name) == 1 else f"{name} ({place})" for place, name in enumerate(names, 1)]


def _cut(label: str, start: int, most: int) -> str:
    """Between words, where there are words on both sides."""
    if len(label) <= most:
        return label
    head, tail = label[:start], label[start + 1 - most :]
    if " " in head and " " in tail:
        head = head if not label[start].isalnum() else head.rpartition(" ")[0]
        tail = tail if not label[start - most].isalnum() else tail.partition(" ")[2]
    return f"{head}…{tail}"


def _words(label: str) -> list[str]:
    return re.findall(r"[\w.-]+", label)


def config(ink: str = INK) -> dict[str, Any]:
    """One look for the page and for paper; the page passes `currentColor`."""
    text = {"labelColor": ink, "titleColor": ink, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    axis = {**text, "gridColor": "#888888", "gridOpacity": 0.22, "domainColor": GREY, "tickColor": GREY, "tickSize": 4}
    return {
        "font": "system-ui, 'DejaVu Sans', Arial, sans-serif",
        "background": "transparent" if ink == "currentColor" else "white",
        "view": {"stroke": None},
        "axis": axis,
        "legend": text,
        "header": {"labelColor": ink, "titleColor": ink, "labelFontSize": 12, "labelFontWeight": "bold"},
        "title": {"color": ink, "fontSize": 13, "anchor": "start"},
        "text": {"fontSize": 12, "color": ink},
        "line": {"strokeCap": "butt", "strokeJoin": "round"},
    }


def spec(chart: alt.TopLevelMixin, ink: str = INK) -> dict[str, Any]:
    """The chart as Vega-Lite, in this ink."""
    made: dict[str, Any] = chart.to_dict(validate=False)
    made["config"] = config(ink)
    return made if ink == INK else _inked(made, ink)


def _inked(value: Any, ink: str) -> Any:
    if isinstance(value, dict):
        return {key: _inked(inner, ink) for key, inner in value.items()}
    if isinstance(value, list):
        return [_inked(inner, ink) for inner in value]
    return ink if value == INK else value
