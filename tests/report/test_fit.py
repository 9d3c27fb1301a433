"""The gap between training and held-out accuracy, in a table and, where it matters, in words."""

import pytest

from paceline.report.answer import Answer, answer
from paceline.report.fit import over_fitted

from .recorded import DIGITS, learning, made

GAPS = {"gd": 0.0, "adam": 0.06, "rmsprop": 0.015}


def trained(trial, step):
    """Training accuracy above validation by a gap that hardly depends on the seed; none before the first step."""
    row = learning(trial, step)
    gap = GAPS[trial.run.optimizer.name] + 0.001 * (trial.run.seed % 2)
    return row | ({"train_accuracy": row["validation_accuracy"] + gap} if step else {})


@pytest.fixture(scope="module")
def known() -> Answer:
    return answer(made(DIGITS, trained))


def test_the_table_has_gap_interval_and_n(known: Answer):
    table = known.table("fit")
    assert table.columns == [
        "setting", "train accuracy", "validation accuracy", "test accuracy", "gap", "low", "high", "n"
    ]  # fmt: skip
    assert table["setting"].to_list() == ["adam", "rmsprop", "gd"]
    assert table["gap"].to_list() == pytest.approx([0.0605, 0.0155, 0.0005])
    assert table["n"].to_list() == [4, 4, 4]
    assert (table["low"] < table["gap"]).all()


def test_only_a_gap_that_matters_is_said(known: Answer):
    (said,) = over_fitted(known.facts)
    assert said.startswith("adam by 0.0605 (95 % interval 0.05958 to 0.06142, n = 4 seeds)")
    (note,) = [note for note in known.notes if note.startswith("Over-fitting")]
    assert "rmsprop" not in note


def test_a_gap_to_validation_alone_is_not_said():
    def easy_test(trial, step):
        row = trained(trial, step)
        return row | ({"accuracy": row["train_accuracy"]} if step else {})

    assert over_fitted(answer(made(DIGITS, easy_test)).facts) == []


def test_one_seed_has_a_gap_and_no_sentence():
    one = answer(made(DIGITS.replace("repeat: 4", "repeat: 1"), trained))
    assert one.table("fit")["gap"][0] == pytest.approx(0.06)
    assert over_fitted(one.facts) == []


def test_against_test_where_there_is_no_validation():
    def unvalidated(trial, step):
        return {k: v for k, v in trained(trial, step).items() if not k.startswith("validation")}

    found = answer(made(DIGITS, unvalidated))
    assert "validation accuracy" not in found.table("fit").columns
    assert "training less test accuracy" in next(sheet.note for sheet in found.sheets if sheet.key == "fit")


def test_without_training_accuracy_there_is_no_table():
    assert "fit" not in [sheet.key for sheet in answer(made(DIGITS, learning)).sheets]
    losses = answer(made(DIGITS, lambda t, s: {"loss": 1.0, "train_accuracy": 0.5}))
    assert "fit" not in [sheet.key for sheet in losses.sheets]
