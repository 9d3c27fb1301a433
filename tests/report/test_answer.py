"""The three sentences, the tables and the notes, on records with known answers and on poor ones."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from paceline.report.answer import Answer, answer
from paceline.report.methods import methods, totals
from paceline.report.names import columns, listed, with_labels

from .recorded import DIGITS, TOPS, learning, made


@pytest.fixture(scope="module")
def known() -> Answer:
    return answer(made(DIGITS, learning))


def test_the_first_sentence_names_the_best_with_value_interval_and_n(known):
    first = known.sentences[0]
    assert first.startswith("Highest of 3 is adam at lr 0.01: accuracy 0.951"), first
    assert "95 % interval" in first
    assert "n = 4 seeds" in first
    assert first.endswith("on test, lr chosen on validation.")


def test_the_second_names_ties_and_what_would_separate_them(known):
    second = known.sentences[1]
    assert second.startswith("Not separated from it")
    assert "rmsprop (about" in second
    assert "more seed" in second
    assert second.endswith("worse is gd.")


def test_the_third_says_how_the_runs_ended_and_who_was_fast(known):
    assert known.sentences[2].startswith("All 36 runs ended, none diverged; first to validation accuracy 0.94 is ")
    assert "(3 of 4 seeds)" in known.sentences[2]


def test_separated_from_all_is_best():
    apart = answer(made(DIGITS, lambda t, s: learning(t, s, TOPS | {"rmsprop": 0.9})))
    assert apart.sentences[0].startswith("Best is adam at lr 0.01")
    assert "separated from all 2 it was held against, the nearest rmsprop, by 0.0" in apart.sentences[1]
    assert apart.table("best")["stands"].to_list() == ["best", "worse", "worse"]


def test_the_tables_are_all_there(known):
    assert [s.key for s in known.sheets] == ["best", "pairs", "target", "verdicts", "stable", "settings", "runs"]
    best = known.table("best")
    assert best["optimizer"].to_list() == ["adam", "rmsprop", "gd"]
    assert best["stands"].to_list() == ["highest", "not separated", "worse"]
    assert best["lr"].to_list() == [0.01] * 3
    assert known.table("settings").height == 9
    assert known.table("runs").height == 36
    assert known.table("verdicts").select(pl.exclude("setting")).sum().transpose().sum().item() == 36
    with pytest.raises(KeyError, match="no table 'nothing' here; there are best, pairs"):
        known.table("nothing")


def test_one_seed_claims_nothing():
    one = answer(made(DIGITS.replace("repeat: 4", "repeat: 1"), learning))
    assert "(one seed, so no interval)" in one.sentences[0]
    assert not one.sentences[0].startswith("Best")
    assert one.sentences[1].startswith("With one seed a setting nothing is separated")
    assert any("--seeds 3" in note for note in one.notes)
    assert set(one.table("best")["stands"]) == {"one seed"}


def test_one_setting_is_no_comparison():
    text = "\n".join(line for line in DIGITS.splitlines() if not line.startswith(("compare", "tune")))
    alone = answer(made(text.replace("steps: 100,", "steps: 100, optimizer: adam, lr: 0.01,"), learning))
    assert alone.sentences[0].startswith("The one compared setting with a result is known: accuracy 0.9")
    assert "this is a measurement and no comparison" in alone.sentences[1]
    assert alone.table("best")["stands"].to_list() == ["the only one"]
    assert "setting" not in alone.table("best").columns


def test_tuned_alone_names_the_worst_of_the_tuned():
    text = DIGITS.replace("compare: {optimizer: [gd, adam, rmsprop]}", "").replace(
        "steps: 100,", "steps: 100, optimizer: adam,"
    )
    tuned = answer(made(text, learning))
    assert "known at lr 0.01" in tuned.sentences[0]
    assert "of 3 tuned values the least good is lr 0.001" in tuned.sentences[1]


def test_nothing_finished_says_so():
    none = answer(made(DIGITS, lambda t, s: None, status=lambda t: "queued"))
    assert none.sentences[0] == "There is no answer yet: none of 36 runs has ended."
    assert none.sentences[1] == "Without a finished run nothing can be compared."
    assert none.sentences[2] == "36 of 36 runs are not trained yet."
    assert none.figures == ()
    assert any("36 runs have not ended" in note for note in none.notes)


def test_why_runs_failed_is_said():
    found = made(DIGITS, learning, status=lambda t: "failed" if t.run.optimizer.name == "gd" else "done")
    why = pl.when(pl.col("status") == "failed").then(pl.lit("ValueError: 5 outputs\nfor 10 classes")).alias("reason")
    said = answer(replace(found, runs=found.runs.with_columns(why))).sentences[2]
    assert "12 of 36 runs failed (" in said
    assert "): ValueError: 5 outputs for 10 classes; " in said


def test_a_value_of_which_nothing_has_ended_is_named():
    waits = answer(made(DIGITS, learning, status=lambda t: "waiting" if t.run.optimizer.name == "gd" else "done"))
    assert waits.sentences[2].startswith("12 of 36 runs are not trained yet, among them all of gd; first to")


def test_all_diverged_is_a_result():
    lost = answer(
        made(DIGITS, lambda t, s: {"loss": 2.0 + s, "accuracy": 0.1} if s < 50 else None, status=lambda t: "diverged")
    )
    assert lost.sentences[0] == "No setting can be called best: of 36 runs that ended, 36 diverged."
    assert lost.sentences[2].startswith("36 of 36 runs diverged (gd at lr 0.1, ")
    assert set(lost.table("best")["stands"]) == {"no result"}
    assert lost.figures, "the curves up to the end are still drawn"


def test_a_setting_with_a_diverged_seed_ranks_behind_and_is_told():
    def status(trial):
        return "diverged" if trial.run.optimizer.name == "adam" and trial.run.seed == 0 else "done"

    part = answer(made(DIGITS, lambda t, s: learning(t, s, TOPS | {"rmsprop": 0.9}), status=status))
    assert part.table("best")["optimizer"].to_list()[0] == "rmsprop"
    assert part.table("best")["stands"].to_list()[-1] == "better, but incomplete"
    assert "adam did better, but not with all seeds" in part.sentences[1]
    assert part.sentences[0].startswith("Best of those that finished with all their seeds is ")
    assert "3 of 36 runs diverged (adam at lr 0.01" in part.sentences[2]
    assert any("Some seeds of adam" in note for note in part.notes)


def test_the_first_of_the_complete_is_not_the_best_where_another_is_tied():
    def status(trial):
        return "diverged" if trial.run.optimizer.name == "adam" and trial.run.seed == 0 else "done"

    tied = answer(made(DIGITS, lambda t, s: learning(t, s, TOPS | {"rmsprop": 0.9, "gd": 0.9}), status=status))
    assert tied.sentences[0].startswith("Highest of those that finished with all their seeds is ")
    assert tied.table("best")["stands"].to_list()[0] == "highest of the complete"


def test_the_edge_of_an_axis_is_suspicious():
    edge = answer(made(DIGITS.replace("[0.1, 0.01, 0.001]", "[0.01, 0.001]"), learning))
    assert "(lr 0.01)" in edge.sentences[2]
    assert "at the edge of what was tried" in edge.sentences[2]


def test_losses_alone_are_judged_by_loss_and_sameness_is_told():
    text = """
