"""Time to a target: censored runs count, seconds only from exclusive ones."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.analyse.target import to_target

from .tables import rows_of, runs_of

COLUMNS = ["k", "n", "reached", "steps", "epochs", "examples", "seconds", "low", "high", "refusal"]
NEVER = 99


def reach(hits: list[int], **columns: object) -> dict[str, object]:
    """Runs that reach 0.9 at the given row of 50 (NEVER: not at all)."""
    curves = {f"r{i}": {"accuracy": [0.95 if row >= hit else 0.1 for row in range(50)]} for i, hit in enumerate(hits)}
    runs = runs_of(list(curves), k=["x"] * len(hits), **columns)
    table = to_target(rows_of(curves), runs, ["k"], metric="accuracy", target=0.9)
    assert table.columns == COLUMNS
    return table.row(0, named=True)


def test_three_of_five_reached() -> None:
    found = reach([3, NEVER, 1, 5, NEVER])
    assert (found["n"], found["reached"]) == (5, 3)
    assert (found["steps"], found["epochs"], found["examples"]) == (50, 5, 5000)
    assert found["seconds"] == pytest.approx(0.5)
    assert (found["low"], found["high"], found["refusal"]) == (10, None, None)


def test_fewer_than_half_have_no_median() -> None:
    assert reach([3, NEVER, NEVER])["steps"] is None
    assert reach([3, 4, NEVER, NEVER])["steps"] == 40


def test_a_loss_is_reached_from_above_and_a_start_counts() -> None:
    rows = rows_of({"a": {"loss": [0.5, 0.1]}})
    found = to_target(rows, runs_of(["a"]), [], metric="loss", target=0.5).row(0, named=True)
    assert (found["steps"], found["epochs"]) == (0, 0)


def test_diverged_and_failed_are_censored_and_queued_not_counted() -> None:
    found = reach([2, NEVER, NEVER, 2], status=["done", "diverged", "failed", "queued"])
    assert (found["n"], found["reached"], found["steps"]) == (3, 1, None)
    later = reach([2, 2, 2], status=["done", "diverged", "diverged"])
    assert (later["reached"], later["steps"]) == (1, None), "what diverges after it met the target has not met it"


def test_validation_judges_where_there_is_one() -> None:
    rows = rows_of({"a": {"accuracy": [0.1, 0.95, 0.95], "validation_accuracy": [0.1, 0.8, 0.95]}})
    assert to_target(rows, runs_of(["a"]), [], metric="accuracy", target=0.9)["steps"].to_list() == [20]


def test_seconds_are_refused_in_words() -> None:
    found = reach([1, 2, 3], timing=["exclusive", "shared", None])
    assert found["seconds"] is None
    assert found["steps"] == 20
    assert found["refusal"] == (
        "no seconds: 2 of 3 runs were timed shared or unknown, not exclusive, so that others slowed their clock; "
        "train them one by one (--jobs 1 --no-stack, or measure: time), into another --out"
    )


def test_more_processes_than_cores_are_not_mended_by_training_one_by_one() -> None:
    found = reach([1, 2, 3], timing=["exclusive", "oversubscribed", "oversubscribed"])
    assert found["refusal"] == (
        "no seconds: 2 of 3 runs were timed oversubscribed, not exclusive: there were more processes than cores"
    )


def test_the_interval_of_the_median_holds_it_and_is_the_range_below_six() -> None:
    assert [reach([5, 1, 3])[name] for name in ("low", "steps", "high")] == [10, 30, 50]
    found = reach(list(range(1, 21)))
    assert [found[name] for name in ("low", "steps", "high")] == [60, 100, 150]


HITS = st.lists(st.integers(1, 49), min_size=1, max_size=12)


@settings(max_examples=30, deadline=None)
@given(HITS, st.integers(0, 5))
def test_censoring_laws(hits: list[int], lost: int) -> None:
    """Losing the slowest runs changes no median that half still reach; losing any never makes it faster."""
    whole = reach(hits)
    kept = sorted(hits)[: max(0, len(hits) - lost)]
    censored = reach([*kept, *[NEVER] * (len(hits) - len(kept))])
    assert censored["reached"] == len(kept)
    assert whole["reached"] == whole["n"] == censored["n"] == len(hits)
    if 2 * len(kept) >= len(hits):
        assert censored["steps"] == whole["steps"]
    else:
        assert censored["steps"] is None
    fastest_lost = reach([NEVER, *sorted(hits)[1:]])
    assert fastest_lost["steps"] is None or fastest_lost["steps"] >= whole["steps"]  # type: ignore[operator]


@settings(max_examples=20, deadline=None)
@given(HITS, st.randoms())
def test_order_does_not_matter(hits: list[int], random) -> None:  # type: ignore[no-untyped-def]
    assert reach(hits) == reach(random.sample(hits, len(hits)))


def test_a_group_of_null_keys_stays() -> None:
    rows = rows_of({"a": {"accuracy": [0.1, 0.95]}})
    runs = runs_of(["a"], case=pl.Series([None], dtype=pl.String))
    assert to_target(rows, runs, ["case"], metric="accuracy", target=0.9).select("case", "n", "steps").rows() == [
        (None, 1, 10)
    ]
