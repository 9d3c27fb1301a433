"""The same runs trained twice: against itself nothing differs, sides swapped all is inverted, and claims are earned."""

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from paceline.analyse.likeforlike import PAIRS, by_setting, overall, overall_difference

RATIOS = ["ratio", "ratio_low", "ratio_high"]


def pairs(*lines: dict[str, Any]) -> pl.DataFrame:
    """Pairs that were timed alone, of one setting unless said."""
    plain = {"setting": "s", "metric": "accuracy"}
    plain |= {f"{name}_{side}": value for side in "ab" for name, value in (("timing", "exclusive"), ("step", 100))}
    return pl.DataFrame([{**dict.fromkeys(PAIRS), **plain, **line} for line in lines], schema=PAIRS)


def timed(*times: tuple[float, float], **more: Any) -> pl.DataFrame:
    return pairs(*({"seconds_a": a, "seconds_b": b, **more} for a, b in times))


def swapped(table: pl.DataFrame) -> pl.DataFrame:
    turned = {
        f"{name[:-1]}{'b' if name.endswith('_a') else 'a'}" if name[-2:] in ("_a", "_b") else name: name
        for name in PAIRS
    }
    return table.select(pl.col(old).alias(new) for new, old in turned.items()).select(list(PAIRS))


positive = st.floats(1e-3, 1e4)
measured = st.fixed_dictionaries(
    {
        "setting": st.sampled_from(["s", "t", "u"]),
        **{f"{name}_{side}": positive for name in ("seconds", "samples", "memory", "before", "after") for side in "ab"},
        **{f"value_{side}": st.one_of(st.none(), st.floats(0, 1)) for side in "ab"},
        **{f"timing_{side}": st.sampled_from(["exclusive", "exclusive", "shared", None]) for side in "ab"},
    }
)


@settings(max_examples=60, deadline=None)
@given(st.lists(measured, min_size=1, max_size=12))
def test_a_against_itself_differs_in_nothing(lines: list[dict[str, Any]]) -> None:
    table = pairs(*lines)
    itself = table.with_columns(
        pl.col(f"{name}_a").alias(f"{name}_b") for name in ("timing", "seconds", "value", "step")
    )
    found = by_setting(itself)
    for name, even in (("ratio", 1.0), ("ratio_low", 1.0), ("ratio_high", 1.0), ("difference", 0.0), ("low", 0.0)):
        assert set(found[name].drop_nulls()) <= {even}
    assert set(found["faster"]) <= {"no difference shown", "refused"}
    pooled = overall(found).row(0, named=True)
    assert pooled["ratio"] in (1.0, None)
    assert set(overall_difference(found)["difference"]) <= {0.0}


@settings(max_examples=100, deadline=None)
@given(st.lists(measured, min_size=1, max_size=12))
def test_sides_swapped_invert_all(lines: list[dict[str, Any]]) -> None:
    table = pairs(*lines)
    here, there = by_setting(table), by_setting(swapped(table))
    other = {"A": "B", "B": "A"}
    for one, two in zip(here.iter_rows(named=True), there.iter_rows(named=True), strict=True):
        assert (one["setting"], one["n"], one["timed"]) == (two["setting"], two["n"], two["timed"])
        inverse = [None if two[name] is None else 1 / two[name] for name in ("ratio", "ratio_high", "ratio_low")]
        assert [one[name] for name in RATIOS] == pytest.approx(inverse)
        negative = [None if two[name] is None else -two[name] for name in ("difference", "high", "low")]
        assert [one[name] for name in ("difference", "low", "high")] == pytest.approx(negative, abs=1e-12)
        assert one["faster"] == other.get(two["faster"], two["faster"])
        assert one["noise"] == pytest.approx(two["noise"])
        assert (one["seconds_a"], one["samples_b"], one["memory_a"]) == (
            two["seconds_b"],
            two["samples_a"],
            two["memory_b"],
        )
    pooled = [overall(table).row(0, named=True) for table in (here, there)]
    assert (pooled[0]["ratio"] is None) == (pooled[1]["ratio"] is None)
    if pooled[0]["ratio"] is not None:
        assert pooled[0]["ratio"] == pytest.approx(1 / pooled[1]["ratio"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(positive, positive), min_size=2, max_size=30), positive)
def test_the_unit_of_time_is_no_matter_and_the_interval_holds_the_ratio(
    times: list[tuple[float, float]], unit: float
) -> None:
    line = by_setting(timed(*times)).row(0, named=True)
    assert line["ratio_low"] <= line["ratio"] <= line["ratio_high"]
    scaled = by_setting(timed(*((a * unit, b * unit) for a, b in times))).row(0, named=True)
    assert [scaled[name] for name in RATIOS] == pytest.approx([line[name] for name in RATIOS], rel=1e-6)


def test_the_interval_is_that_of_the_t_distribution_on_log_ratios() -> None:
    times = [(2.0, 1.0), (2.2, 1.0), (2.6, 1.3), (1.9, 1.0)]
    line = by_setting(timed(*times)).row(0, named=True)
    known = stats.ttest_1samp([math.log(a / b) for a, b in times], 0).confidence_interval()
    assert (line["ratio_low"], line["ratio_high"]) == pytest.approx((math.exp(known.low), math.exp(known.high)))
    assert line["ratio"] == pytest.approx(2.0)
    assert (line["n"], line["timed"], line["faster"], line["why"]) == (4, 4, "B", None)


