"""The gradient noise scale (McCandlish et al. 2018, appendix A): how large a batch is still useful."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from paceline.analyse.quantiles import Array

DRAWS = 2000
FEWEST = 10  # steps for an interval
ENDS = (0.025, 0.975)


@dataclass(frozen=True)
class NoiseScale:
    """B_simple = trace / gradient, the useful batch: there, steps and examples are both twice their least."""

    steps: int
    gradient: float  # |G|^2, mean over steps
    trace: float  # tr(Sigma), mean over steps
    useful_batch: float | None
    low: float | None  # 95 % interval
    high: float | None  # None: no upper end
    refusal: str | None


def estimates(norms: pl.DataFrame) -> pl.DataFrame:
    """Adds gradient and trace, the unbiased estimates of |G|^2 and tr(Sigma) of every line.

    `norms` has small_batch, big_batch, small_norm2 and big_norm2: squared gradient norms at two batch sizes; across
    ranks, the mean over ranks of that of each one's own batch, and that of the averaged gradient.
    """
    small, big = (pl.col(name).cast(pl.Float64) for name in ("small_batch", "big_batch"))
    if norms.filter(small >= big).height:
        raise ValueError("the noise scale needs two batch sizes, small_batch below big_batch")
    gradient = (big * pl.col("big_norm2") - small * pl.col("small_norm2")) / (big - small)
    trace = (pl.col("small_norm2") - pl.col("big_norm2")) / (1 / small - 1 / big)
    return norms.with_columns(gradient.alias("gradient"), trace.alias("trace"))


def noise_scale(norms: pl.DataFrame) -> NoiseScale:
    """The ratio of the means over steps, with a block bootstrap over steps: neighbours are drawn together.

    `norms` as for `estimates`, a line a measured step in order; lines that are not finite do not count.
    """
    table = estimates(norms).filter(pl.col("gradient").is_finite() & pl.col("trace").is_finite())
    gradients, traces = table["gradient"].to_numpy(), table["trace"].to_numpy()
    n = len(gradients)
    if n == 0:
        return NoiseScale(0, math.nan, math.nan, None, None, None, "no step was measured")
    gradient, trace = float(gradients.mean()), float(traces.mean())
    if gradient <= 0:
        lost = f"the gradient is lost in its noise over {n} steps: measure more steps, or a larger big batch"
        return NoiseScale(n, gradient, trace, None, None, None, lost)
    scale = max(trace, 0.0) / gradient
    if n < FEWEST:
        few = f"no interval: {n} steps are too few, {FEWEST} are needed"
        return NoiseScale(n, gradient, trace, scale, None, None, few)
    low, high = np.quantile(_drawn(gradients, traces), ENDS, method="inverted_cdf")
    return NoiseScale(n, gradient, trace, scale, float(low), float(high) if math.isfinite(high) else None, None)


def example_efficiency(batch: float, useful_batch: float) -> float:
    """Least examples to the target over those that this batch needs: 1 / (1 + B / B_noise)."""
    return 1.0 if batch == 0 else 1 / (1 + batch / useful_batch) if useful_batch > 0 else 0.0


def step_efficiency(batch: float, useful_batch: float) -> float:
    """Least steps to the target over those that this batch needs: 1 / (1 + B_noise / B)."""
    return 1 / (1 + useful_batch / batch)


def _drawn(gradients: Array, traces: Array) -> Array:
    """Ratios of means of blocks of n^(1/3) neighbouring steps, drawn with replacement; infinite where no gradient."""
    n = len(gradients)
    length = max(round(n ** (1 / 3)), 1)
    starts = np.random.default_rng(0).integers(0, n, (DRAWS, math.ceil(n / length)))
    means = [_block_means(values, length)[starts].mean(1) for values in (gradients, traces)]
    positive = means[0] > 0
    ratio = np.maximum(means[1], 0) / np.where(positive, means[0], 1.0)
    return np.where(positive, ratio, np.inf)


def _block_means(values: Array, length: int) -> Array:
    """The mean of every run of `length` steps, round the end."""
    ring = np.concatenate([values, values[: length - 1]])
    return np.convolve(ring, np.full(length, 1 / length), mode="valid")
