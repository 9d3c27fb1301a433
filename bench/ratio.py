"""Ratios of times on a noisy machine: alternating blocks, a 95 % interval, and a verdict against a target."""

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from scipy import stats


@dataclass(frozen=True)
class Ratio:
    """How many times as fast ours is as the peer: the mean of the pairs' log ratios, and its 95 % interval."""

    value: float
    low: float
    high: float
    pairs: int

    def verdict(self, target: float) -> str:
        if self.low >= target:
            return "met"
        return "missed" if self.high < target else "unresolved"

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


def alternate(contestants: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contestant in every round; the order turns from round to round, after one round of warm-up."""
    names = list(contestants)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for contestant in contestants.values():
        contestant()
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            seconds[name].append(contestants[name]())
    return seconds


def ratio(ours: list[float], peer: list[float]) -> Ratio:
    logs = [math.log(b / a) for a, b in zip(ours, peer, strict=True)]
    middle, spread = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    half = float(stats.t.ppf(0.975, len(logs) - 1)) * spread
    return Ratio(math.exp(middle), math.exp(middle - half), math.exp(middle + half), len(logs))
