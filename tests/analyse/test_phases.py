"""Seconds by phase: by hand, and shares that add up to 1."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.analyse.phases import MEASURED, PHASES, phases, splits

AMOUNT = st.floats(0, 1e6)


def line(run: str, step: int, seconds: float, **more: float) -> dict[str, Any]:
    spent = dict.fromkeys((*MEASURED, "evaluation", "checkpoint"), 0.0)
    return {"run": run, "step": step, "examples": 10 * step, "seconds": seconds, **spent, **more}


def test_the_last_line_of_a_run_counts_and_what_is_left_is_other() -> None:
    table = pl.DataFrame(
        [
            line("a", 20, 8.0, loader=2.0, forward=4.0, evaluation=1.0, checkpoint=1.0),
            line("a", 10, 4.0, loader=4.0),
            line("b", 20, 1.0),
        ]
    )
    found = splits(table)
    assert found.columns == ["run", "steps", "examples", "seconds", "whole", *PHASES]
    first = found.row(0, named=True)
    assert (first["steps"], first["examples"], first["seconds"], first["whole"]) == (20, 200, 8.0, 10.0)
    assert (first["loader"], first["other"], first["evaluation"]) == (2.0, 2.0, 1.0)
    assert found.row(1, named=True)["other"] == 1.0


def test_sampled_phases_beyond_the_clock_are_the_seconds() -> None:
    found = splits(pl.DataFrame([line("a", 1, 1.0, loader=0.75, forward=0.75)])).row(0, named=True)
    assert (found["seconds"], found["other"]) == (1.5, 0.0)


def test_shares_are_means_over_the_runs_of_a_setting() -> None:
    table = pl.DataFrame(
        [line("a", 1, 1.0, loader=0.5), line("b", 1, 3.0, loader=0.0, evaluation=1.0), line("c", 1, 0.0)]
    )
    named = splits(table).join(pl.DataFrame({"run": ["a", "b", "c"], "label": ["x", "x", "y"]}), on="run")
    found = phases(named, ["label"])
    assert found["label"].to_list() == ["x"], "y has not been timed at all"
    row = found.row(0, named=True)
    assert (row["n"], row["seconds"], row["whole"]) == (2, 2.0, 2.5)
    assert (row["loader"], row["evaluation"], row["other"]) == pytest.approx((0.25, 0.125, (0.5 + 0.75) / 2))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.fixed_dictionaries(dict.fromkeys((*MEASURED, "evaluation", "checkpoint"), AMOUNT)), min_size=1, max_size=4), AMOUNT)  # fmt: skip
def test_shares_add_up_to_one(spent: list[dict[str, float]], seconds: float) -> None:
    table = pl.DataFrame([line(str(n), 1, seconds + 1e-3, **more) for n, more in enumerate(spent)])
    found = phases(splits(table).with_columns(label=pl.lit("x")), ["label"])
    shares = found.select(PHASES).row(0)
    assert sum(shares) == pytest.approx(1.0)
    assert min(shares) >= 0