name: line
base: {data: line, model: line, loss: sum_squares, batch: 4, steps: 100, lr: 0.01}
compare: {optimizer: [gd, adam, rmsprop]}
repeat: 3
"""
    ends = {"gd": 1e-10, "adam": 0.004, "rmsprop": 0.0}
    line = answer(
        made(
            text,
            lambda t, s: {"loss": ends[t.run.optimizer.name] if s > 90 else 20.0 - s / 10, "W": -1.0, "b": s / 100},
        )
    )
    assert line.sentences[0] == "Lowest of 3 is rmsprop: loss 0 (the same for all 3 seeds) on test."
    assert "differences are exact" in line.sentences[1]
    assert "are rmsprop and gd; behind them adam (0.004)" in line.sentences[1]
    assert set(line.table("best")["stands"]) == {"exact"}, "no bold without noise to be above"
    assert {"parameter W", "parameter b"} <= {
        f.title.split(" against")[0].lower().replace(" w", " W") for f in line.figures
    }


def test_seconds_are_refused_when_runs_shared_the_machine():
    shared = answer(made(DIGITS, learning, timing="shared"))
    assert any(note.startswith("Seconds are not shown") and "shared" in note for note in shared.notes)
    assert "seconds" not in shared.table("target").columns
    assert " s (" not in shared.sentences[2]
    assert not [f.key for f in shared.figures if "seconds" in f.key]
    alone = answer(made(DIGITS, learning))
    assert "accuracy-seconds" in [f.key for f in alone.figures]


def test_cases_with_their_own_knobs():
    text = """
