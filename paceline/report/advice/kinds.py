"""What a piece of advice is made of, and the order in which advice is given."""

import math
from typing import NamedTuple

from paceline.report.results import shown

TIME, ACCURACY, RESOURCES, TRADE, KNOW = "time", "accuracy", "resources", "trade", "know"
KINDS = (TIME, ACCURACY, RESOURCES, TRADE, KNOW)  # in the order in which they are given
SHOWN, LIKELY, HINT = "shown", "likely", "a hint"
SURE = (SHOWN, LIKELY, HINT)
ENOUGH = 3  # seeds, below which nothing is shown
RULE = (
    "Order: what is shown, then what is likely, then hints; among these time to the same result, a better result, the "
    "same with less, time for a worse result. What needs more runs stands last, the cheapest first."
)


class Gain(NamedTuple):
    """How much, with its 95 % interval and the number of seeds. A ratio is gained above 1, a difference above 0."""

    value: float
    low: float | None
    high: float | None
    n: int | None  # None where the value is counted, not estimated
    of: str  # what the value is, in words that follow it; where it is counted, all that is said
    ratio: bool = True

    @property
    def said(self) -> str:
        if self.n is None:
            return self.of
        return f"{shown(self.value)} {self.of} ({interval(self.low, self.high, self.n)})"

    @property
    def certain(self) -> float:
        """What is gained by the end of the interval that is nearest to none, on a scale on which none is 0."""
        least = self.low if self.low is not None else (1.0 if self.ratio else 0.0)
        return math.log(least) if self.ratio else least


class Advice(NamedTuple):
    kind: str
    change: str  # what to do
    gain: Gain | None  # None where only more runs would tell
    sure: str
    evidence: str  # the numbers, and which analysis gave them
    price: str = ""
    minutes: float | None = None  # of machine time, where it asks for runs

    @property
    def summary(self) -> str:
        """The change, how sure it is, what it gains and its price, in one line."""
        gain = f"{self.gain.said}; price: " if self.gain else ""
        return f"{self.change[:1].upper()}{self.change[1:]} [{self.sure}]: {gain}{self.price}."


class Unsaid(NamedTuple):
    """What is not said, and why."""

    what: str
    why: str


def interval(low: float | None, high: float | None, n: int) -> str:
    if low is None or high is None:
        return "one seed, so no interval" if n < 2 else f"n = {n} seeds, no interval"
    if shown(low) == shown(high):
        return f"the same for all {n} seeds"
    return f"95 % interval {shown(low)} to {shown(high)}, n = {n} seeds"


def ranked(found: list[Advice]) -> list[Advice]:
    """By RULE; what is equal in all of it by its words, so that the order never depends on how it was found."""
    return sorted(found, key=_place)


def _place(one: Advice) -> tuple[bool, float, int, int, float, str]:
    if one.kind == KNOW:
        return True, math.inf if one.minutes is None else one.minutes, SURE.index(one.sure), 0, 0.0, one.change
    gained = -one.gain.certain if one.gain else 0.0
    return False, 0.0, SURE.index(one.sure), KINDS.index(one.kind), gained, one.change


def by_seeds(n: int, *, most: str = SHOWN) -> str:
    """How sure a finding with an interval may be called, by its seeds and by what else speaks against it."""
    reach = SHOWN if n >= ENOUGH else LIKELY if n == 2 else HINT
    return max(reach, most, key=SURE.index)
