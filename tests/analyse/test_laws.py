"""Laws find the parameters that made the points, and their intervals hold the truth about as often as they say."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.analyse.laws import AMDAHL, BATCH, GUSTAFSON, USL, Law, estimates, fit

COUNTS = np.asarray([1.0, 2, 4, 8, 16])


def made(law: Law, x: np.ndarray, level: float, *parameters: float) -> np.ndarray:
    return math.log(level) + law.shape(x, np.asarray(parameters))


def test_the_laws_by_hand() -> None:
    four = np.asarray([4.0])
    assert math.exp(made(AMDAHL, four, 10, 0.1)[0]) == pytest.approx(10 * 4 / (1 + 0.1 * 3))
    assert math.exp(made(USL, four, 10, 0.1, 0.01)[0]) == pytest.approx(10 * 4 / (1 + 0.1 * 3 + 0.01 * 4 * 3))
    assert math.exp(made(GUSTAFSON, four, 10, 0.1)[0]) == pytest.approx(10 * (4 - 0.1 * 3))
    assert math.exp(made(BATCH, four, 1000, 1 / 8)[0]) == pytest.approx(1000 * (1 + 4 / 8))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([AMDAHL, USL, GUSTAFSON]), st.floats(0, 0.9), st.floats(0, 0.1), st.floats(0.01, 1e6))
def test_parameters_that_made_the_points_are_found(law: Law, serial: float, coherence: float, level: float) -> None:
    truth = (serial, coherence)[: law.size - 1]
    found = fit(law, COUNTS, made(law, COUNTS, level, *truth))
    assert found.parameters == pytest.approx(truth, abs=1e-4)
    assert math.exp(found.level) == pytest.approx(level, rel=1e-3)
    assert found.scatter < 1e-4
    assert found.log_value(COUNTS) == pytest.approx(made(law, COUNTS, level, *truth), abs=1e-4)


@pytest.mark.parametrize("critical", [50.0, 1000.0, 1e5])
def test_the_critical_batch_is_found(critical: float) -> None:
    batches = np.asarray([32.0, 128, 512, 2048])
    found = estimates(fit(BATCH, batches, made(BATCH, batches, 1e6, 1 / critical)))
    assert found["estimate"].to_list() == pytest.approx([1e6, 1 / critical], rel=1e-3)


def test_examples_in_proportion_to_the_batch_do_not_crash() -> None:
    batches = np.asarray([32.0, 128, 512, 2048])
    found = fit(BATCH, batches, np.log(batches * 100))
    assert math.exp(found.log_value(np.asarray([1024.0]))[0]) == pytest.approx(102_400, rel=0.02)
    flat = fit(BATCH, batches, np.log([5e5] * 4))
    assert flat.parameters[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("law", [AMDAHL, USL, GUSTAFSON, BATCH])
def test_fewer_points_than_parameters_are_refused(law: Law) -> None:
    x = COUNTS[: law.size - 1]
    with pytest.raises(
        ValueError, match=f"{law.name} has {law.size} parameters and {len(x)} measured points: measure 1 more"
    ):
        fit(law, np.repeat(x, 3), np.ones(3 * len(x)))  # seeds are no points


def test_as_many_points_as_parameters_have_the_interval_of_seeds_or_none() -> None:
    x, y = np.asarray([1.0, 2.0]), np.log([10.0, 18.0])
    bare = fit(AMDAHL, x, y)
    assert (bare.checked, bare.freedom, bare.draws(COUNTS, 0)) == (False, 0, None)
    assert estimates(bare)["low"].to_list() == [None, None]
    seeds = fit(AMDAHL, np.repeat(x, 3), np.repeat(y, 3) + np.tile([-0.01, 0, 0.01], 2))
    assert (seeds.checked, seeds.freedom) == (False, 4)
    assert seeds.scatter == pytest.approx(0.01 / 3**0.5)


def test_the_spread_of_a_parameter_by_hand() -> None:
    """With a free level, the variance of s is scatter^2 / sum of (g - mean g)^2, g = -(N - 1) / (1 + s (N - 1))."""
    found = fit(AMDAHL, COUNTS, made(AMDAHL, COUNTS, 10, 0.1) + np.asarray([0.02, -0.01, 0.01, -0.02, 0.01]))
    s = found.parameters[0]
    g = -(COUNTS - 1) / (1 + s * (COUNTS - 1))
    variance = 1 / ((g - g.mean()) ** 2).sum()
    assert found.covariance[0, 0] == pytest.approx(variance)
    assert estimates(found)["high"][1] == pytest.approx(s + 3.18244631 * found.scatter * math.sqrt(variance))


def test_what_is_drawn_obeys_the_bounds() -> None:
    """A serial fraction of at most 1 and at least 0: more devices are never slower, and never more than linear."""
    wild = fit(AMDAHL, COUNTS, made(AMDAHL, COUNTS, 10, 0.5) + np.asarray([0.5, -0.5, 0.4, -0.5, 0.3]))
    draws = wild.draws(np.asarray([8.0, 16.0]), 0)
    assert draws is not None
    gained = draws[:, 1] - draws[:, 0]
    assert gained.min() >= -1e-9
    assert gained.max() <= math.log(2) + 1e-9
    assert gained.std() > 0.01


def test_seeds_tell_of_the_scatter_unless_the_law_misfits() -> None:
    seeds = np.tile([-0.01, 0, 0.01], 4)
    x, y = np.repeat(COUNTS[:4], 3), np.repeat(made(AMDAHL, COUNTS[:4], 10, 0.1), 3)
    agreed = fit(AMDAHL, x, y + seeds)
    assert agreed.freedom == 2 + 8
    assert agreed.scatter == pytest.approx(math.sqrt(4 * 2e-4 / 3 / 10), rel=1e-3)
    bent = fit(AMDAHL, x, y + seeds + np.repeat([0.1, -0.1, 0.1, -0.1], 3))
    assert bent.freedom == 2
    assert bent.scatter > 0.05


@pytest.mark.parametrize(("law", "truth"), [(AMDAHL, (0.05,)), (GUSTAFSON, (0.1,)), (USL, (0.03, 0.001))])
def test_most_intervals_hold_what_is_measured_at_twice_the_largest_count(law: Law, truth: tuple[float, ...]) -> None:
    trials, noise, random = 120, 0.03, np.random.default_rng(0)
    ahead = np.asarray([32.0])
    held = []
    for _ in range(trials):
        found = fit(law, COUNTS, made(law, COUNTS, 100, *truth) + random.normal(0, noise, len(COUNTS)))
        draws = found.draws(ahead, 0)
        assert draws is not None
        low, high = np.quantile(draws, (0.025, 0.975))
        measured = made(law, ahead, 100, *truth)[0] + random.normal(0, noise)
        held.append(low <= measured <= high)
    assert np.mean(held) >= 0.88


def test_parameter_intervals_stay_within_their_bounds() -> None:
    noisy = fit(USL, COUNTS, made(USL, COUNTS, 100, 0.0, 0.0) + np.asarray([0.1, -0.1, 0.05, 0.1, -0.05]))
    table = estimates(noisy)
    assert table["parameter"].to_list() == ["level", "contention", "coherence"]
    assert (table["low"] >= 0).all()
    assert (table["high"][1:] <= 1).all()
    assert (table["low"] <= table["estimate"]).all()
    assert (table["estimate"] <= table["high"]).all()
