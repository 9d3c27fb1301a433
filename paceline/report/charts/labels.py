"""Labels at the right end of lines, spread so that none hides another: the legend, in place."""

import math
from typing import Any

import altair as alt
import polars as pl

from paceline.report.charts.look import GREY, HEIGHT, HIGHLIGHTED, LABEL, WIDTH, colour, data

LEADER = (WIDTH + 4, WIDTH + 30)  # pixels, from the end of the plot to the text


def pixels(values: list[float], domain: tuple[float, float], height: float, *, log: bool) -> list[float]:
    """Where values stand on an axis of this height, from the top; what is beyond the domain stands at its end."""
    low, high = (math.log10(end) for end in domain) if log else domain
    seen = [min(max(math.log10(v) if log and v > 0 else low if log else v, low), high) for v in values]
    return [height * (high - v) / ((high - low) or 1) for v in seen]


def spread(wanted: list[float], height: float, gap: float = LABEL) -> list[float]:
    """Places for labels, as near as may be to those wanted, none nearer than `gap` to its neighbour, in the same order.

    Neighbours that collide are merged into a block which is centred on the mean of what its members want.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[tuple[float, list[int]]] = []  # (top of the block, members)
    for i in order:
        blocks.append((wanted[i], [i]))
        while len(blocks) > 1 and blocks[-2][0] + gap * len(blocks[-2][1]) > blocks[-1][0]:
            members = blocks[-2][1] + blocks[-1][1]
            blocks[-2:] = [(_top(members, wanted, height, gap), members)]
        blocks[-1] = (_top(blocks[-1][1], wanted, height, gap), blocks[-1][1])
    places = dict.fromkeys(range(len(wanted)), 0.0)
    for top, members in blocks:
        places |= {i: top + gap * n for n, i in enumerate(members)}
    return [places[i] for i in range(len(wanted))]


def _top(members: list[int], wanted: list[float], height: float, gap: float) -> float:
    centred = sum(wanted[i] - gap * n for n, i in enumerate(members)) / len(members)
    return max(0.0, min(centred, height - gap * (len(members) - 1)))


def placed(ends: pl.DataFrame, domain: tuple[float, float], *, log: bool) -> pl.DataFrame:
    """Ends of lines (label, mean, text) with `line`, the pixel of the line, and `place`, that of its label."""
    at = pixels(ends["mean"].to_list(), domain, HEIGHT, log=log)
    places = spread(at, HEIGHT, min(LABEL, HEIGHT / max(1, len(at) - 1)))
    return ends.with_columns(pl.Series("line", at, pl.Float64), pl.Series("place", places, pl.Float64))


def end_labels(ends: pl.DataFrame, order: list[str]) -> list[alt.Chart]:
    """A leader in the line's own colour and dash, then its text; beyond the coloured ones, in grey."""
    table = ends.select("label", "text", "line", "place")
    bright = table.filter(pl.col("label").is_in(order[:HIGHLIGHTED]))
    dull = table.filter(pl.col("label").is_in(order[HIGHLIGHTED:]))
    layers = _drawn(bright, colour(order), 2) if bright.height else []
    return layers + (_drawn(dull, {"color": alt.value(GREY)}, 1.3) if dull.height else [])


def _drawn(table: pl.DataFrame, channels: dict[str, Any], width: float) -> list[alt.Chart]:
    base = alt.Chart(data(table))
    leader = base.mark_rule(strokeWidth=width).encode(
        x=alt.value(LEADER[0]),
        x2=alt.value(LEADER[1]),
        y=alt.Y("line:Q", scale=None, axis=None),
        y2=alt.Y2("place:Q"),
        **channels,
    )
    text = base.mark_text(align="left", baseline="middle", dx=4).encode(
        x=alt.value(LEADER[1]), y=alt.Y("place:Q", scale=None, axis=None), text="text:N", color=channels["color"]
    )
    return [leader, text]
