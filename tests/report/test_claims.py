"""Claims judged on records with known answers: adam 0.95 and rmsprop 0.949 are tied, gd at 0.80 is worse."""

import json
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import paceline
from paceline.gallery import gallery
from paceline.record.layout import StudyFolder
from paceline.report.answer import answer
from paceline.report.claims import claims, summary
from paceline.report.facts import gather
from paceline.report.selection import settings

from .recorded import DIGITS, learning, made

ADAM, GD, RMSPROP = ({"optimizer": name} for name in ("adam", "gd", "rmsprop"))


def judged(claim: dict[str, Any], **how: Any):
    study = made(how.pop("text", DIGITS), how.pop("row", learning), **how)
    said = {"findings": [{"finding": "so", **claim}]}
    return claims(gather(with_published(study, said)))[0]


def with_published(results, said):
    return replace(results, study=results.study.model_copy(update={"published": said}))


@pytest.mark.parametrize(
    ("claim", "verdict", "words"),
    [
        ({"order": [ADAM, GD]}, "reproduced", "adam at lr 0.01 is ahead of gd at lr 0.01 by 0.15"),
        ({"order": [GD, ADAM]}, "contradicted", "adam at lr 0.01 is ahead of gd"),
        ({"order": [ADAM, RMSPROP]}, "not separated", "more seed"),
        ({"order": [ADAM, GD], "within": 0.5}, "not separated", ""),
        ({"order": [ADAM, GD], "by": 0.15}, "reproduced", ""),
        ({"order": [ADAM, GD], "by": 0.2}, "contradicted", "0.2 was claimed"),
        ({"order": [ADAM, RMSPROP], "by": 0.1}, "contradicted", "0.1 was claimed"),
        ({"order": [ADAM, {"optimizer": "lion"}]}, "not testable here", "nothing was measured here of optimizer lion"),
        ({"worst": GD}, "reproduced", "the nearest, by"),
        ({"worst": ADAM}, "contradicted", "is ahead of gd"),
        ({"best": ADAM}, "not separated", "not separated from rmsprop"),
        ({"best": {"optimizer": ["adam", "rmsprop"]}}, "reproduced", "is ahead of gd"),
        ({"best": GD}, "contradicted", "is ahead of gd"),
        ({"best": ADAM, "among": {"optimizer": ["gd", "adam"]}}, "reproduced", "is ahead of gd"),
        ({"worst": RMSPROP, "among": {"optimizer": "adam"}}, "not separated", "not separated from adam"),
        ({"best": {"optimizer": "adam", "lr": 0.01}}, "reproduced", "adam at lr 0.1, the nearest"),
        ({"best": {"optimizer": "adam", "lr": 0.1}}, "contradicted", "adam at lr 0.01 is ahead of adam at lr 0.1"),
        ({"alike": [ADAM, RMSPROP], "within": 0.05}, "reproduced", "0.05 was allowed"),
        ({"alike": [ADAM, GD], "within": 0.05}, "contradicted", "is ahead of gd at lr 0.01 by 0.15"),
        ({"untestable": "no GPU"}, "not testable here", "no GPU"),
        ({"faster": [ADAM, GD]}, "not testable here", "no speed was recorded"),
    ],
)
def test_a_claim_is_judged_by_what_was_measured(claim, verdict, words):
    found = judged(claim)
    assert found.verdict == verdict, found
    assert words in found.why


def test_one_seed_decides_nothing():
    found = judged(
        {"order": [ADAM, GD]}, row=lambda trial, step: learning(trial, step) if trial.run.seed == 0 else None
    )
    assert (found.verdict, "one seed" in found.why) == ("not testable here", True)


def test_what_is_asked_is_answered_by_yes_or_no():
    said = {"findings": [{"asked": "is it?", "order": [ADAM, GD]}, {"asked": "or that?", "order": [GD, ADAM]}, "words"]}
    found = claims(gather(with_published(made(DIGITS, learning), said)))
    assert [claim.verdict for claim in found] == ["yes", "no", ""]
    assert summary(["yes", "no", "yes"]) == "2 yes, 1 no"
    tied = {"findings": [{"asked": "is it?", "order": [ADAM, RMSPROP]}]}
    assert claims(gather(with_published(made(DIGITS, learning), tied)))[0].verdict == "open"


def fitted(trial, step):
    """Losses that begin at 10; gd and adam end as good as zero, rmsprop at 0.1."""
    ends = {"gd": 1e-9, "adam": 1e-7, "rmsprop": 0.1}
    return {"loss": ends[trial.run.optimizer.name] * (1 + trial.run.seed / 100) if step else 10.0}


