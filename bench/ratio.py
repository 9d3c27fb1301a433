"""Ratios of times on a noisy machine: alternating blocks, a 95 % interval, and a verdict against a target."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from scipy import stats  # type: ignore[import-untyped]


@dataclass(frozen=True)
class Ratio:
    """How many times as fast ours is as the peer: the median over rounds, and its 95 % interval."""

    value: float
    low: float
    high: float
    rounds: int

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
    """The median of the rounds' ratios; the interval is between two of them in order, so a stray round moves little."""
    ratios = sorted(b / a for a, b in zip(ours, peer, strict=True))
    count = len(ratios)
    outside = int(stats.binom.ppf(0.025, count, 0.5))
    if outside < 1:
        raise ValueError(f"{count} rounds are too few for a 95 % interval; take 6 or more")
    return Ratio(statistics.median(ratios), ratios[outside - 1], ratios[count - outside], count)
