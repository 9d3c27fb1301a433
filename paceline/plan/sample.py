"""Tuning points spread evenly over their ranges: the same N points for every compared setting.

Quasi-random search by a Halton sequence, as Google's tuning playbook advises: no clumps, no grid, no seed.
"""

import math
from collections.abc import Collection
from typing import Any

FEW = 10  # whole numbers of a range that are drawn as from a list
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


def sample(axes: dict[str, Any], count: int, whole: Collection[str] = ()) -> list[dict[str, Any]]:
    """`count` points; one that comes again, as on axes of few values it may, is left out. `whole`: the axes that are of
    whole numbers."""
    points = (_point(axes, index, whole) for index in range(1, count + 1))
    return list({repr(point): point for point in points}.values())


def _point(axes: dict[str, Any], index: int, whole: Collection[str]) -> dict[str, Any]:
    shares = [radical_inverse(index, _PRIMES[dim % len(_PRIMES)]) for dim in range(len(axes))]
    return {key: _at(axis, share, key in whole) for (key, axis), share in zip(axes.items(), shares, strict=True)}


def radical_inverse(index: int, base: int) -> float:
    """The index's digits mirrored at the point: van der Corput's sequence, in [0, 1)."""
    result, scale = 0.0, 1.0 / base
    while index:
        index, digit = divmod(index, base)
        result += digit * scale
        scale /= base
    return result


def _at(axis: Any, share: float, whole: bool) -> Any:
    if isinstance(axis, list):
        return axis[min(int(share * len(axis)), len(axis) - 1)]
    low, high = float(axis["low"]), float(axis["high"])
    log = axis.get("scale", "linear") == "log"
    whole = whole and low.is_integer() and high.is_integer()
    if whole and not log and high - low < FEW:  # rounded, the ends would come half as often
        return int(low) + int(share * (high - low + 1))
    if log:
        value = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    else:
        value = low + share * (high - low)
    value = min(max(_round(value), low), high)
    return round(value) if whole else value


def _round(value: float) -> float:
    """Four significant digits: what a table shows is what was trained."""
    return float(f"{value:.4g}")