def test_losses_as_good_as_zero_are_not_told_apart():
    assert judged({"order": [GD, RMSPROP]}, row=fitted).verdict == "reproduced"
    found = judged({"order": [GD, ADAM]}, row=fitted)
    assert (found.verdict, "a millionth of the loss at the start" in found.why) == ("not separated", True), found
    assert judged({"best": GD}, row=fitted).verdict == "not separated"
    assert judged({"worst": RMSPROP}, row=fitted).verdict == "reproduced"


def test_a_claim_that_cannot_be_read_says_what_can():
    found = judged({"bset": ADAM})
    assert (found.verdict, "Did you mean 'best'?" in found.why) == ("not judged", True)
    assert "one of best, worst, order" in judged({"by": 1}).why


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ({"order": [ADAM]}, "order names two settings or more"),
        ({"best": "adam"}, "best names one setting, each as {optimizer: adam}"),
        ({"alike": [ADAM, GD, RMSPROP]}, "alike names two settings"),
        ({"best": ADAM, "among": "gd"}, "among names settings as {case: [a, b]}, not 'gd'"),
        ({"gains_more": [[ADAM, GD]]}, "gains_more names two pairs of settings"),
        ({"order": [ADAM, GD], "within": "1 %"}, "within is a number, not '1 %'"),
        ({"faster": [ADAM, GD], "by": None}, "by is a number, not None"),
    ],
)
def test_a_claim_of_another_shape_is_not_judged(claim, words):
    found = judged(claim)
    assert found.verdict == "not judged"
    assert words in found.why


def test_a_smaller_size_leaves_a_claim_on_the_full_one_open():
    claim = {"order": [ADAM, GD], "size": "full"}
    assert judged(claim).verdict == "reproduced"
    assert judged(claim, scale="quick") == (
        "so",
        False,
        "not testable here",
        "it is of the full study; here: the size 'quick'",
    )


def test_a_size_with_fewer_settings_and_seeds_judges_those():
    order, worst = {"order": [ADAM, GD], "size": "full"}, {"worst": GD, "size": "full"}
    assert judged(order, scale="part", part=True).verdict == "reproduced"
    assert judged(worst, scale="part", part=True).why == "it is of all settings; here: the size 'part'"
    assert judged(order, scale="short").verdict == "not testable here"


@pytest.mark.parametrize(
    ("recorded", "verdict"), [("NVIDIA A100-SXM4-80GB", "reproduced"), ("cpu", "not testable here")]
)
def test_a_claim_of_gpus_is_judged_by_gpus(recorded, verdict, tmp_path):
    folder = StudyFolder(tmp_path)
    folder.pack("p").path.mkdir()
    folder.pack("p").machine.write_text(json.dumps({"format": 1, "device": recorded}))
    said = {"findings": [{"finding": "so", "order": [ADAM, GD], "device": "cuda"}]}
    results = made(DIGITS, learning)
    results = replace(results, runs=results.runs.with_columns(pack=pl.lit("p")))
    found = claims(gather(with_published(results, said), folder=tmp_path))[0]
    assert found.verdict == verdict
    assert ("claimed of cuda; on cpu, adam at lr 0.01 is ahead of gd" in found.why) == (recorded == "cpu")


def test_diverged_runs_fail_and_the_others_learn():
    def status(trial):
        return "diverged" if trial.axes["lr"] == 0.1 and trial.axes["optimizer"] == "gd" else "done"

    assert judged({"fails": {"optimizer": "gd", "lr": 0.1}}, status=status).verdict == "reproduced"
    assert judged({"fails": {"optimizer": "gd", "lr": [0.1, 0.01]}}, status=status).verdict == "contradicted"
    assert judged({"learns": {"optimizer": "gd", "lr": 0.01}}, status=status).verdict == "reproduced"
    assert judged({"learns": {"optimizer": "gd", "lr": 0.1}}, status=status).verdict == "contradicted"


def tops(**optimizers: float):
    return lambda trial, step: learning(trial, step, optimizers)


def ends(*optimizers: str, status: str = "diverged", when=lambda trial: True):
    """How runs end: those of these optimizers by `status`."""
    return lambda trial: status if trial.run.optimizer.name in optimizers and when(trial) else "done"


