"""The compared settings at their best, with intervals, and how far each is behind the best, seed by seed."""

from typing import Any, NamedTuple

import altair as alt
import polars as pl

from paceline.report.charts.look import COLOURS, GREY, INK, NUMBER, data, shortened, spans_decades
from paceline.report.facts import Facts

ROWS = 40
ROW = 22  # pixels


class Forest(NamedTuple):
    best: pl.DataFrame  # name, mean, low, high, n, and what is drawn of them: place, start, end
    behind: pl.DataFrame  # name, difference, low, high, separated: paired with the best; positive is worse
    order: list[str]
    log: bool
    left_out: int
    first: str  # what differences are to, in words

    @property
    def paired(self) -> bool:
        """Whether differences are drawn: not without intervals, and not beside a log axis."""
        return not self.log and self.behind["low"].is_not_null().any()


def forest_numbers(facts: Facts) -> Forest | None:
    best = facts.best.filter(pl.col("mean").is_not_null())
    if best.height < 2:
        return None
    names = shortened((_name(row) for row in best.iter_rows(named=True)), 44)
    named = best.with_columns(pl.Series("name", names, pl.String))
    above = named["mean"].filter(named["mean"] > 0)
    log = facts.columns.metric == "loss" and spans_decades(above)
    top = named.select("name", "label", "mean", "low", "high", "n").head(ROWS)
    drawn = {"place": pl.col("mean"), "start": pl.col("low"), "end": pl.col("high")}
    if log:  # which has no 0: what is there or below stands at the foot
        drawn = {name: value.clip(lower_bound=float(above.min()) / 3) for name, value in drawn.items()}  # type: ignore[arg-type]
    order, left_out = top["name"].to_list(), named.height - top.height
    first = "the first" if len(facts.by_data) == 1 else "the first on the same data"
    return Forest(top.drop("label").with_columns(**drawn), _behind(facts, top), order, log, left_out, first)


def _name(row: dict[str, object]) -> str:
    at = f" · {row['at']}" if row["at"] not in ("", "-") else ""
    return f"{row['label']}{at}"


def _behind(facts: Facts, top: pl.DataFrame) -> pl.DataFrame:
    """Differences from the best on the same data set, all turned the same way: how much worse."""
    tables = [_behind_first(facts, each.best["label"][0]) for each in facts.by_data.values()]
    table = pl.concat(tables)
    return table.join(top.select("label", "name"), on="label", how="inner", maintain_order="right").drop("label")


def _behind_first(facts: Facts, first: str) -> pl.DataFrame:
    against = facts.pairs.filter((pl.col("a") == first) | (pl.col("b") == first))
    turned = pl.when(pl.col("a") == first).then(1.0).otherwise(-1.0)
    return against.select(
        pl.when(pl.col("a") == first).then("b").otherwise("a").alias("label"),
        (pl.col("difference") * turned).alias("difference"),
        pl.min_horizontal(pl.col("low") * turned, pl.col("high") * turned).alias("low"),
        pl.max_horizontal(pl.col("low") * turned, pl.col("high") * turned).alias("high"),
        "n",
        "separated",
        "p_holm",
    )


def forest_chart(forest: Forest, metric: str) -> alt.TopLevelMixin:
    """Left: means. Right, where seeds are shared: the paired difference, which is what decides."""
    title = f"{metric} on test, mean and 95 % interval"
    scale = alt.Scale(type="log" if forest.log else "linear", zero=False, nice=True, padding=10)
    base = _base(forest.best, forest, labels=True)
    tips = _tips("mean", "low", "high", "n")
    left = alt.layer(
        base.transform_filter("isValid(datum.start)")
        .mark_rule(strokeWidth=2, color=COLOURS[0])
        .encode(x=_axis("start", title, scale), x2="end:Q"),
        base.mark_point(size=70, filled=True, opacity=1, color=COLOURS[0]).encode(
            x=_axis("place", title, scale), tooltip=tips
        ),
        base.transform_filter("datum.mean != datum.place")
        .mark_text(align="left", dx=8, text="0 or below")
        .encode(x=_axis("place", title, scale)),
    ).properties(width=300 if forest.paired else 480, height=ROW * len(forest.order))
    return alt.hconcat(left, _differences(forest, metric), spacing=24) if forest.paired else left


def _differences(forest: Forest, metric: str) -> Any:
    title = f"{metric} {'lost against' if metric == 'accuracy' else 'above'} {forest.first}, paired by seed"
    base = _base(forest.behind, forest, labels=False)
    apart = alt.when("datum.separated == 'true'")
    tone = apart.then(alt.value(COLOURS[1])).otherwise(alt.value(GREY))
    shape = apart.then(alt.value("circle")).otherwise(alt.value("diamond"))
    tips = [*_tips("difference", "low", "high", "p_holm", "n"), alt.Tooltip("separated:N")]
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color=INK, strokeWidth=1)
    return alt.layer(
        zero.encode(x=_axis("zero", title)),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(x=_axis("low", title), x2="high:Q", color=tone),
        base.mark_point(size=70, filled=True, opacity=1).encode(
            x=_axis("difference", title), color=tone, shape=shape, tooltip=tips
        ),
    ).properties(width=300, height=ROW * len(forest.order))


def _base(table: pl.DataFrame, forest: Forest, *, labels: bool) -> alt.Chart:
    axis = alt.Axis(labelLimit=320, grid=True, labels=labels, ticks=labels)
    scale = alt.Scale(domain=forest.order)
    return alt.Chart(data(table)).encode(y=alt.Y("name:N", sort=forest.order, title=None, axis=axis, scale=scale))


def _axis(field: str, title: str, scale: alt.Scale | None = None) -> alt.X:
    axis = alt.Axis(format=NUMBER, tickCount=5, grid=False, labelOverlap=True)
    return alt.X(f"{field}:Q", title=title, axis=axis, scale=scale or alt.Undefined)


def _tips(*names: str) -> list[alt.Tooltip]:
    return [alt.Tooltip("name:N"), *(alt.Tooltip(f"{name}:Q", format=NUMBER) for name in names)]
