"""Laws of scaling, and their fit to measured points by least squares on logs.

Intervals are those of the delta method, drawn: parameters from the t distribution that the Jacobian gives, held within
their bounds, carried through the law.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from paceline.analyse.quantiles import Array, t_quantile
from paceline.analyse.scaling import STRONG, WEAK

DRAWS = 4000
AGREE = 4.0  # a mean square about the law of at most this many times that of seeds is no misfit of the law


@dataclass(frozen=True)
class Law:
    """log value = level + base(x) + sign log(1 + features(x) @ parameters); parameters go from 0 to `upper`."""

    name: str
    parameters: tuple[str, ...]
    sign: int
    base: Callable[[Array], Array]
    features: Callable[[Array], Array]
    upper: tuple[float, ...]

    @property
    def size(self) -> int:
        return 1 + len(self.parameters)

    def shape(self, x: Array, parameters: Array) -> Array:
        """[..., points] of parameters [..., k]."""
        return np.asarray(self.base(x) + self.sign * np.log1p(parameters @ self.features(x).T), np.float64)

    def slopes(self, x: Array, parameters: Array) -> Array:
        """[points, k]: d shape / d parameters."""
        features = self.features(x)
        return np.asarray(self.sign * features / (1 + features @ parameters)[:, None], np.float64)


AMDAHL = Law("amdahl", ("serial_fraction",), -1, np.log, lambda n: (n - 1)[:, None], (1.0,))
USL = Law("usl", ("contention", "coherence"), -1, np.log, lambda n: np.stack([n - 1, n * (n - 1)], 1), (1.0, 1.0))
COHERENCE = Law("coherence", ("coherence",), -1, np.log, lambda n: (n * (n - 1))[:, None], (1.0,))
GUSTAFSON = Law("gustafson", ("serial_fraction",), 1, np.log, lambda n: (1 / n - 1)[:, None], (1.0,))
BATCH = Law("critical batch", ("inverse_critical_batch",), 1, np.zeros_like, lambda b: b[:, None], (math.inf,))
LAWS: dict[str, tuple[Law, ...]] = {STRONG: (AMDAHL, USL), WEAK: (GUSTAFSON, USL)}


@dataclass(frozen=True)
class Fit:
    law: Law
    x: Array  # the distinct counts or batches, rising
    y: Array  # the mean log value of each
    parameters: Array
    level: float
    scatter: float  # standard deviation of y about the law; NaN where nothing tells
    freedom: int  # its degrees of freedom
    covariance: Array  # of the parameters, for a scatter of 1

    @property
    def checked(self) -> bool:
        """Whether there are more points than parameters, so that the law could have been seen to fail."""
        return len(self.x) > self.law.size

    def log_value(self, x: Array) -> Array:
        return np.asarray(self.level + self.law.shape(x, self.parameters), np.float64)

    def draws(self, x: Array, seed: int) -> Array | None:
        """[DRAWS, points]: log values as a new measurement at x might give them; None without a degree of freedom."""
        if self.freedom < 1:
            return None
        random = np.random.default_rng(seed)
        scatter = self.scatter * np.sqrt(self.freedom / random.chisquare(self.freedom, (DRAWS, 1)))
        root = _root(self.covariance)
        moved = self.parameters + scatter * random.standard_normal((DRAWS, len(self.parameters))) @ root.T
        parameters = np.clip(moved, 0, self.law.upper)
        level = (self.y - self.law.shape(self.x, parameters)).mean(1, keepdims=True)
        level = level + scatter * random.standard_normal((DRAWS, 1)) / math.sqrt(len(self.x))
        noise = scatter * random.standard_normal((DRAWS, 1))
        return np.asarray(level + noise + self.law.shape(x, parameters), np.float64)


def fit(law: Law, x: Array, y: Array) -> Fit:
    """The law through (x, mean y of each distinct x); ValueError with the reason where it cannot be fitted."""
    if reason := refusal(law, x):
        raise ValueError(reason)
    counts = np.unique(x)
    means = np.asarray([y[x == count].mean() for count in counts], np.float64)
    parameters = _solve(law, counts, means)
    off = means - law.shape(counts, parameters)
    level = float(off.mean())
    scatter, freedom = _scatter(law, x, y, off - level)
    slopes = law.slopes(counts, parameters)
    slopes = slopes - slopes.mean(0)
    return Fit(
        law, counts, means, parameters, level, scatter, freedom, np.linalg.pinv(slopes.T @ slopes, hermitian=True)
    )


def refusal(law: Law, x: Array) -> str | None:
    """Why the law cannot be fitted to points at x; None where it can."""
    distinct = len(np.unique(x))
    if distinct >= law.size:
        return None
    return f"{law.name} has {law.size} parameters and {distinct} measured points: measure {law.size - distinct} more"


def estimates(found: Fit) -> pl.DataFrame:
    """parameter, estimate, low, high: level is exp(level); intervals by the delta method, kept within the bounds."""
    t = float(t_quantile(np.asarray([found.freedom + 1.0]))[0])
    half = t * found.scatter * np.sqrt(np.diag(found.covariance))
    slopes = found.law.slopes(found.x, found.parameters).mean(0)
    spread = t * found.scatter * math.sqrt(1 / len(found.x) + float(slopes @ found.covariance @ slopes))
    low, high = (np.clip(found.parameters + side * half, 0, found.law.upper) for side in (-1, 1))
    table = {
        "parameter": ["level", *found.law.parameters],
        "estimate": [math.exp(found.level), *found.parameters],
        "low": [_exp(found.level - spread), *low],
        "high": [_exp(found.level + spread), *high],
    }
    return pl.DataFrame(table).with_columns(pl.col("low", "high").fill_nan(None))


def _scatter(law: Law, x: Array, y: Array, off: Array) -> tuple[float, int]:
    """Standard deviation of the means about the law, and its degrees of freedom.

    Where seeds spread, and the means are off by no more than AGREE times what seeds explain (in squares), both tell of
    it together; where the law goes through all means, the seeds alone.
    """
    counts, places, many = np.unique(x, return_inverse=True, return_counts=True)
    free, seeds = len(counts) - law.size, len(x) - len(counts)
    means = np.bincount(places, y) / many
    about, spread = float((off**2).sum()), float(((y - means[places]) ** 2).sum()) * float((1 / many).mean())
    misfit = about / free if free else 0.0
    if not seeds or misfit > AGREE * spread / seeds:
        return (math.sqrt(misfit), free) if free else (math.nan, 0)
    return math.sqrt(max((about + spread) / (free + seeds), misfit)), free + seeds


def _solve(law: Law, x: Array, y: Array) -> Array:
    """The parameters of least squares; features are scaled to 1, so that each of them has the same weight."""
    from scipy.optimize import least_squares  # type: ignore[import-untyped]

    scale = np.abs(law.features(x)).max(0)
    upper = np.asarray(law.upper) * scale

    def residual(scaled: Array) -> Array:
        off = law.shape(x, scaled / scale) - y
        return np.asarray(off - off.mean(), np.float64)

    def slopes(scaled: Array) -> Array:
        found = law.slopes(x, scaled / scale) / scale
        return np.asarray(found - found.mean(0), np.float64)

    starts = (np.minimum(start, 0.5 * upper) for start in (0.01, 1.0))
    options: dict[str, Any] = {"jac": slopes, "bounds": (0, upper), "xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-12}
    tries = [least_squares(residual, start, **options) for start in starts]
    best = np.asarray(min(tries, key=lambda found: float(found.cost)).x, np.float64)
    best = np.where(best < 1e-9, 0.0, np.where(best > upper * (1 - 1e-9), upper, best))
    return np.asarray(best / scale, np.float64)


def _root(covariance: Array) -> Array:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)), np.float64)


def _exp(value: float) -> float:
    return math.inf if value > 700 else math.exp(value)