@pytest.mark.parametrize(
    ("claim", "how", "verdict"),
    [
        ({"worst": GD}, ends("gd"), "reproduced"),
        ({"worst": RMSPROP}, ends("gd"), "contradicted"),
        ({"worst": GD}, ends("gd", "rmsprop"), "not separated"),
        ({"best": GD}, ends("gd"), "contradicted"),
        ({"best": {"optimizer": ["adam", "rmsprop"]}}, ends("gd"), "not testable here"),
        ({"best": ADAM}, ends("gd", "adam", "rmsprop"), "not testable here"),
        ({"best": ADAM}, ends("rmsprop", status="queued"), "not testable here"),
        ({"worst": {"optimizer": "gd", "lr": 0.1}}, ends("gd", when=lambda t: t.axes["lr"] == 0.1), "reproduced"),
        ({"order": [ADAM, GD]}, ends("gd"), "not testable here"),
    ],
)
def test_what_diverged_is_worse_than_what_did_not_and_what_has_not_ended_is_not_judged(claim, how, verdict):
    found = judged(claim, status=how)
    assert found.verdict == verdict, found


GRID = """
name: grid
question: Which is best?
base: {data: digits, model: softmax, lr: 0.01, steps: 100, evaluate_every: 10}
cases: {big: {batch: 50}, small: {batch: 10}}
compare: {optimizer: [gd, adam]}
repeat: 4
"""


def harder(trial, step):
    """The small batch costs 0.3; adam is 0.05 better than gd at both."""
    row = learning(trial, step, {"gd": 0.85, "adam": 0.9})
    return row | {"accuracy": row["accuracy"] - (0.3 if trial.case == "small" and step else 0.0)}


def test_values_are_paired_by_every_case_and_axis_that_a_claim_leaves_open():
    lost = ends("gd", when=lambda trial: trial.case == "small")
    whole, part = (judged({"order": [ADAM, GD]}, text=GRID, row=harder, status=s) for s in (ends(), lost))
    assert (whole.verdict, part.verdict) == ("reproduced", "reproduced")
    assert "n = 4)" in whole.why
    assert "n = 4)" in part.why


def test_the_same_list_on_both_sides_leaves_an_axis_open():
    both = {"case": ["big", "small"]}
    found = judged({"order": [{**ADAM, **both}, {**GD, **both}]}, text=GRID, row=harder)
    open_ = judged({"order": [ADAM, GD]}, text=GRID, row=harder)
    assert found.verdict == "reproduced"
    assert found.why.partition(" by ")[2] == open_.why.partition(" by ")[2]


def test_one_seed_of_several_settings_is_one_seed():
    found = judged({"order": [ADAM, GD]}, text=GRID.replace("repeat: 4", "repeat: 1"), row=harder)
    assert (found.verdict, "one seed" in found.why) == ("not testable here", True)


def test_speeds_are_paired_by_what_a_claim_leaves_open():
    """The big batch is ten times as fast, the optimizers are not; adam failed on the small one."""
    failed = ends("adam", status="failed", when=lambda trial: trial.case == "small")
    results = made(GRID, harder, status=failed)
    rate = pl.when(pl.col("case") == "big").then(1000.0).otherwise(100.0) + pl.col("seed")
    results = replace(results, runs=results.runs.with_columns(rate.alias("samples_per_second")))
    found = claims(gather(with_published(results, {"findings": [{"finding": "so", "faster": [ADAM, GD]}]})))[0]
    assert found.verdict == "not separated", found


