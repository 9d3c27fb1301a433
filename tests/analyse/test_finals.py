"""Which row of a run is taken, and on what it is chosen."""

import pytest

from paceline.analyse.finals import finals

from .tables import rows_of, runs_of

CURVES = {
    "a": {"accuracy": [0.1, 0.9, 0.8], "validation_accuracy": [0.2, 0.7, 0.75], "loss": [3, 1, 2]},
    "b": {"accuracy": [0.1, 0.5, 0.5], "loss": [3, 1, 1]},
    "c": {"accuracy": [0.1, 0.6, 0.7], "loss": [3, 1, 2]},
}
RUNS = runs_of(["a", "b", "c", "d"], status=["done", "done", "diverged", "queued"])
COLUMNS = ["run", "chosen", "value", "step", "epoch", "chosen_on"]


def found(select: str, metric: str = "accuracy") -> list[tuple[object, ...]]:
    table = finals(rows_of(CURVES), RUNS, select=select, metric=metric)
    assert table.columns == COLUMNS
    return table.rows()


NOTHING = [("c", None, None, None, None, None), ("d", None, None, None, None, None)]


def test_validation_chooses_and_test_is_reported() -> None:
    assert found("validation") == [("a", 0.75, 0.8, 20, 1, "validation"), ("b", 0.5, 0.5, 20, 1, "test"), *NOTHING]


def test_test_chooses() -> None:
    assert found("test") == [("a", 0.8, 0.8, 20, 1, "test"), ("b", 0.5, 0.5, 20, 1, "test"), *NOTHING]


def test_the_best_epoch_is_the_first_of_equals() -> None:
    assert found("best_epoch") == [("a", 0.9, 0.9, 10, 0, "test"), ("b", 0.5, 0.5, 10, 0, "test"), *NOTHING]
    assert found("best_epoch", "loss")[:2] == [("a", 1, 1, 10, 0, "test"), ("b", 1, 1, 10, 0, "test")]


def test_wrong_words_are_refused() -> None:
    with pytest.raises(ValueError, match=r"select is 'best'; allowed: validation, test, best_epoch\."):
        found("best")
    with pytest.raises(ValueError, match="metric is 'f1'; allowed: accuracy"):
        found("test", "f1")
