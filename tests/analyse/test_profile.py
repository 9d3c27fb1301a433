"""Performance profiles: by hand, and their laws."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.analyse.profile import performance_profile

COSTS = st.lists(st.one_of(st.none(), st.floats(0.1, 1000)), min_size=9, max_size=9)


def profile(costs: list[float | None]) -> pl.DataFrame:
    table = pl.DataFrame(
        {"who": list("abc") * 3, "what": [t for t in "xyz" for _ in range(3)], "steps": costs},
        schema_overrides={"steps": pl.Float64},
    )
    return performance_profile(table, solver="who", task="what", cost="steps")


def test_by_hand() -> None:
    table = profile([10, 20, None, 10, 5, None, 10, 10, None])
    assert table.columns == ["who", "tau", "share", "area"]
    shares = {(who, tau): share for who, tau, share, _ in table.rows()}
    assert shares[("a", 1.0)] == pytest.approx(2 / 3)
    assert shares[("a", 2.0)] == 1
    assert shares[("c", 4.0)] == 0
    assert table.filter(who="a")["area"][0] == pytest.approx((2 / 3 + 2) / 3)


@settings(max_examples=60, deadline=None)
@given(COSTS, st.floats(0.5, 20))
def test_laws(costs: list[float | None], scale: float) -> None:
    """Between 0 and 1, monotone in tau, and a task's unit does not matter."""
    table = profile(costs)
    assert table["share"].is_between(0, 1).all()
    assert table["area"].is_between(-1e-12, 1 + 1e-12).all()
    assert all((part["share"].diff().drop_nulls() >= 0).all() for part in table.partition_by("who"))
    assert set(table["who"]) == set("abc")
    scaled = profile([cost and cost * (scale if i < 3 else 1) for i, cost in enumerate(costs)])
    assert scaled.group_by("who").agg(pl.col("area").first()).sort("who")["area"].to_list() == pytest.approx(
        table.group_by("who").agg(pl.col("area").first()).sort("who")["area"].to_list(), abs=1e-6
    )


def test_several_costs_are_refused() -> None:
    table = pl.DataFrame({"s": ["a", "a"], "t": ["x", "x"], "c": [1.0, 2.0]})
    with pytest.raises(ValueError, match="several costs"):
        performance_profile(table, solver="s", task="t", cost="c")