@pytest.mark.parametrize(
    ("claim", "verdict", "words"),
    [
        ({"order": [ADAM, GD], "of": "validation_accuracy"}, "reproduced", "in validation_accuracy"),
        ({"order": [ADAM, GD], "of": "validation_loss"}, "not testable here", "no validation_loss was measured"),
        ({"order": [ADAM, GD], "of": "acuracy"}, "not judged", "of is one of accuracy, validation_accuracy"),
        ({"order": [ADAM, GD], "of": ["loss"]}, "not judged", "of is one of"),
        (
            {"worsens": [ADAM], "of": "epochs to stable"},
            "not testable here",
            "whether epochs to stable worsens is not judged",
        ),
        ({"worsens": [ADAM], "of": "loss"}, "contradicted", "0 of 4 curves of loss worsen, 4 end at their best"),
        (
            {"order": [ADAM, GD], "of": "accuracy at first"},
            "reproduced",
            "is above gd at lr 0.01 in accuracy at first, by",
        ),
        ({"ends": [GD], "of": "gap", "at_most": 0.9}, "not testable here", "no gap was measured of gd"),
        ({"order": [ADAM, GD], "of": "detour of b"}, "not testable here", "no detour of b was measured"),
        ({"best": [ADAM]}, "not separated", "rmsprop"),
        ({"worsens": [ADAM]}, "contradicted", "0 of 4 curves"),
        ({"order": [ADAM, {"optimizer": "adam", "lr": 0.01}]}, "not testable here", "both sides name the same setting"),
        ({"alike": [ADAM, ADAM]}, "not testable here", "both sides name the same setting"),
        ({"fails": [{"optimizer": "adam", "lr": 0.1}, GD]}, "contradicted", "4 of 4 seeds"),
        ({"faster": [{**ADAM, "devices": 2}, {**ADAM, "devices": 1}]}, "not testable here", "does not vary devices"),
        ({"order": [GD, ADAM, {"optimizer": "lion"}]}, "contradicted", "adam at lr 0.01 is ahead of gd"),
        ({"best": {"lr": 0.01}}, "reproduced", ""),
        ({"best": {"optimizer": ["adam", "rmsprop"]}, "within": 0.5}, "not separated", ""),
    ],
)
def test_odd_claims_are_judged_or_refused(claim, verdict, words):
    found = judged(claim)
    assert found.verdict == verdict, found
    assert words in found.why


def test_unfinished_runs_have_no_loss():
    cut = ends("gd", status="interrupted", when=lambda trial: trial.run.seed > 0)
    found = judged({"order": [ADAM, GD], "of": "loss"}, status=cut)
    assert (found.verdict, "one seed" in found.why) == ("not testable here", True)


def test_a_tuned_value_worsens_by_its_own_curves():
    def row(trial, step):
        falls = 0.25 * step / 100 if trial.axes["lr"] == 0.1 else 0.0
        found = learning(trial, step)
        return found | {name: found[name] - falls for name in ("accuracy", "validation_accuracy")}

    assert judged({"worsens": {"optimizer": "adam", "lr": 0.1}}, row=row).verdict == "reproduced"
    assert judged({"worsens": ADAM}, row=row).verdict == "contradicted"
    assert judged({"worsens": {"optimizer": "adam", "lr": 0.1}, "of": "loss"}, row=row).verdict == "contradicted"
    short = judged({"worsens": ADAM}, row=row, steps=range(0, 101, 50))
    assert (short.verdict, short.why) == ("not testable here", "the curves are too short to tell")


def test_learning_is_judged_by_most_seeds_of_curves_long_enough():
    one_of_four = ends("gd", when=lambda trial: trial.run.seed < 1)
    assert judged({"learns": GD}, status=one_of_four).verdict == "not separated"
    five = {"text": DIGITS.replace("repeat: 4", "repeat: 5"), "status": one_of_four}
    assert judged({"learns": GD}, **five).verdict == "reproduced"
    assert judged({"fails": GD}, **five).verdict == "contradicted"
    short = judged({"learns": GD}, steps=range(0, 101, 50))
    assert (short.verdict, short.why) == ("not testable here", "the curves are too short to tell")
    one = judged({"learns": GD}, status=ends("gd", status="queued", when=lambda trial: trial.run.seed > 0))
    assert (one.verdict, "one seed" in one.why) == ("not testable here", True)


@pytest.mark.parametrize(("least", "far"), [(-5.0, -4.5), (1e-12, 1e-8)])
def test_losses_below_zero_or_as_good_as_zero_have_no_multiples(least, far):
    def row(trial, step):
        end = least if trial.axes["lr"] == 0.01 else far
        return {"loss": 100.0 * 0.5**step + end, "accuracy": None}

    text = DIGITS.replace("data: digits", "data: line").replace("model: softmax", "model: line, loss: mse")
    assert judged({"learns": {"optimizer": "adam", "lr": 0.1}}, text=text, row=row).verdict == "reproduced"


SPEEDS = {"adam": 200.0, "gd": 100.0, "rmsprop": 101.0}


