"""The numbers behind the charts, without drawing; then that what is drawn is a chart and no blank."""

import itertools
import json
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.report.answer import answer
from paceline.report.charts import charts, spec
from paceline.report.charts.curves import CONTEXT, CONTEXT_POINTS, POINTS, curve_numbers
from paceline.report.charts.forest import forest_numbers
from paceline.report.charts.labels import pixels, spread
from paceline.report.charts.look import COLOURS, DASHES, HEIGHT, HIGHLIGHTED, INK, LABEL, shortened, spans_decades
from paceline.report.charts.multiples import multiples_numbers
from paceline.report.charts.picture import picture
from paceline.report.charts.tuned import heat_numbers, sensitivity_numbers
from paceline.report.thin import thin

from .recorded import DIGITS, learning, made


@pytest.fixture(scope="module")
def facts():
    return answer(made(DIGITS, learning)).facts


def test_thinning_keeps_first_last_and_every_extreme():
    x = range(10_000)
    y = [float(i % 7) for i in x]
    y[4321], y[8765] = 1000.0, -1000.0
    table = pl.DataFrame({"run": "a", "x": x, "y": y})
    few = thin(table, "run", "x", ["y"], 100)
    assert few.height <= 104
    assert {0, 4321, 8765, 9999} <= set(few["x"])
    assert few["x"].is_sorted()


def test_thinning_leaves_short_series_whole():
    table = pl.DataFrame({"run": ["a"] * 5 + ["b"] * 200, "x": [*range(5), *range(200)], "y": [1.0] * 205})
    few = thin(table, "run", "x", ["y"], 50)
    assert few.filter(run="a").height == 5
    assert few.filter(run="b").height <= 54


def test_thinning_of_several_values_keeps_the_extremes_of_each():
    table = pl.DataFrame(
        {
            "run": "a",
            "x": range(1000),
            "low": [float(-(i == 500)) for i in range(1000)],
            "high": [float(i == 600) for i in range(1000)],
        }
    )
    few = thin(table, "run", "x", ["low", "high"], 40)
    assert {500, 600} <= set(few["x"])


@pytest.mark.parametrize("wanted", [[10.0, 10.0, 10.0], [0.0, 1.0, 300.0, 319.0], [319.0] * 12, [150.0]])
def test_labels_keep_their_distance_and_their_order(wanted):
    places = spread(wanted, HEIGHT)
    assert all(0 <= place <= HEIGHT for place in places)
    ordered = sorted(places)
    assert all(b - a >= LABEL - 1e-9 for a, b in itertools.pairwise(ordered))
    assert sorted(range(len(wanted)), key=lambda i: (wanted[i], i)) == sorted(
        range(len(wanted)), key=lambda i: places[i]
    )


@given(st.lists(st.text("ab /", max_size=50), unique=True, max_size=12))
def test_shortened_labels_stay_apart(labels):
    names = shortened(labels)
    assert len(set(names)) == len(labels)
    assert all(name == label for name, label in zip(names, labels, strict=True) if len(label) <= 34 and "(" not in name)


def test_a_label_is_cut_where_that_keeps_what_tells_it_from_others():
    labels = [
        f"{net}, split by {what} / split_seed 0"
        for net in ("pre-trained", "from scratch")
        for what in ("photos", "copies")
    ]
    assert shortened(labels) == [
        "pre-trained,…photos / split_seed 0",
        "pre-trained,…copies / split_seed 0",
        "from scratch…photos / split_seed 0",
        "from scratch…copies / split_seed 0",
    ]


def test_a_label_is_cut_between_words():
    labels = [f"{rate} a device for the head / devices {n}" for rate in ("as the lab, 0.1", "0.001") for n in (1, 2)]
    for name, label in zip(shortened(labels), labels, strict=True):
        head, cut, tail = name.partition("…")
        assert {*head.split(), *tail.split()} <= set(label.split())
        assert cut or name == label


def test_pixels():
    assert pixels([0.0, 0.5, 1.0, 2.0], (0.0, 1.0), 100, log=False) == [100, 50, 0, 0]
    assert pixels([1.0, 10.0, 0.0], (1.0, 100.0), 100, log=True) == pytest.approx([100, 50, 100])


def test_decades():
    assert spans_decades(pl.Series([0.001, 0.1]))
    assert not spans_decades(pl.Series([0.01, 0.1]))
    assert not spans_decades(pl.Series([0.0, 100.0]))
    assert not spans_decades(pl.Series([], dtype=pl.Float64))