def test_the_difference_is_that_of_the_paired_t_test() -> None:
    x, y = [0.9, 0.92, 0.91, 0.95], [0.88, 0.89, 0.91, 0.9]
    line = by_setting(pairs(*({"value_a": a, "value_b": b} for a, b in zip(x, y, strict=True)))).row(0, named=True)
    known = stats.ttest_rel(x, y).confidence_interval()
    assert (line["low"], line["high"]) == pytest.approx((known.low, known.high))
    assert (line["value_a"], line["value_b"]) == pytest.approx((0.92, 0.895))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"timing_a": "stacked"}, "A was timed stacked, not exclusive"),
        ({"timing_b": "shared"}, "B was timed shared, not exclusive"),
        ({"timing_b": None}, "B was not timed"),
        ({"step_b": 120}, "A ended after 100 steps, B after 120"),
        ({"seconds_a": None}, "no seconds are recorded"),
    ],
)
def test_times_that_may_not_be_compared_are_refused_with_the_reason(change: dict[str, Any], why: str) -> None:
    good, bad = {"seconds_a": 2.0, "seconds_b": 1.0}, {"seconds_a": 9.0, "seconds_b": 1.0, **change}
    line = by_setting(pairs(bad, bad)).row(0, named=True)
    assert (line["ratio"], line["faster"], line["why"], line["timed"]) == (None, "refused", why, 0)
    assert overall(by_setting(pairs(bad, bad))).row(0, named=True)["why"] == why
    part = by_setting(pairs(good, bad, good)).row(0, named=True)
    assert (part["ratio"], part["timed"], part["n"], part["untimed"]) == (pytest.approx(2.0), 2, 3, why)


def test_one_pair_claims_nothing() -> None:
    line = by_setting(timed((3.0, 1.0), value_a=0.9, value_b=0.5)).row(0, named=True)
    assert (line["ratio"], line["ratio_low"], line["faster"], line["why"]) == (
        pytest.approx(3),
        None,
        "refused",
        "one pair: no interval",
    )
    assert (line["difference"], line["low"]) == (pytest.approx(0.4), None)


def test_a_claim_is_refused_where_the_probe_moved_by_more_than_the_effect() -> None:
    times = [(1.10, 1.0), (1.11, 1.0), (1.09, 1.0)]
    quiet = by_setting(timed(*times, before_a=1.0, after_a=1.02, before_b=3.0, after_b=3.0)).row(0, named=True)
    assert (quiet["faster"], quiet["noise"]) == ("B", pytest.approx(0.02))
    noisy = by_setting(timed(*times, before_a=1.0, after_a=1.02, before_b=3.0, after_b=3.9)).row(0, named=True)
    assert (noisy["faster"], noisy["noise"]) == ("refused", pytest.approx(0.3))
    assert noisy["why"] == "the noise probe moved by 30 %, the times differ by 10 %"
    large = by_setting(timed((2.0, 1.0), (2.1, 1.0), before_b=3.0, after_b=3.9)).row(0, named=True)
    assert large["faster"] == "B", "an effect above the noise stands"


def test_over_settings_the_geometric_mean() -> None:
    times = {"s": 1.2, "t": 1.5, "u": 1.9}
    table = pl.concat([timed((ratio, 1.0), (ratio, 1.0), setting=name) for name, ratio in times.items()])
    line = overall(by_setting(table)).row(0, named=True)
    known = stats.ttest_1samp([math.log(ratio) for ratio in times.values()], 0).confidence_interval()
    assert (line["settings"], line["ratio"]) == (3, pytest.approx(math.prod(times.values()) ** (1 / 3)))
    assert (line["ratio_low"], line["ratio_high"]) == pytest.approx((math.exp(known.low), math.exp(known.high)))
    assert line["faster"] == "no difference shown", "three settings that differ so much do not agree yet"
    alone = by_setting(timed((1.5, 1.0), (1.6, 1.0), (1.4, 1.0)))
    assert [overall(alone)[name][0] for name in RATIOS] == [alone[name][0] for name in RATIOS]


def test_results_over_settings_a_line_a_metric() -> None:
    lines = [
        {"setting": name, "metric": metric, "value_a": a, "value_b": 0.5}
        for name, metric, values in (
            ("s", "accuracy", (0.6, 0.62)),
            ("t", "accuracy", (0.5, 0.52)),
            ("u", "loss", (0.5, 0.5)),
        )
        for a in values
    ]
    found = overall_difference(by_setting(pairs(*lines)))
    assert found["metric"].to_list() == ["accuracy", "loss"]
    assert found["settings"].to_list() == [2, 1]
    assert found["difference"].to_list() == pytest.approx([0.06, 0.0])
    assert found.row(1, named=True)["low"] == 0


def test_settings_keep_their_order_and_nothing_is_a_table_too() -> None:
    table = pl.concat([timed((1.0, 1.0), setting=name) for name in "zay"])
    assert by_setting(table)["setting"].to_list() == ["z", "a", "y"]
    nothing = by_setting(pairs())
    assert nothing.is_empty()
    assert overall(nothing).row(0, named=True)["ratio"] is None
    assert overall_difference(nothing).is_empty()
