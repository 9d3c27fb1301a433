"""The noise scale of gradients whose noise is known."""

import numpy as np
import polars as pl
import pytest

from paceline.analyse.noise_scale import estimates, example_efficiency, noise_scale, step_efficiency


def measured(true: np.ndarray, spread: float, small: int, big: int, steps: int, seed: int = 0) -> pl.DataFrame:
    """Norms of the mean of `big` example gradients and of its parts of `small`, with noise of covariance spread^2 I."""
    random = np.random.default_rng(seed)
    parts = true + spread / small**0.5 * random.standard_normal((steps, big // small, len(true)))
    norms = {"small_norm2": (parts**2).sum(2).mean(1), "big_norm2": (parts.mean(1) ** 2).sum(1)}
    return pl.DataFrame({"small_batch": [small] * steps, "big_batch": [big] * steps, **norms})


def test_by_hand() -> None:
    """|G|^2 = 4 and tr(Sigma) = 48 make 4 + 48/8 = 10 and 4 + 48/16 = 7."""
    norms = pl.DataFrame({"small_batch": [8], "big_batch": [16], "small_norm2": [10.0], "big_norm2": [7.0]})
    assert estimates(norms).select("gradient", "trace").row(0) == (pytest.approx(4.0), pytest.approx(48.0))
    found = noise_scale(norms)
    assert found.useful_batch == pytest.approx(12.0)
    assert (found.low, found.high) == (None, None)
    assert found.refusal == "no interval: 1 steps are too few, 10 are needed"


def test_the_true_scale_is_found_and_lies_in_the_interval() -> None:
    true = np.full(50, 0.2)  # |G|^2 = 2
    spread = 2.0  # tr(Sigma) = 200
    held = []
    for seed in range(40):
        found = noise_scale(measured(true, spread, 16, 64, 60, seed))
        assert found.low is not None
        assert found.high is not None
        held.append(found.low <= 100 <= found.high)
    assert np.mean(held) >= 0.85
    many = noise_scale(measured(true, spread, 16, 64, 4000))
    assert many.gradient == pytest.approx(2, rel=0.05)
    assert many.trace == pytest.approx(200, rel=0.02)
    assert many.useful_batch == pytest.approx(100, rel=0.05)


def test_it_is_a_ratio_of_means_not_a_mean_of_ratios() -> None:
    norms = pl.DataFrame(
        {"small_batch": [1, 1], "big_batch": [2, 2], "small_norm2": [3.0, 9.0], "big_norm2": [2.0, 5.5]}
    )
    each = estimates(norms)
    assert each["gradient"].to_list() == pytest.approx([1.0, 2.0])
    assert each["trace"].to_list() == pytest.approx([2.0, 7.0])
    assert noise_scale(norms).useful_batch == pytest.approx(9 / 3)


def test_steps_that_resemble_their_neighbours_say_less() -> None:
    random = np.random.default_rng(0)
    level = np.repeat(2 + random.uniform(-1, 1, 50), 8)  # |G|^2 moves slowly
    norms = pl.DataFrame(
        {"small_batch": [1] * 400, "big_batch": [2] * 400, "small_norm2": level + 8, "big_norm2": level + 4}
    )
    mixed = norms[random.permutation(400).tolist()]
    slow, quick = noise_scale(norms), noise_scale(mixed)
    assert slow.low is not None
    assert slow.high is not None
    assert quick.low is not None
    assert quick.high is not None
    assert slow.high - slow.low > 1.5 * (quick.high - quick.low)


def test_the_unit_of_the_gradient_does_not_matter() -> None:
    norms = measured(np.full(20, 0.3), 1.0, 8, 32, 50)
    scaled = norms.with_columns(pl.col("small_norm2", "big_norm2") * 1e-6)
    first, second = noise_scale(norms), noise_scale(scaled)
    assert (first.useful_batch, first.low, first.high) == pytest.approx((second.useful_batch, second.low, second.high))


def test_a_gradient_lost_in_noise_is_refused() -> None:
    norms = pl.DataFrame(
        {"small_batch": [8] * 20, "big_batch": [16] * 20, "small_norm2": [10.0] * 20, "big_norm2": [4.0] * 20}
    )
    found = noise_scale(norms)
    assert found.useful_batch is None
    assert found.refusal == "the gradient is lost in its noise over 20 steps: measure more steps, or a larger big batch"


def test_an_interval_without_an_upper_end() -> None:
    gradient = np.asarray([3.0, -2.5] * 10 + [1.0])
    norms = pl.DataFrame(
        {"small_batch": [1] * 21, "big_batch": [2] * 21, "small_norm2": gradient + 8, "big_norm2": gradient + 4}
    )
    found = noise_scale(norms)
    assert found.low is not None
    assert found.high is None
    assert found.useful_batch is not None


def test_steps_that_blew_up_do_not_count_and_none_is_said() -> None:
    norms = measured(np.full(20, 0.3), 1.0, 8, 32, 50)
    blown = pl.concat([norms, norms[:1].with_columns(small_norm2=pl.lit(float("inf")))])
    assert noise_scale(blown) == noise_scale(norms)
    assert noise_scale(norms[:0]).refusal == "no step was measured"
    with pytest.raises(ValueError, match="small_batch below big_batch"):
        noise_scale(norms.with_columns(big_batch=pl.lit(8)))


def test_at_the_useful_batch_both_are_half_as_efficient() -> None:
    assert example_efficiency(100, 100) == step_efficiency(100, 100) == 0.5
    assert example_efficiency(10, 1000) == pytest.approx(1 / 1.01)
    assert step_efficiency(1000, 10) == pytest.approx(1 / 1.01)