def test_a_line_is_the_mean_over_seeds_of_the_best_setting(facts):
    curves = curve_numbers(facts, "accuracy")
    assert curves.order == ["adam", "rmsprop", "gd"]
    runs = facts.runs.filter((pl.col("label") == "adam") & (pl.col("at") == "lr 0.01"))["run"]
    rows = facts.rows.filter(pl.col("run").is_in(runs.implode()), pl.col("step") == 100)["accuracy"]
    last = curves.lines.filter(pl.col("label") == "adam", pl.col("x") == 100).row(0, named=True)
    assert last["mean"] == pytest.approx(rows.mean())
    assert (last["low"], last["high"], last["n"]) == (pytest.approx(rows.min()), pytest.approx(rows.max()), 4)
    assert curves.others == 6
    assert curves.ends["label"].to_list() == ["adam", "rmsprop", "gd"], "labels stand in the order of the final value"
    assert curves.ends["text"][0] == f"adam  {rows.mean():.4g}"


def test_no_step_averages_survivors():
    def row(trial, step):
        return None if trial.run.seed == 0 and step > 50 else learning(trial, step)

    curves = curve_numbers(answer(made(DIGITS, row)).facts, "accuracy")
    assert curves.lines["x"].max() == 50
    assert set(curves.lines["n"]) == {4}


def test_a_run_that_has_just_begun_does_not_cut_the_line_of_those_that_ended():
    def row(trial, step):
        return None if trial.run.seed == 0 and step > 0 else learning(trial, step)

    found = made(DIGITS, row, status=lambda trial: "interrupted" if trial.run.seed == 0 else "done")
    curves = curve_numbers(answer(found).facts, "accuracy")
    assert curves.lines["x"].max() == 100
    assert set(curves.lines["n"]) == {3}


def test_a_diverged_line_does_not_flatten_the_others():
    def row(trial, step):
        blown = trial.run.optimizer.name == "gd" and trial.axes["lr"] == 0.1
        return learning(trial, step) | ({"loss": 10.0**step} if blown else {})

    curves = curve_numbers(answer(made(DIGITS, row)).facts, "loss")
    assert curves.domain[1] < 5


def test_zero_has_no_place_on_a_log_axis_but_is_said():
    ends = {"gd": 0.0, "adam": 1e-8, "rmsprop": 0.1}
    found = answer(made(DIGITS, lambda t, s: {"loss": ends[t.run.optimizer.name] if s == 100 else 2.0})).facts
    curves = curve_numbers(found, "loss", log=True)
    assert curves.lines["mean"].min() > 0
    assert curves.domain[0] > 0
    assert dict(curves.ends.select("label", "text").iter_rows())["gd"] == "gd  0"
    forest = forest_numbers(found)
    assert forest.log
    assert forest.best["place"].min() > 0
    assert forest.best["mean"].min() == 0


@pytest.fixture(scope="module")
def crowd():
    """500 runs: 50 compared settings, 5 tuned values, 2 seeds, 400 rows each."""
    text = DIGITS.replace(
        "compare: {optimizer: [gd, adam, rmsprop]}", f"compare: {{optimizer: [gd, adam], batch: {list(range(1, 26))}}}"
    )
    text = text.replace("[0.1, 0.01, 0.001]", "[0.1, 0.03, 0.01, 0.003, 0.001]").replace("repeat: 4", "repeat: 2")
    return answer(made(text, learning, steps=range(400))).facts


def test_500_runs_stay_legible(crowd):
    assert crowd.runs.height == 500
    curves = curve_numbers(crowd, "accuracy")
    assert len(curves.order) == HIGHLIGHTED
    assert curves.others == 242
    assert curves.drawn == CONTEXT
    assert curves.context["series"].n_unique() == CONTEXT
    assert curves.lines.group_by("label").len()["len"].max() <= POINTS + 6
    assert curves.context.group_by("series").len()["len"].max() <= CONTEXT_POINTS + 4
    assert forest_numbers(crowd).left_out == 10
    assert heat_numbers(crowd, "lr").left_out == 10
    assert multiples_numbers(crowd, "accuracy").left_out == 26
    assert len(json.dumps([spec(figure.chart) for figure in charts(crowd)])) < 3_000_000


