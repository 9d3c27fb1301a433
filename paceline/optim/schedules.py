"""Learning-rate schedules: the factor on lr at an update.

`step` counts updates from 0 and `total` is their number; past the end, a factor stays at its last value.
"""

import math
from collections.abc import Callable, Sequence

Schedule = Callable[[int, int], float]


def constant(step: int, total: int) -> float:
    return 1.0


def exponential(step: int, total: int, *, rate: float, every: int, staircase: bool = False) -> float:
    """`rate` to the power of step / every, as tf.compat.v1.train.exponential_decay."""
    return float(rate ** (step // every if staircase else step / every))


def step_decay(step: int, total: int, *, at: Sequence[int], rate: float = 0.1) -> float:
    """One more factor of `rate` from each update listed in `at`, as MultiStepLR."""
    return float(rate ** sum(step >= boundary for boundary in at))


def cosine(step: int, total: int, *, final: float = 0.0) -> float:
    """Half a cosine from 1 to `final` (Loshchilov & Hutter 2017), reached after the last update."""
    return _cosine(1.0, final, _progress(step, 0, total))


def linear(step: int, total: int, *, final: float = 0.0) -> float:
    """A straight line from 1 to `final`, reached after the last update."""
    return 1.0 + (final - 1.0) * _progress(step, 0, total)


def one_cycle(step: int, total: int, *, peak_at: float = 0.3, start: float = 0.04, final: float = 4e-6) -> float:
    """Half a cosine from `start` up to 1, one down to `final` at the last update (Smith 2018; OneCycleLR)."""
    peak = peak_at * total - 1
    if step < peak:
        return _cosine(start, 1.0, _progress(step, 0, peak))
    return _cosine(1.0, final, _progress(step, peak, total - 1))


def with_warmup(schedule: Schedule, warmup: int) -> Schedule:
    """A linear ramp to 1 over the first `warmup` updates; the schedule takes the updates after them."""

    def warmed(step: int, total: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return schedule(step - warmup, total - warmup)

    return warmed


def _progress(step: float, first: float, last: float) -> float:
    return min(max((step - first) / (last - first), 0.0), 1.0) if last > first else 1.0


def _cosine(begin: float, end: float, progress: float) -> float:
    weight = (1 + math.cos(math.pi * progress)) / 2
    return end + (begin - end) * weight