name: cases
base: {data: digits, model: softmax, steps: 100}
cases:
  plain: {optimizer: gd, lr: 0.1}
  heavy: {optimizer: adam, tune: {lr: [0.1, 0.01], optimizer.beta1: [0.8, 0.9]}}
repeat: 3
"""
    found = made(text, learning)
    assert columns(found.study, found.runs)[:2] == (["case"], ["lr", "optimizer.beta1"])
    said = answer(found)
    assert said.table("best")["case"].to_list() == ["heavy", "plain"]
    assert "heavy at lr 0.01, beta1" in said.sentences[0]


def test_an_axis_named_like_a_measured_column():
    text = DIGITS.replace("compare: {optimizer: [gd, adam, rmsprop]}", "compare: {loss: [softmax_ce, mse]}").replace(
        "model: softmax,", "model: softmax, optimizer: adam,"
    )
    found = made(text, learning)
    assert columns(found.study, found.runs)[:2] == (["axis.loss"], ["lr"])
    assert set(answer(found).table("best")["axis.loss"]) == {"softmax_ce", "mse"}


PUBLISHED = (
    DIGITS
    + """
published:
  source: A report
  findings: [adam is best]
  rows:
    - {optimizer: adam, lr: [0.1, 0.01], accuracy: 0.96, best_step: 200}
    - {optimizer: gd, accuracy_percent: 79}
    - {optimizer: ftrl, accuracy: 0.5}
