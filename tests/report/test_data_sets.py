"""Studies that compare data sets: each is ranked by itself."""

from typing import Any

from paceline.report.advice import advise
from paceline.report.answer import answer
from paceline.report.charts.forest import forest_numbers

from .recorded import learning, made

TWO = """
name: two
question: Which optimizer is best on each?
base: {model: softmax, steps: 100, evaluate_every: 10, lr: 0.01}
compare: {data: [digits, mnist], optimizer: [gd, adam]}
repeat: 4
"""


def harder(trial: Any, step: int) -> dict[str, Any]:
    """MNIST costs 0.3, whatever learns it."""
    row = learning(trial, step)
    less = 0.3 if trial.run.data.name == "mnist" and step else 0.0
    return row | {"accuracy": row["accuracy"] - less, "validation_accuracy": row["validation_accuracy"] - less}


def test_each_data_set_has_its_best():
    said = answer(made(TWO, harder))
    assert said.sentences[0].startswith("On digits: best is digits / adam: accuracy 0.9")
    assert "On mnist: best is mnist / adam: accuracy 0.6" in said.sentences[0]
    assert "separated from digits / gd" in said.sentences[1]
    assert "separated from mnist / gd" in said.sentences[1]
    table = said.table("best")
    assert table.select("data", "rank", "stands").rows() == [
        ("digits", 1, "best"),
        ("digits", 2, "worse"),
        ("mnist", 1, "best"),
        ("mnist", 2, "worse"),
    ]


def test_results_on_different_data_are_not_paired():
    facts = answer(made(TWO, harder)).facts
    assert [{a.split()[0], b.split()[0]} for a, b in facts.pairs.select("a", "b").rows()] == [{"digits"}, {"mnist"}]
    assert facts.target is None, "no goal is common to both"
    forest = forest_numbers(facts)
    assert forest is not None
    assert forest.behind["name"].to_list() == ["digits / gd", "mnist / gd"]
    assert forest.first == "the first on the same data"


def test_advice_names_the_data_set():
    changes = [one.change for one in advise(answer(made(TWO, harder))).advice]
    assert "on digits, use adam instead of gd" in changes
    assert "on mnist, use adam instead of gd" in changes
    assert not any("instead of digits" in change or "instead of mnist" in change for change in changes)
