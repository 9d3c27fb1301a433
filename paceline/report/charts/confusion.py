"""The confusion matrix of the best setting: what each class was taken for."""

from typing import NamedTuple

import altair as alt
import polars as pl

from paceline.analyse.confusion import most_confused
from paceline.record.examined import MATRIX
from paceline.report.charts.look import GREY, INK, data, shortened
from paceline.report.wrong import Wrong

CLASSES = 20  # shown at most


class Confusion(NamedTuple):
    cells: pl.DataFrame  # truth, said (names), count, share (of the truth's examples), right (1 or 0), shade (0 to 1)
    order: list[str]  # the classes shown
    left_out: int  # classes that are not
    most: float  # the largest share of wrong answers, where the colours end


def confusion_numbers(wrong: Wrong) -> Confusion | None:
    """None where nothing was answered wrongly. With more than 20 classes, those that take part in most mistakes."""
    present = sorted({*wrong.matrix["truth"], *wrong.matrix["said"]})
    shown = present if len(present) <= CLASSES else most_confused(wrong.matrix, CLASSES)
    names = shortened((wrong.names[number] for number in shown), 22)
    named = dict(zip(shown, names, strict=True))
    counts = {(truth, said): count for truth, said, count in wrong.matrix.iter_rows()}
    every = [(truth, said, counts.get((truth, said), 0)) for truth in shown for said in shown]
    examples = wrong.matrix.group_by("truth").agg(pl.col("count").sum().alias("examples"))
    cells = (
        pl.DataFrame(every, schema=MATRIX, orient="row")
        .join(examples, on="truth", how="left")
        .with_columns(
            share=(pl.col("count") / pl.col("examples")).fill_null(0.0),
            right=(pl.col("truth") == pl.col("said")).cast(pl.Int64),
        )
    )
    most = cells.filter(pl.col("right") == 0)["share"].max()
    if not isinstance(most, float) or most <= 0:
        return None
    cells = cells.with_columns(
        pl.col("truth", "said").replace_strict(named, return_dtype=pl.String), shade=pl.col("share") / most
    )
    kept = cells.select("truth", "said", "count", "share", "right", "shade")
    return Confusion(kept, names, len(present) - len(shown), most)


def confusion_chart(found: Confusion) -> alt.TopLevelMixin:
    """Wrong answers in colour (cividis), right ones, which would outshine them, as outlined counts."""
    side = max(24, min(46, 560 // len(found.order)))
    base = alt.Chart(data(found.cells)).encode(
        x=alt.X("said:N", title="answer", sort=found.order, scale=alt.Scale(domain=found.order), axis=_axis(-45)),
        y=alt.Y("truth:N", title="truth", sort=found.order, scale=alt.Scale(domain=found.order), axis=_axis(0)),
        tooltip=["truth:N", alt.Tooltip("said:N", title="answer"), "count:Q", alt.Tooltip("share:Q", format=".1%")],
    )
    scale = alt.Scale(scheme="cividis", domain=[0, found.most], nice=False)
    legend = alt.Legend(
        title="share of truth", format=".1~%", gradientLength=min(200, side * len(found.order)), tickCount=4
    )
    wrong = base.transform_filter("datum.right == 0")
    right = base.transform_filter("datum.right == 1")
    text = (
        wrong.transform_filter("datum.count > 0")
        .mark_text(fontSize=10 if side > 26 else 9)
        .encode(text="count:Q", color=alt.condition("datum.shade < 0.5", alt.value("#ffffff"), alt.value("#000000")))
    )
    return alt.layer(
        wrong.mark_rect().encode(color=alt.Color("share:Q", scale=scale, legend=legend)),
        right.mark_rect(fill="transparent", stroke=GREY, strokeDash=[2, 2]),
        right.mark_text(fontSize=10 if side > 26 else 9, color=INK).encode(text="count:Q"),
        text,
    ).properties(width=side * len(found.order), height=side * len(found.order))


def _axis(angle: int) -> alt.Axis:
    return alt.Axis(labelAngle=angle, labelLimit=160, grid=False)
