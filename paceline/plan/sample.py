"""Tuning points spread evenly over their ranges: the same N points for every compared setting.

Quasi-random search by a Halton sequence, as Google's tuning playbook advises: no clumps, no grid, no seed.
"""

import math
from typing import Any

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


def sample(axes: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """`count` points; one that comes again, as on axes of few values it may, is left out."""
    points = (_point(axes, index) for index in range(1, count + 1))
    return list({repr(point): point for point in points}.values())


def _point(axes: dict[str, Any], index: int) -> dict[str, Any]:
    return {
        key: _at(axis, radical_inverse(index, _PRIMES[dim % len(_PRIMES)]))
        for dim, (key, axis) in enumerate(axes.items())
    }


def radical_inverse(index: int, base: int) -> float:
    """The index's digits mirrored at the point: van der Corput's sequence, in [0, 1)."""
    result, scale = 0.0, 1.0 / base
    while index:
        index, digit = divmod(index, base)
        result += digit * scale
        scale /= base
    return result


def _at(axis: Any, share: float) -> Any:
    if isinstance(axis, list):
        return axis[min(int(share * len(axis)), len(axis) - 1)]
    low, high = float(axis["low"]), float(axis["high"])
    if axis.get("scale", "linear") == "log":
        value = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    else:
        value = low + share * (high - low)
    return min(max(_round(value), low), high)


def _round(value: float) -> float:
    """Four significant digits: what a table shows is what was trained."""
    return float(f"{value:.4g}")