def timed(speeds=SPEEDS, timing="exclusive"):
    results = made(DIGITS, learning, timing=timing)
    wobble = 1 + 0.01 * (pl.col("seed").cast(pl.Float64) % 2)
    rate = pl.col("optimizer").replace_strict(speeds, return_dtype=pl.Float64) * wobble
    return replace(results, runs=results.runs.with_columns(rate.alias("samples_per_second")))


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ({"faster": [ADAM, GD]}, "reproduced"),
        ({"faster": [GD, ADAM]}, "contradicted"),
        ({"faster": [ADAM, GD], "by": 1.9}, "reproduced"),
        ({"faster": [ADAM, GD], "by": 3}, "contradicted"),
        ({"faster": [RMSPROP, GD], "at_most": 1.1}, "reproduced"),
        ({"faster": [ADAM, GD], "at_most": 1.1}, "contradicted"),
        ({"gains_more": [[ADAM, GD], [GD, RMSPROP]]}, "reproduced"),
        ({"gains_more": [[GD, RMSPROP], [ADAM, GD]]}, "contradicted"),
    ],
)
def test_speeds_are_judged_seed_by_seed(claim, verdict):
    found = claims(gather(with_published(timed(), {"findings": [{"finding": "so", **claim}]})))[0]
    assert found.verdict == verdict, found


def test_times_of_runs_that_shared_the_machine_decide_nothing():
    said = {"findings": [{"finding": "so", "faster": [ADAM, GD]}]}
    found = claims(gather(with_published(timed(timing="stacked"), said)))[0]
    assert (found.verdict, "not timed alone" in found.why) == ("not testable here", True)


def test_the_report_has_them_in_a_table():
    said = {"source": "A", "findings": [{"finding": "adam beats gd", "order": [ADAM, GD]}]}
    table = answer(with_published(made(DIGITS, learning), said)).table("claims")
    assert table.select("claim", "verdict").rows() == [("adam beats gd", "reproduced")]


@pytest.mark.parametrize(
    ("optimizer", "accuracy", "verdict"),
    [("adam", 0.95, "reproduced"), ("gd", 0.80, "reproduced"), ("gd", 0.95, "contradicted")],
)
def test_a_published_figure_is_judged_as_one_more_run(optimizer, accuracy, verdict):
    said = {"rows": [{"optimizer": optimizer, "accuracy": accuracy}]}
    table = answer(with_published(made(DIGITS, learning), said)).table("published")
    assert table["accuracy verdict"].to_list() == [verdict]
    unlike = answer(with_published(made(DIGITS, learning), {**said, "unlike": "other data"})).table("published")
    assert unlike["accuracy verdict"].to_list() == ["not testable here: other data"]


@pytest.mark.parametrize(
    "said",
    [
        {"findings": 3},
        {"rows": 5},
        {"rows": {"optimizer": "adam", "accuracy": 0.9}},
        {"rows": [{"optimizer": "adam", "accuracy": True}, {"optimizer": "gd", "accuracy_percent": True}]},
        "words",
        7,
    ],
)
def test_published_of_odd_shapes_does_no_harm(said):
    assert answer(with_published(made(DIGITS, learning), said)).sheets


@pytest.mark.parametrize(
    ("timing", "measure", "shows"),
    [("exclusive", "time", True), ("stacked", "time", False), ("exclusive", "accuracy", False)],
)
def test_published_times_stand_beside_seconds_that_were_timed_alone(timing, measure, shows):
    said = {"rows": [{"optimizer": "gd", "minutes on a GPU": 3, "epochs to stable": 2}]}
    results = made(DIGITS, learning, timing=timing)
    results = replace(results, study=results.study.model_copy(update={"measure": measure}))
    table = answer(with_published(results, said)).table("published")
    assert ("measured seconds" in table.columns) is shows
    assert table["measured epochs to stable"][0].endswith("of 4 runs stable)")


def test_half_a_point_is_the_most_that_rounding_explains():
    said = {"rows": [{"optimizer": "gd", "accuracy": 1}, {"optimizer": "gd", "accuracy_percent": 80}]}
    table = answer(with_published(made(DIGITS, learning), said)).table("published")
    assert table["accuracy verdict"].to_list() == ["contradicted", "reproduced"]


def test_a_figure_in_quotes_keeps_its_last_digit():
    """A loss near 0.21 is 0.2 but not 0.20; words are no figure."""
    said = {"rows": [{"optimizer": "gd", "loss": written} for written in (0.2, "0.2", "0.20", "low")]}

    def row(trial, step):
        return learning(trial, step) | {"loss": 0.214 + 1e-4 * (trial.run.seed % 2)}

    table = answer(with_published(made(DIGITS, row), said)).table("published")
    assert table["loss verdict"].to_list() == ["reproduced", "reproduced", "contradicted", None]


