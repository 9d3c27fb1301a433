"""Precision, recall and confused pairs, on tables whose answer is known."""

import numpy as np
import polars as pl
import pytest

from paceline.analyse.confusion import confused, macro, most_confused, per_class


def matrix(*cells: tuple[int, int, int]) -> pl.DataFrame:
    return pl.DataFrame(cells, schema={"truth": pl.Int64, "said": pl.Int64, "count": pl.Int64}, orient="row")


# truth 0: 8 right, 2 taken for 1; truth 1: 6 right, 4 taken for 0; truth 2 (5 examples) is always taken for 0
KNOWN = matrix((0, 0, 8), (0, 1, 2), (1, 1, 6), (1, 0, 4), (2, 0, 5))


def test_each_class():
    table = per_class(KNOWN)
    assert table["class"].to_list() == [0, 1, 2]
    assert table["examples"].to_list() == [10, 10, 5]
    assert table["answers"].to_list() == [17, 8, 0]
    assert table["precision"].to_list() == pytest.approx([8 / 17, 6 / 8, 0.0])
    assert table["recall"].to_list() == pytest.approx([0.8, 0.6, 0.0])


def test_every_class_counts_alike_and_one_never_said_is_named():
    (row,) = macro(KNOWN).to_dicts()
    assert row["macro_precision"] == pytest.approx((8 / 17 + 6 / 8 + 0) / 3)
    assert row["macro_recall"] == pytest.approx((0.8 + 0.6 + 0) / 3)
    assert row["never_said"] == [2]
    assert row["classes"] == 3


def test_a_class_without_examples_is_left_out_of_both():
    (row,) = macro(matrix((0, 0, 1), (0, 7, 1), (1, 1, 2))).to_dicts()
    assert row["classes"] == 2
    assert row["macro_precision"] == pytest.approx(1.0)
    assert row["macro_recall"] == pytest.approx(0.75)


def test_runs_are_kept_apart():
    two = pl.concat([KNOWN.with_columns(run=pl.lit("a")), matrix((0, 0, 3), (1, 1, 4)).with_columns(run=pl.lit("b"))])
    table = macro(two, ["run"])
    assert table["run"].to_list() == ["a", "b"]
    assert table["macro_recall"].to_list() == pytest.approx([1.4 / 3, 1.0])
    assert table["never_said"].to_list() == [[2], []]


def test_as_scikit_learn_has_it():
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(0)
    truth, said = random.integers(0, 6, 500), random.integers(0, 5, 500)  # 5 is never said
    counts = pl.DataFrame({"truth": truth, "said": said}).group_by("truth", "said").len("count")
    (row,) = macro(counts.cast(pl.Int64)).to_dicts()
    wanted = {"average": "macro", "zero_division": 0}
    assert row["macro_precision"] == pytest.approx(metrics.precision_score(truth, said, **wanted))
    assert row["macro_recall"] == pytest.approx(metrics.recall_score(truth, said, **wanted))
    assert row["never_said"] == [5]


def test_confused_pairs_most_frequent_first_with_their_share_of_the_truth():
    table = confused(KNOWN)
    assert table.select("truth", "said", "count").rows() == [(2, 0, 5), (1, 0, 4), (0, 1, 2)]
    assert table["share"].to_list() == pytest.approx([1.0, 0.4, 0.2])
    assert confused(matrix((0, 0, 3), (1, 2, 0))).is_empty()


def test_the_classes_with_most_mistakes():
    assert most_confused(KNOWN, 2) == [0, 1]
    assert most_confused(matrix((0, 0, 99), (3, 5, 2), (5, 3, 1), (1, 2, 1)), 2) == [3, 5]
    assert most_confused(matrix((0, 0, 9)), 5) == []
