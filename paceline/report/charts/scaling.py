"""Against the number of devices: the speedup with its ideal, epochs to the goal, and the seconds that epochs save."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import altair as alt
import polars as pl

from paceline.analyse.scaling import REFUSED, speedups, stable_epochs
from paceline.report.charts.look import COLOURS, GREY, HIGHLIGHTED, INK, NUMBER, Figure, data, shortened
from paceline.report.scaling.runs import Scaled
from paceline.report.scaling.tables import SPEED, differences

PANELS = 6  # settings whose epochs are drawn
NUDGE = 0.03  # of a doubling, between settings with the same number of devices: intervals stand side by side
_ALL = "every run"  # the setting of a study that compares nothing but devices
_KINDS = {"strong": "strong scaling: one batch for all", "weak": "weak scaling: a batch for each"}


class Points(NamedTuple):
    """name (of the setting), panel, devices, place (where they are drawn), value, low, high: a line a number of devices
    of a setting."""

    table: pl.DataFrame
    names: list[str]
    panels: list[str]
    devices: list[int]  # of the axis
    note: str  # what is left out


def scaling_figures(found: Scaled) -> Iterator[Figure]:
    if speed := speedup_numbers(found):
        text = (
            "Examples a second over those of the fewest devices: median over seeds, lines are 95 % intervals. Dashed: "
            f"every device counts in full.{speed.note}"
        )
        yield Figure("speedup", "Speedup against devices", text, speedup_chart(speed))
    if (epochs := epoch_numbers(found)) and found.goal:
        text = (
            "The epoch by which half of the runs were there; lines are 95 % intervals from six runs on, the range "
            f"below.{epochs.note}"
        )
        yield Figure("epochs-goal", f"Epochs to {found.goal.said} against devices", text, epoch_chart(epochs))
    if gaps := gap_numbers(found):
        text = (
            "By how many seconds the larger number of devices trains an epoch sooner than the smaller; below 0, later. "
            f"Means over seeds, lines are paired 95 % intervals.{gaps.note}"
        )
        yield Figure("epochs-devices", "Seconds saved in each epoch", text, gap_chart(gaps))


def speedup_numbers(found: Scaled) -> Points | None:
    """None where fewer than two counts of any setting may be timed."""
    table = speedups(found.runs, found.keys, of=SPEED)
    refused = _left(table.filter(pl.col("stands") == REFUSED))
    kept = table.filter(pl.col("stands") != REFUSED)
    value = [pl.col(f"speedup{end}").alias(name) for end, name in (("", "value"), ("_low", "low"), ("_high", "high"))]
    own = kept.filter(pl.len().over([*found.keys, "scaling"]) > 1)
    left = f" Left out, for their time is refused: {refused}." if refused else ""
    return _points(found, own, value, left) if own.height else None


def _left(table: pl.DataFrame) -> str:
    """The counts of these lines in words, strong and weak scaling apart."""
    said = []
    for (scaling,), rows in table.group_by("scaling", maintain_order=True):
        said.append(f"{', '.join(map(str, rows['devices'].unique().sort()))} devices of {scaling} scaling")
    return " and ".join(said)


def epoch_numbers(found: Scaled) -> Points | None:
    """None without a goal. A count of which fewer than half of the runs reached it is left out."""
    if found.goal is None:
        return None
    table = stable_epochs(found.runs, found.keys)
    missed = _left(table.filter(pl.col("epochs").is_null()))
    left = f" Left out, for fewer than half of the runs got there: {missed}." if missed else ""
    value = [pl.col("epochs").alias("value"), pl.col("low", "high")]
    own = table.filter(pl.col("epochs").is_not_null())
    return _points(found, own, value, left) if own["devices"].n_unique() > 1 else None


def _points(found: Scaled, table: pl.DataFrame, value: list[pl.Expr], note: str) -> Points:
    settings = table.select(found.keys).unique(maintain_order=True) if found.keys else pl.DataFrame({"_": [0]})
    full = [found.named(row) or _ALL for row in settings.iter_rows(named=True)]
    drawn = full[:HIGHLIGHTED]
    names = dict(zip(drawn, shortened(drawn), strict=True))
    said = pl.Series("name", [names.get(found.named(row) or _ALL) for row in table.iter_rows(named=True)], pl.String)
    kept = table.with_columns(said, pl.col("scaling").replace_strict(_KINDS).alias("panel")).drop_nulls("name")
    nudged = {name: 2 ** (NUDGE * (place - (len(names) - 1) / 2)) for place, name in enumerate(names.values())}
    place = pl.col("devices") * pl.col("name").replace_strict(nudged, return_dtype=pl.Float64)
    kept = kept.select("name", "panel", "devices", place.alias("place"), *value)
    more = f" The first {len(drawn)} of {len(full)} settings." if len(full) > len(drawn) else ""
    panels = [panel for panel in _KINDS.values() if panel in kept["panel"]]
    return Points(kept, list(names.values()), panels, kept["devices"].unique().sort().to_list(), note + more)


def speedup_chart(found: Points) -> alt.TopLevelMixin:
    first = found.devices[0]
    ideal = pl.DataFrame({"devices": found.devices, "ideal": [n / first for n in found.devices]})
    log = alt.Scale(type="log", base=2, nice=False, padding=16)
    y: dict[str, Any] = {"title": "speedup", "scale": log, "axis": alt.Axis(format=NUMBER, grid=True, tickCount=6)}
    line = (
        alt.Chart(data(ideal))
        .mark_line(color=GREY, strokeDash=[6, 4])
        .encode(x=_devices(found), y=alt.Y("ideal:Q", **y))
    )
    return _panels(found, y, [line])


def epoch_chart(found: Points) -> alt.TopLevelMixin:
    scale = alt.Scale(zero=True, nice=True)
    return _panels(found, {"title": "epochs", "scale": scale, "axis": alt.Axis(grid=True, tickMinStep=1)}, [])


def _devices(found: Points, field: str = "devices") -> alt.X:
    axis = alt.Axis(values=found.devices, format="d", grid=False)
    return alt.X(f"{field}:Q", title="devices", axis=axis, scale=alt.Scale(type="log", base=2, nice=False, padding=16))


def _panels(found: Points, y: dict[str, Any], under: list[alt.Chart]) -> alt.TopLevelMixin:
    """A panel for strong scaling and one for weak, with the same axes."""
    drawn = [_panel(found, panel, y, under, legend=place == 0) for place, panel in enumerate(found.panels)]
    made: alt.TopLevelMixin = alt.hconcat(*drawn, spacing=30).resolve_scale(x="shared", y="shared")
    return made


def _panel(
    found: Points, panel: str, y: dict[str, Any], under: list[alt.Chart], *, legend: bool
) -> alt.LayerChart | alt.FacetChart:
    shown = alt.Legend(title=None, orient="top", columns=2, labelLimit=260) if len(found.names) > 1 and legend else None
    colours = list(COLOURS[: len(found.names)])
    base = alt.Chart(data(found.table.filter(panel=panel))).encode(
        x=_devices(found, "place"),
        color=alt.Color("name:N", scale=alt.Scale(domain=found.names, range=colours), legend=shown),
    )
    tips = [alt.Tooltip("name:N", title="setting")] if len(found.names) > 1 else []
    tips += [alt.Tooltip(f"{name}:Q", format=NUMBER) for name in ("devices", "value", "low", "high")]
    return alt.layer(
        *under,
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(strokeWidth=2)
        .encode(y=alt.Y("low:Q", **y), y2="high:Q"),
        base.mark_line(strokeWidth=1.5).encode(y=alt.Y("value:Q", **y)),
        base.mark_point(size=60, filled=True, opacity=1).encode(y=alt.Y("value:Q", **y), tooltip=tips),
    ).properties(width=270, height=230, title=alt.Title(panel, fontSize=12, fontWeight="normal"))


class Gaps(NamedTuple):
    table: pl.DataFrame  # panel, pair, epoch, difference, low, high
    pairs: list[str]
    panels: list[str]
    note: str


def gap_numbers(found: Scaled) -> Gaps | None:
    """None where rows do not end epochs, or nothing may be timed."""
    table = differences(found)
    if table.is_empty() or table["epoch"].n_unique() < 2:
        return None
    panels = [
        ": ".join(filter(None, (found.named(row), _KINDS[row["scaling"]]))) for row in table.iter_rows(named=True)
    ]
    pair = pl.format("{} instead of {} devices", "b", "a").alias("pair")
    named = table.select(pl.Series("panel", panels, pl.String), pair, "a", "b", "epoch", "difference", "low", "high")
    every = list(dict.fromkeys(panels))
    kept = named.filter(pl.col("panel").is_in(every[:PANELS]))
    pairs = kept.select("a", "b", "pair").unique().sort("a", "b")["pair"].to_list()[:HIGHLIGHTED]
    counts = {int(n) for name in ("a", "b") for n in named[name]}
    refused = sorted(set(found.runs["devices"]) - counts)
    left = f" Left out, for their time is refused: {', '.join(map(str, refused))} devices." if refused else ""
    more = f" The first {PANELS} of {len(every)} settings." if len(every) > PANELS else ""
    return Gaps(kept.filter(pl.col("pair").is_in(pairs)).drop("a", "b"), pairs, every[:PANELS], left + more)


def gap_chart(found: Gaps) -> alt.TopLevelMixin:
    rows = [found.panels[at : at + 2] for at in range(0, len(found.panels), 2)]
    drawn = [alt.hconcat(*(_gaps(found, panel) for panel in row), spacing=30) for row in rows]
    made: alt.TopLevelMixin = alt.vconcat(*drawn, spacing=24)
    return made


def _gaps(found: Gaps, panel: str) -> alt.LayerChart | alt.FacetChart:
    table = found.table.filter(panel=panel)
    legend = alt.Legend(title=None, orient="top", columns=2) if panel == found.panels[0] else None
    y: dict[str, Any] = {
        "title": "seconds saved",
        "axis": alt.Axis(format=NUMBER, tickCount=5),
        "scale": alt.Scale(zero=True),
    }
    axis = alt.Axis(grid=False, tickMinStep=1, format="d")
    base = alt.Chart(data(table)).encode(
        x=alt.X("epoch:Q", title="epoch", axis=axis, scale=alt.Scale(zero=False, nice=False, padding=12)),
        color=alt.Color(
            "pair:N", scale=alt.Scale(domain=found.pairs, range=list(COLOURS[: len(found.pairs)])), legend=legend
        ),
    )
    tips = ["pair:N", *(alt.Tooltip(f"{name}:Q", format=NUMBER) for name in ("epoch", "difference", "low", "high"))]
    even = alt.Chart(alt.InlineData(values=[{"even": 0}])).mark_rule(color=INK, strokeWidth=1)
    return alt.layer(
        even.encode(y=alt.Y("even:Q", **y)),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1.5)
        .encode(y=alt.Y("low:Q", **y), y2="high:Q"),
        base.mark_line(strokeWidth=1, opacity=0.6).encode(y=alt.Y("difference:Q", **y)),
        base.mark_point(size=45, filled=True, opacity=1).encode(y=alt.Y("difference:Q", **y), tooltip=tips),
    ).properties(width=270, height=200, title=alt.Title(panel, fontSize=12, fontWeight="normal"))
