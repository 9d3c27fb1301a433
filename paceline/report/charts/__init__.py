"""Charts: functions table -> Vega-Lite through Altair, so that the page, the PNG and the PDF are one chart.

Each family has a helper that returns the numbers (a NamedTuple, tested without drawing) and a thin one that draws them.
"""

from collections.abc import Iterator

from paceline.record.reader import SCHEMA
from paceline.report.charts.confusion import confusion_chart, confusion_numbers
from paceline.report.charts.curves import caption, curve_chart, curve_numbers
from paceline.report.charts.forest import forest_chart, forest_numbers
from paceline.report.charts.look import Figure, spans_decades, spec
from paceline.report.charts.multiples import multiples_chart, multiples_numbers
from paceline.report.charts.scaling import scaling_figures
from paceline.report.charts.timing import OVER_TIME, along, bar_chart, bar_numbers, over_time
from paceline.report.charts.tuned import heat_chart, heat_numbers, sensitivity_chart, sensitivity_numbers
from paceline.report.facts import Facts
from paceline.report.names import plain
from paceline.report.scaling.runs import Scaled
from paceline.spec.run import NOISE

PARAMETERS = 6  # drawn at most
AXES = 4  # tuned axes with charts of their own

__all__ = ["Figure", "charts", "spec"]


def charts(facts: Facts, scaled: Scaled | None = None) -> tuple[Figure, ...]:
    """Every chart that the study's figures allow, the answer first."""
    if not facts.rows.height:
        return ()
    return (
        *_forest(facts),
        *(scaling_figures(scaled) if scaled else ()),
        *_phases(facts),
        *_curves(facts),
        *_tuned(facts),
        *_multiples(facts),
        *_confusion(facts),
        *_over_time(facts),
    )


def _forest(facts: Facts) -> Iterator[Figure]:
    if found := forest_numbers(facts):
        metric = facts.columns.metric
        left = f" The best {len(found.order)} of {len(found.order) + found.left_out}." if found.left_out else ""
        right = " Right: the difference from the first, seed by seed; orange is separated, a grey diamond is not."
        right = right if found.paired else ""
        said = (
            "Mean and 95 % interval over seeds" if found.best["low"].is_not_null().any() else "One seed: no intervals"
        )
        text = f"{said}.{right}{left}"
        yield Figure("best", "Each compared setting at its best", text, forest_chart(found, metric))


def _curves(facts: Facts) -> Iterator[Figure]:
    losses = facts.rows["loss"]
    wanted = [("accuracy", False), ("loss", False), ("loss", spans_decades(losses.filter(losses > 0), 1.0))]
    for y, log in dict.fromkeys(wanted):
        yield from _curve(facts, y, "step", log=log)
    if facts.exclusive:
        yield from _curve(facts, facts.columns.metric, "seconds", log=facts.columns.metric == "loss" and wanted[-1][1])
    extras = [
        name
        for name in facts.rows.columns
        if name not in SCHEMA and "memory" not in name and "bytes" not in name and name not in NOISE
    ]
    for name in extras[:PARAMETERS]:
        yield from _curve(facts, name, "step")


def _curve(facts: Facts, y: str, x: str, *, log: bool = False) -> Iterator[Figure]:
    if found := curve_numbers(facts, y, x, log=log):
        kind = f"log {y}" if log else y
        against = "steps" if x == "step" else "seconds of training"
        title = f"{'Parameter ' + y if y not in SCHEMA else plain(kind).capitalize()} against {against}"
        key = f"{kind}-{x}".replace(" ", "-").replace("_", "-")
        yield Figure(key, title, caption(found, facts), curve_chart(found, y, x))


def _tuned(facts: Facts) -> Iterator[Figure]:
    metric = facts.columns.metric
    for axis in list(facts.sensitivity)[:AXES]:
        others = " Other tuned axes at their best." if len(facts.columns.tune) > 1 else ""
        name = plain(axis)
        if found := sensitivity_numbers(facts, axis):
            lost = " × at the foot: no seed gave a value." if found.lost.height else ""
            text = f"Mean and 95 % interval over seeds at each value of {name}.{lost}{others}"
            yield Figure(f"sensitivity-{axis}", f"Sensitivity to {name}", text, sensitivity_chart(found, axis, metric))
        if heat := heat_numbers(facts, axis):
            left = f" The best {len(heat.rows)} of {len(heat.rows) + heat.left_out}." if heat.left_out else ""
            text = f"Mean {metric} over seeds, best settings on top; div.: every seed diverged.{left}{others}"
            yield Figure(f"heat-{axis}", f"Compared settings x {name}", text, heat_chart(heat, axis, metric))


def _multiples(facts: Facts) -> Iterator[Figure]:
    metric = facts.columns.metric
    if found := multiples_numbers(facts, metric):
        left = f" The best {len(found.order)} of {len(found.order) + found.left_out}." if found.left_out else ""
        text = f"A panel a compared setting; blue at its best tuned value, grey at the others; means over seeds.{left}"
        yield Figure("multiples", f"{metric.capitalize()} of every tuned value", text, multiples_chart(found, metric))


def _confusion(facts: Facts) -> Iterator[Figure]:
    if facts.wrong and (found := confusion_numbers(facts.wrong)):
        few = f" The {len(found.order)} most confused of {len(found.order) + found.left_out} classes."
        text = (
            f"{facts.wrong.setting}, counts on test summed. Colour: share of the truth's examples; right answers are "
            f"outlined.{few if found.left_out else ''}"
        )
        yield Figure("confusion", "What each class was taken for", text, confusion_chart(found))


def _phases(facts: Facts) -> Iterator[Figure]:
    if facts.usage and (bars := bar_numbers(facts.usage)):
        left = f" The best {len(bars.order)} of {len(bars.order) + bars.left_out}." if bars.left_out else ""
        text = f"Of each compared setting; other is Python between the phases.{left}"
        yield Figure("phases", "Where the time goes", text, bar_chart(bars))


def _over_time(facts: Facts) -> Iterator[Figure]:
    for what in OVER_TIME if facts.usage else ():
        if found := over_time(facts, what):
            left = (
                "" if len(found.order) == facts.best.height else " Settings with fewer than two readings are left out."
            )
            title = f"{what[0].upper()}{what[1:]} over time"
            key = what.partition(" (")[0].replace(" ", "-")
            yield Figure(key, title, f"{caption(found, facts)}{left}", curve_chart(found, what, along(facts)))