"""
)


def test_published_stands_beside_measured():
    said = answer(made(PUBLISHED, learning))
    table = said.table("published")
    assert table["setting"].to_list() == ["adam", "gd"]
    assert table["published accuracy"].to_list() == [0.96, 0.79]
    assert table["measured at"].to_list() == ["lr 0.01", "lr 0.01"], (
        "the best of the published values, or the best of all"
    )
    best = said.table("best").filter(optimizer="adam")["accuracy"].item()
    assert table["accuracy difference"][0] == pytest.approx(best - 0.96)
    assert table["published best_step"][0] == "200"
    assert said.published.unmatched == 1
    assert [claim.text for claim in said.published.findings] == ["adam is best"]


@pytest.mark.parametrize(
    "shape", ["published: [{optimizer: adam, accuracy: 0.9}]", "published: {rows: []}", "published: words"]
)
def test_other_shapes_of_published_break_nothing(shape):
    said = answer(made(DIGITS + shape, learning))
    assert said.published is not None


def test_a_target_may_be_given(known):
    other = answer(made(DIGITS, learning), target=0.99)
    assert "no setting reached validation accuracy 0.99 in more than half of its seeds" in other.sentences[2]
    assert known.facts.target == 0.94


def test_methods_tell_hardware_versions_seeds_clock_and_time(tmp_path: Path, known):
    machine = {
        "format": 1, "python": "3.11.7", "packages": {"torch": "2.9", "polars": None}, "cpu": "A CPU", "cores": 8, "memory_gb": 16.0,
        "gpus": ["A GPU"], "device": "cuda", "threads": 4, "system": "Linux", "git": {"commit": "abcdef0123456789", "dirty": True},
        "data": {"digits": "sha256:0123456789abcdef"}, "earlier": [],
    }  # fmt: skip
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "machine.json").write_text(json.dumps(machine))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "machine.json").write_text("spoilt")
    text = methods(known.study, known.facts.runs, tmp_path)
    for part in ("A CPU, 8 cores, 16.0 GB, A GPU, trained on cuda, 4 threads", "Python 3.11.7, torch 2.9", "4 seeds (seeds 0 to 3)",
                 "abcdef0123 with changes", "digits sha256:0123456789ab", "36 exclusive", "stops for evaluation", "Total: 36.0 s of training"):  # fmt: skip
        assert part in text, part
    assert "The machine is not recorded." in methods(known.study, known.facts.runs)


def test_methods_say_where_every_seed_has_data_of_its_own(known):
    said = "Every seed draws data, or their split, of its own."
    assert said not in methods(known.study, known.facts.runs)
    for data in ("data: {name: synthetic, seed: seed}", "data: synthetic, data.seed: seed"):
        found = made(DIGITS.replace("data: digits", data), learning)
        assert said in methods(found.study, found.runs)


EDGES = """
name: edges
base: {data: digits, model: softmax, optimizer: gd, batch: 10, steps: 100}
cases: {tuned: {tune: {lr: [0.1, 0.2, 0.3], clip_norm: [0.5, 1]}}, plain: {lr: 0.1}}
repeat: 3
"""


def test_only_what_lies_at_an_edge_is_named_and_only_what_was_tuned_was_chosen():
    def row(trial, step):
        best = trial.run.lr == 0.2 and trial.run.clip_norm == 0.5
        value = (0.8 if best else 0.7 if trial.case == "tuned" else 0.9) + 0.001 * trial.run.seed
        return {"loss": 1 - value, "accuracy": value, "validation_accuracy": value, "validation_loss": 1 - value}

    said = answer(made(EDGES, row)).sentences
    assert "the best value of tuned (clip_norm 0.5) lies at the edge" in said[2]
    assert "chosen on" not in said[0]


def test_those_that_are_the_same_are_said_to_be():
    def row(trial, step):
        value = 0.5 + 0.01 * trial.run.seed + step / 1000
        return {"loss": 1 - value, "accuracy": value, "validation_accuracy": value, "validation_loss": 1 - value}

    said = answer(made(DIGITS, row)).sentences
    assert "(the same with every seed)" in said[1]
    assert "first to validation accuracy" in said[2]
    assert " are gd, adam and rmsprop, in a median of" in said[2]


def test_methods_are_of_the_packs_that_hold_the_runs(tmp_path: Path, known):
    for pack in ("mine", "other"):
        (tmp_path / pack).mkdir()
        (tmp_path / pack / "machine.json").write_text(
            json.dumps({"format": 1, "data": {pack: "sha256:0"}, "earlier": []})
        )
    text = methods(known.study, known.facts.runs.with_columns(pack=pl.lit("mine")), tmp_path)
    assert "Data: mine sha256:0." in text


def test_words():
    assert listed([]) == ""
    assert listed("ab") == "a and b"
    assert listed("abcdefg") == "a, b, c, d and 3 more"
    assert listed("abcde") == "a, b, c, d and e"


def test_labels_that_would_coincide_say_their_axes(tmp_path):
    found = made(DIGITS, learning)
    of = columns(found.study, found.runs)
    table = pl.DataFrame({"optimizer": ["a / batch 1", "a"], "batch": [None, 1], "lr": [0.1, 0.1]})
    labels = with_labels(table, of._replace(compare=["optimizer", "batch"]))["label"].to_list()
    assert len(set(labels)) == 2


def test_the_best_epoch_is_the_result_and_the_whole_training_its_time():
    """Accuracy peaks at step 20 of 100."""

    def row(trial, step):
        return learning(trial, step) | {"accuracy": 0.9 if step == 20 else 0.5, "loss": 1.0 if step == 20 else 2.0}

    runs = made(DIGITS + "select: best_epoch\n", row).runs
    assert runs["accuracy"].unique().to_list() == [0.9]
    assert runs["loss"].unique().to_list() == [1.0]
    assert (runs["step"].unique().to_list(), runs["seconds"].unique().to_list()) == ([100], [1.0])


def test_an_exact_tie_is_called_one():
    ends = {"gd": 0.5, "adam": 0.5, "rmsprop": 0.7}
    text = DIGITS.replace("tune: {lr: [0.1, 0.01, 0.001]}", "").replace("base: {", "base: {lr: 0.1, ")
    line = answer(made(text, lambda t, s: {"loss": ends[t.run.optimizer.name] if s > 90 else 2.0}))
    assert line.sentences[1].endswith("adam is level with it, followed by rmsprop (0.7).") or line.sentences[
        1
    ].endswith("gd is level with it, followed by rmsprop (0.7).")


def test_seeds_that_nearly_agree_are_not_exact():
    near = made(DIGITS, lambda t, s: learning(t, s) | {"accuracy": 0.97 + 1e-5 * t.run.seed})
    assert not answer(near).facts.exact
    counted = made(DIGITS, lambda t, s: learning(t, s) | {"accuracy": 0.97, "loss": 0.1 + 0.01 * t.run.seed})
    assert not answer(counted).facts.exact, "accuracies are counted: seeds may agree in them by chance"
    assert answer(made(DIGITS, lambda t, s: learning(t, s) | {"accuracy": 0.97, "loss": 0.1})).facts.exact


def test_half_of_the_seeds_make_nobody_first():
    """Only every second seed gets there."""
    half = made(DIGITS, lambda t, s: learning(t, s) | {"validation_accuracy": 0.99 if t.run.seed % 2 else 0.5})
    assert "no setting reached validation accuracy 0.98 in more than half" in answer(half, target=0.98).sentences[2]


def test_a_copy_of_a_lab_that_took_the_best_epoch_says_so():
    said = answer(made(DIGITS + "select: best_epoch\n", learning))
    assert "each run at its best epoch on test" in said.sentences[0]
    assert any("such figures flatter" in note for note in said.notes)
    assert "flatter" in said.methods
    assert not any("source" in note for note in said.notes), "there is none"
    copied = answer(made(DIGITS + "select: test\npublished: {source: A report}\n", learning))
    assert "Tuned values were chosen on the test split, as the source did: such figures flatter." in copied.notes
    assert repr(said).startswith("Which is best?\nHighest of 3")


def test_a_target_that_is_met_untrained_is_none():
    def untaught(trial, step):
        return {**learning(trial, step), "accuracy": 0.1 + 0.001 * trial.run.seed, "validation_accuracy": None}

    found = answer(made(DIGITS, untaught))
    assert found.facts.target is None
    assert "first to" not in " ".join(found.sentences)
    own = DIGITS.replace("steps: 100", "steps: 100, early_stop: {target: 0.1}")
    assert answer(made(own, untaught)).facts.target == 0.1


@pytest.mark.parametrize("said", ["early_stop: {target: 0.7}", "early_stop.target: 0.7"])
def test_runs_that_stop_at_a_goal_are_ranked_by_when_they_get_there(said):
    found = answer(made(DIGITS.replace("steps: 100", f"steps: 100, {said}"), learning))
    assert found.facts.target == 0.7
    assert found.sentences[0] == "First to validation accuracy 0.7 are adam and rmsprop, in a median of 20 steps."
    assert "their accuracy does not rank them" in found.sentences[1]
    assert "Highest" not in found.text


def test_the_stacks_of_a_pack_each_have_their_clock():
    """A pack that trained as two stacks, one after the other, took both."""
    runs = pl.DataFrame(
        {
            "pack": ["p"] * 4,
            "stack": ["a", "a", "b", "b"],
            "timing": ["stacked"] * 4,
            "seconds": [9.0, 10.0, 4.0, 5.0],
            "evaluation_seconds": [1.0] * 4,
            "wall_seconds": [11.0, 12.0, 6.0, 7.0],
        }
    )
    assert totals(runs) == [15.0, 2.0, 19.0]
    assert totals(runs.drop("stack")) == [10.0, 1.0, 12.0]


def test_published_rows_that_name_nothing_are_told():
    found = answer(made(DIGITS + "published: [{optimizer: sgdx, accuracy: 0.9}]", learning))
    assert "1 published row: no setting of this study is named by any." in found.notes