def test_sensitivity_has_intervals_and_marks_what_was_lost():
    def status(trial):
        return "diverged" if trial.run.optimizer.name == "gd" and trial.axes["lr"] == 0.1 else "done"

    found = answer(made(DIGITS, learning, status=status)).facts
    numbers = sensitivity_numbers(found, "lr")
    assert numbers.log_x
    assert not numbers.log_y
    assert numbers.points.height == 8
    assert numbers.points["low"].null_count() == 0
    assert numbers.lost.rows() == [("gd", 0.1, 4, 0)]
    heat = heat_numbers(found, "lr")
    assert heat.columns == ["0.001", "0.01", "0.1"]
    assert heat.rows == ["adam", "rmsprop", "gd"]
    cells = dict(heat.cells.select(pl.concat_str("label", "x", separator=" "), "text").iter_rows())
    assert cells["gd 0.1"] == "div."
    assert cells["adam 0.01"] == "0.951"


def test_up_to_twelve_lines_have_their_labels_and_zero_its_place():
    text = DIGITS.replace(
        "compare: {optimizer: [gd, adam, rmsprop]}", f"compare: {{optimizer: [gd], batch: {list(range(1, 13))}}}"
    )
    found = answer(made(text, lambda t, s: {"loss": 0.0 if t.axes["lr"] == 0.01 else 10.0 ** -t.axes["batch"]})).facts
    numbers = sensitivity_numbers(found, "lr")
    assert len(numbers.order) == numbers.ends.height == 12
    assert numbers.log_y
    assert numbers.points["mean"].min() == pytest.approx(1e-12)


def test_forest_turns_differences_so_that_more_is_worse(facts):
    forest = forest_numbers(facts)
    assert forest.order[0] == "adam · lr 0.01"
    assert forest.paired
    assert (forest.behind["difference"] >= 0).all()
    assert forest.behind["separated"].to_list() == [False, True]
    loss = forest_numbers(answer(made(DIGITS, lambda t, s: {"loss": 2 - learning(t, s)["accuracy"]})).facts)
    assert (loss.behind["difference"] >= 0).all()


def test_multiples_have_a_panel_a_setting(facts):
    found = multiples_numbers(facts, "accuracy")
    assert [title.split()[0] for title in found.order] == ["adam", "rmsprop", "gd"]
    assert found.lines.filter(best=1)["series"].n_unique() == 3
    assert found.lines["series"].n_unique() == 9


def test_every_chart_is_there_once_and_valid(facts):
    figures = charts(facts)
    keys = [figure.key for figure in figures]
    assert keys == [
        "best",
        "accuracy-step",
        "loss-step",
        "log-loss-step",
        "accuracy-seconds",
        "sensitivity-lr",
        "heat-lr",
        "multiples",
    ]
    for figure in figures:
        figure.chart.to_dict()  # raises if Vega-Lite's schema does not hold


def test_words_as_tuned_values_have_charts_too():
    text = DIGITS.replace("tune: {lr: [0.1, 0.01, 0.001]}", "tune: {schedule: [constant, cosine]}").replace(
        "steps: 100,", "steps: 100, lr: 0.01,"
    )
    found = answer(made(text, learning))
    numbers = sensitivity_numbers(found.facts, "schedule")
    assert not numbers.numeric
    assert {"sensitivity-schedule", "heat-schedule"} <= {figure.key for figure in found.figures}


def test_colours_and_dashes_are_distinct_and_ink_follows_the_page(facts):
    assert len(set(COLOURS)) == len(COLOURS) == len(DASHES) == len({tuple(dash) for dash in DASHES})
    chart = charts(facts)[0].chart
    assert INK in json.dumps(spec(chart))
    assert INK not in json.dumps(spec(chart, "currentColor"))


def test_a_chart_is_the_same_picture_each_time_and_what_it_refers_to_is_its_own():
    drawn = [figure.chart for figure in answer(made(DIGITS, learning)).figures]
    pictures, again = ([picture(chart) for chart in drawn] for _ in range(2))
    assert pictures == again
    named = [set(re.findall(r'id="((?:clip|gradient)[^"]*)"', svg)) for svg in pictures]
    assert sum(map(bool, named)) >= 2
    assert len(set().union(*named)) == sum(map(len, named))
    assert all(set(re.findall(r"url\(#([^)]*)\)", svg)) <= own for svg, own in zip(pictures, named, strict=True))
