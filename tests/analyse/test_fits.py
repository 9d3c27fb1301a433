"""Predictions: the law is chosen by what it missed, the interval widens with the distance, and too little is refused."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.analyse.fits import compare, examples_at, predict, time_to_target
from paceline.analyse.scaling import usable

COLUMNS = ["devices", "predicted", "low", "high", "model", "held_out_miss_percent", "leave_one_out_percent", "stands", "refusal"]  # fmt: skip


def usl(n: int, contention: float, coherence: float) -> float:
    return 100 * n / (1 + contention * (n - 1) + coherence * n * (n - 1))


def points_of(counts: list[int], contention: float, coherence: float, noise: float = 0.0) -> pl.DataFrame:
    off = np.exp(np.random.default_rng(0).normal(0, noise, len(counts)))
    rates = [usl(n, contention, coherence) * float(o) for n, o in zip(counts, off, strict=True)]
    return pl.DataFrame({"devices": counts, "samples_per_second": rates})


def test_amdahls_points_are_predicted_by_amdahl() -> None:
    found = predict(points_of([1, 2, 4, 8], 0.05, 0.0), [16, 32, 1024])
    assert found.columns == COLUMNS
    assert found["model"].unique().to_list() == ["amdahl"]
    assert found["predicted"].to_list() == pytest.approx([usl(n, 0.05, 0) for n in (16, 32, 1024)], rel=1e-3)
    assert found["held_out_miss_percent"].to_list() == pytest.approx([0.0] * 3, abs=0.01)
    assert found["stands"].to_list() == ["gain"] * 3
    assert found["refusal"].null_count() == 3


def test_points_that_turn_back_are_predicted_by_the_universal_law() -> None:
    points = points_of([1, 2, 4, 8, 16], 0.02, 0.01)
    table = compare(points)
    assert table.filter("chosen")["law"].to_list() == ["usl"]
    assert table["held_out_miss_percent"][0] > 20  # Amdahl's law promises too much
    found = predict(points, [32])
    assert found["predicted"][0] == pytest.approx(usl(32, 0.02, 0.01), rel=1e-3)
    assert found["stands"][0] == "no gain"


def test_a_law_that_the_points_exclude_does_not_widen_the_interval() -> None:
    points = points_of([n for n in (1, 2, 4, 8, 16) for _ in range(3)], 0.02, 0.01, 0.005)
    found = predict(points, [64]).row(0, named=True)
    assert found["model"] == "usl"
    assert found["high"] < 0.5 * points["samples_per_second"].max()  # Amdahl's law would never fall below it


def test_the_held_out_miss_by_hand() -> None:
    """Through 1 and 2 with speedup 1.6: serial fraction 0.25, so 4 devices should be 4 / 1.75 times as fast; 2 were."""
    points = pl.DataFrame({"devices": [1, 2, 4], "samples_per_second": [10.0, 16.0, 20.0]})
    amdahl = compare(points).row(0, named=True)
    assert amdahl["held_out_miss_percent"] == pytest.approx(100 * (4 / 1.75 / 2 - 1), rel=1e-4)
    seconds = points.select("devices", seconds_per_epoch=100 / pl.col("samples_per_second"))
    turned = compare(seconds, of="seconds_per_epoch").row(0, named=True)
    assert turned["held_out_miss_percent"] == pytest.approx(100 * (2 / (4 / 1.75) - 1), rel=1e-4)
    assert compare(points)["refusal"].to_list() == [None, None]
    assert compare(points)["held_out_miss_percent"][1] is None  # three parameters, two points left


def test_seconds_are_predicted_as_seconds() -> None:
    points = points_of([1, 2, 4, 8], 0.05, 0.0, 0.02)
    seconds = points.select("devices", seconds_per_epoch=1 / pl.col("samples_per_second"))
    rate, time = (
        predict(points, [16]).row(0, named=True),
        predict(seconds, [16], of="seconds_per_epoch").row(0, named=True),
    )
    assert time["predicted"] == pytest.approx(1 / rate["predicted"])
    assert (time["low"], time["high"]) == (pytest.approx(1 / rate["high"]), pytest.approx(1 / rate["low"]))
    assert time["stands"] == rate["stands"]


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 0.5), st.floats(0, 0.01), st.floats(0.005, 0.1), st.sampled_from(["strong", "weak"]))
def test_the_interval_holds_the_prediction_and_widens(
    contention: float, coherence: float, noise: float, scaling: str
) -> None:
    found = predict(points_of([1, 2, 4, 8], contention, coherence, noise), [8, 16, 64, 1024], scaling=scaling)
    assert (found["low"] <= found["predicted"]).all()
    assert (found["predicted"] <= found["high"]).all()
    width = (found["high"].log() - found["low"].log()).to_list()
    assert all(far >= near - 0.05 * near for near, far in itertools.pairwise(width)), width
    assert width[-1] > width[0]
    miss = abs(math.log1p(found["held_out_miss_percent"][0] / 100))
    for row, doublings in zip(found.iter_rows(named=True), (0, 1, 3, 7), strict=True):
        assert math.log(row["high"] / row["predicted"]) >= miss * doublings * (1 - 1e-9)
        assert math.log(row["predicted"] / row["low"]) >= miss * doublings * (1 - 1e-9)


def test_the_interval_reckons_with_a_law_that_the_points_cannot_tell_from_the_chosen_one() -> None:
    """Coherence too small to be seen up to 8 devices takes a third of the speed at 32."""
    random, held = np.random.default_rng(0), []
    counts = np.repeat([1, 2, 4, 8], 3)
    for _ in range(25):
        rates = [usl(int(n), 0.03, 0.002) * math.exp(random.normal(0, 0.03)) for n in counts]
        found = predict(pl.DataFrame({"devices": counts, "samples_per_second": rates}), [32]).row(0, named=True)
        held.append(found["low"] <= usl(32, 0.03, 0.002) <= found["high"])
    assert np.mean(held) >= 0.9


def test_too_few_points_are_refused_with_the_reason() -> None:
    one = predict(points_of([1, 1, 1], 0.1, 0.0), [16, 32])
    assert one.columns == COLUMNS
    assert one["predicted"].null_count() == 2
    assert (
        one["refusal"][0]
        == "amdahl has 2 parameters and 1 measured points: measure 1 more; usl has 3 parameters and 1 measured points: measure 2 more"
    )
    two = predict(points_of([1, 2], 0.1, 0.0), [4]).row(0, named=True)
    assert two["predicted"] == pytest.approx(usl(4, 0.1, 0))
    assert (two["low"], two["high"], two["held_out_miss_percent"], two["stands"]) == (None, None, None, "not shown")
    assert two["refusal"] == "unchecked: amdahl goes through 2 points with 2 parameters; no interval; measure one more"
    assert compare(points_of([1, 2], 0.1, 0.0))["refusal"].to_list()[1].startswith("usl has 3 parameters and 2")


def test_two_counts_with_seeds_have_the_interval_of_the_seeds_and_say_so() -> None:
    found = predict(points_of([1, 1, 1, 2, 2, 2], 0.1, 0.0, 0.02), [4]).row(0, named=True)
    assert found["low"] < found["predicted"] < found["high"]
    assert "the interval knows the seeds, not whether the law holds" in found["refusal"]
    assert found["stands"] == "not shown"


def test_two_counts_leave_open_how_the_speed_is_lost() -> None:
    """1 device: 10, 2 devices: 18, so a ninth is lost: by contention 1/9, or by coherence 1/18, which grows faster."""
    points = pl.DataFrame({"devices": [1, 1, 2, 2], "samples_per_second": [10.0, 10.001, 18.0, 18.001]})
    ends = predict(points, [4]).row(0, named=True)
    contention, coherence = 1 / 9, 1 / 18
    assert ends["predicted"] == pytest.approx(40 / (1 + 3 * contention), rel=1e-3)
    assert ends["low"] == pytest.approx(40 / (1 + 12 * coherence), rel=0.01)


@pytest.mark.parametrize("at", [[], [0, 4], [-1]])
def test_counts_that_are_none(at: list[int]) -> None:
    with pytest.raises(ValueError, match="give counts from 1 on"):
        predict(points_of([1, 2, 4], 0.1, 0.0), at)


def test_other_words_and_other_numbers() -> None:
    points = points_of([1, 2, 4], 0.1, 0.0)
    with pytest.raises(ValueError, match="scaling is 'both'; allowed: strong, weak"):
        predict(points, [8], scaling="both")
    with pytest.raises(ValueError, match="of is 'epochs'"):
        predict(points, [8], of="epochs")
    odd = pl.DataFrame({"devices": [2, 4, 8], "samples_per_second": [None, math.nan, 0.0]}, schema=points.schema)
    assert predict(pl.concat([points, odd]), [8]).equals(predict(points, [8]))


def test_refused_runs_take_no_part() -> None:
    runs = points_of([1, 2, 4, 8], 0.05, 0.0).with_columns(
        seed=pl.lit(0), batch_mode=pl.lit("global"), oversubscribed=pl.col("devices") == 8, timing=pl.lit("exclusive")
    )
    left, why = usable(runs, [], of="samples_per_second")
    assert len(why) == 1
    assert compare(left)["points"].to_list() == [3, 3]


def test_examples_against_the_batch() -> None:
    batches = [32, 128, 512, 2048]
    points = pl.DataFrame({"global_batch": batches, "examples": [1e5 * (1 + b / 400) for b in batches]})
    found = examples_at(points, [400, 8192])
    assert found["predicted"].to_list() == pytest.approx([2e5, 1e5 * (1 + 8192 / 400)], rel=1e-3)
    assert found["critical_batch"][0] == pytest.approx(400, rel=1e-3)
    assert found["held_out_miss_percent"][0] == pytest.approx(0, abs=0.1)
    missed = pl.concat([points, pl.DataFrame({"global_batch": [2048], "examples": [None]}, schema=points.schema)])
    assert examples_at(missed, [400])["refusal"][0] == "without batch 2048: the target was not always reached"
    few = examples_at(points[:1], [400]).row(0, named=True)
    assert few["predicted"] is None
    assert few["refusal"] == "critical batch has 2 parameters and 1 measured points: measure 1 more"


def test_a_batch_that_costs_nothing_has_no_critical_one() -> None:
    points = pl.DataFrame({"global_batch": [32, 64, 128], "examples": [1e5, 1.01e5, 0.99e5]})
    found = examples_at(points, [256]).row(0, named=True)
    assert (found["critical_batch"], found["critical_high"]) == (None, None)
    assert found["predicted"] == pytest.approx(1e5, rel=0.02)


def test_time_to_target_is_examples_over_throughput() -> None:
    speed = points_of([1, 2, 4, 8], 0.05, 0.0, 0.01)
    batches = [64, 128, 256, 512]
    noise = np.exp(np.random.default_rng(1).normal(0, 0.02, 4))
    examples = pl.DataFrame(
        {"global_batch": batches, "examples": [1e5 * (1 + b / 300) * o for b, o in zip(batches, noise, strict=True)]}
    )
    weak = time_to_target(speed, examples, [8, 16], batch=64, scaling="weak")
    assert weak["global_batch"].to_list() == [512, 1024]
    rate = predict(speed, [8, 16], scaling="weak")["predicted"]
    needed = examples_at(examples, [512, 1024])["predicted"]
    assert weak["seconds"].to_list() == pytest.approx((needed / rate).to_list())
    assert (weak["low"] < weak["seconds"]).all()
    assert (weak["seconds"] < weak["high"]).all()
    log_width = (weak["high"] / weak["low"]).log()
    assert log_width[1] > log_width[0]


def test_strong_scaling_takes_the_measured_examples() -> None:
    speed = points_of([1, 2, 4, 8], 0.05, 0.0, 0.01)
    examples = pl.DataFrame({"global_batch": [64, 64, 64], "examples": [9e4, 1e5, 1.1e5]})
    found = time_to_target(speed, examples, [16], batch=64).row(0, named=True)
    mean = math.exp(np.log([9e4, 1e5, 1.1e5]).mean())
    assert found["seconds"] == pytest.approx(mean / predict(speed, [16])["predicted"][0])
    assert found["model"] == "measured examples / amdahl"
    assert found["low"] < 0.9 * found["seconds"] < 1.1 * found["seconds"] < found["high"]
    once = time_to_target(speed, examples[:1], [16], batch=64).row(0, named=True)
    assert once["low"] is None
    assert once["refusal"] == "no interval: one run says how many examples are needed"
    other = time_to_target(speed, examples, [16], batch=128).row(0, named=True)
    assert other["seconds"] is None
    assert other["refusal"].startswith("critical batch has 2 parameters and 1 measured points")
    none = time_to_target(speed[:1], examples, [16], batch=64).row(0, named=True)
    assert none["refusal"].startswith("amdahl has 2 parameters")


def test_two_batches_are_unchecked_and_said_to_be() -> None:
    speed = points_of([1, 2, 4, 8], 0.05, 0.0, 0.01)
    examples = pl.DataFrame({"global_batch": [64, 128], "examples": [1e5, 1.2e5]})
    found = time_to_target(speed, examples, [16], batch=64, scaling="weak").row(0, named=True)
    assert found["seconds"] > 0
    assert found["low"] is None
    assert (
        found["refusal"]
        == "unchecked: critical batch goes through 2 points with 2 parameters; no interval; measure one more"
    )