def test_an_interval_that_holds_everything_reproduces_nothing():
    said = {"rows": [{"optimizer": "gd", "accuracy": 0.9}, {"optimizer": "gd", "accuracy": 0.2}]}

    def row(trial, step):
        return learning(trial, step, {"gd": 0.8 + 0.05 * (trial.run.seed % 2)})

    table = answer(with_published(made(DIGITS, row), said)).table("published")
    assert [verdict.partition(":")[0] for verdict in table["accuracy verdict"]] == ["not separated", "contradicted"]


def named(item: Any) -> list[dict[str, Any]]:
    """The settings that a finding names."""
    if isinstance(item, list):
        return [row for each in item for row in named(each)]
    return [item] if isinstance(item, dict) else []


KINDS = ("best", "worst", "order", "alike", "fails", "learns", "worsens", "faster", "gains_more")


@pytest.mark.parametrize("name", list(gallery()))
def test_every_claim_of_the_gallery_names_settings_of_its_study(name: str):
    said = paceline.load(name).published or {}
    rows = [
        r for f in said.get("findings", ()) if isinstance(f, dict) for kind in KINDS for r in named(f.get(kind, ()))
    ]
    assert all({"finding", "asked"} & f.keys() for f in said.get("findings", ()) if isinstance(f, dict))
    if not rows:
        return
    said = [paceline.load(name, scale=scale).model_dump(mode="json") for scale in (None, *paceline.load(name).scales)]
    sizes = [gather(made(json.dumps(study), learning, steps=range(0, 101, 50))) for study in said]
    for row in rows:
        assert any(settings(facts, row).height for facts in sizes), row


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [
        ({"at_least": 0.9}, "reproduced"),
        ({"at_least": 0.95}, "not separated"),
        ({"at_most": 0.9}, "contradicted"),
        ({"at_most": 0.2, "of": "loss"}, "reproduced"),
        ({}, "not judged"),
    ],
)
def test_where_settings_end(bound: dict[str, Any], verdict: str):
    found = judged({"ends": [ADAM, RMSPROP], **bound})
    assert found.verdict == verdict, found


def test_an_order_of_many_is_corrected_for_their_number():
    """A pair that is separated by itself is not, as one of nine of which the others are equal."""

    def lines(trial, step):
        noise = 0.002 * ((7 * trial.run.seed + trial.run.batch) % 4)
        return learning(trial, step) | {"accuracy": 0.9 + noise + (0.009 if trial.run.batch == 1 else 0) * (step > 0)}

    text = DIGITS.replace("compare: {optimizer: [gd, adam, rmsprop]}", f"compare: {{batch: {list(range(1, 11))}}}")
    text = text.replace("base: {", "base: {optimizer: adam, ")
    rows = [{"batch": batch} for batch in range(1, 11)]
    alone, among = (judged({"order": named}, row=lines, text=text) for named in (rows[:2], rows))
    assert (alone.verdict, among.verdict) == ("reproduced", "not separated"), (alone, among)


def test_training_accuracy_is_judged_where_a_claim_is_of_it():
    def trained(trial, step):
        return learning(trial, step) | {"train_accuracy": 0.99 if trial.run.optimizer.name == "adam" else 0.9}

    found = judged({"ends": ADAM, "of": "gap", "at_least": 0.02}, row=trained)
    assert (found.verdict, found.why[:25]) == ("reproduced", "adam at lr 0.01: gap 0.04")
    found = judged({"worsens": ADAM, "of": "train_accuracy"}, row=trained)
    assert (found.verdict, found.why) == ("contradicted", "0 of 4 curves of train accuracy worsen, 4 end at their best")


def test_curves_that_never_become_stable_are_not_dropped():
    """Of gd every second curve rises to the end."""

    def rising(trial, step):
        slow = trial.run.optimizer.name == "gd" and trial.run.seed % 2
        values = dict.fromkeys(("accuracy", "validation_accuracy"), 0.1 + step / 500)
        return learning(trial, step) | (values if slow else {})

    for claim in ({"order": [ADAM, GD]}, {"best": ADAM}, {"ends": GD, "at_most": 100}):
        found = judged({**claim, "of": "epochs to stable"}, row=rising, steps=range(0, 301, 10))
        assert found.verdict == "not testable here"
        assert "curves became stable at no epoch or fell back (of gd at lr 0.01)" in found.why
    bound = {"ends": ADAM, "of": "epochs to stable", "at_most": 100}
    found = judged(bound, row=rising, steps=range(0, 301, 10))
    assert (found.verdict, "is stable after" in found.why) == ("reproduced", True)
