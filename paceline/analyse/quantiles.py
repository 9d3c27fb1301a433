"""The quantiles and probabilities of the statistics, as arrays."""

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats  # type: ignore[import-untyped]

Array = NDArray[np.float64]


def t_quantile(n: Array) -> Array:
    """Two-sided 95 % quantile of Student's t for n values, n - 1 degrees of freedom; NaN below n = 2."""
    freedom = np.where(n > 1, n - 1.0, np.nan)
    return np.asarray(special.stdtrit(freedom, 0.975), np.float64)


def t_tail(n: Array, t: Array) -> Array:
    """Two-sided p-value of Student's t for n values."""
    return np.asarray(2 * special.stdtr(np.maximum(n - 1, 1), -np.abs(t)), np.float64)


def normal_quantile(p: Array | float) -> Array:
    return np.asarray(special.ndtri(p), np.float64)


def median_place(n: NDArray[np.int64]) -> NDArray[np.int64]:
    """Place, from 0, of the lower end of the 95 % interval of a median among n sorted values; 0 below n = 6."""
    place = stats.binom.ppf(0.025, np.maximum(n, 1), 0.5) - 1
    return np.where(n >= 6, place, 0).astype(np.int64)
