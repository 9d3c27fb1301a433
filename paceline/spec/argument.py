"""What an argument of a part may be: its type, its default, where it must lie; and a line of the table of parts."""

import math
from dataclasses import dataclass, field
from typing import Any

from paceline.errors import nearest

REQUIRED = object()
SEED = "seed"


class ArgumentError(ValueError):
    """An argument of a part is wrong; `key` says which."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


def is_number(value: Any) -> bool:
    """A finite number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True)
class Arg:
    """One argument: how it is typed, what it is when unsaid, where it must lie."""

    type: str  # number, integer, flag, word, text, numbers or integers (lists)
    default: Any = REQUIRED
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()  # of a number: words that may stand in its place
    above: bool = False  # the low end itself is excluded
    below: bool = False  # the high end itself is excluded

    def read(self, value: Any, key: str) -> Any:
        if self.type in ("numbers", "integers"):
            return self._read_list(value, key)
        if self.type == "flag":
            if isinstance(value, bool):
                return value
            raise ArgumentError(f"{value!r} is not true or false.", key)
        if self.type == "word":
            if value in self.choices:
                return value
            raise ArgumentError(f"unknown value {value!r}. {nearest(str(value), self.choices)}", key)
        if self.type == "text":
            if isinstance(value, str) and value.strip():
                return value
            raise ArgumentError(f"{value!r} is not a text.", key)
        return self._read_number(value, key)

    def _read_number(self, value: Any, key: str) -> Any:
        if isinstance(value, str) and value in self.choices:
            return value
        whole = self.type == "integer"
        if not is_number(value) or (whole and not float(value).is_integer()):
            several = " Several values go under compare or tune." if isinstance(value, (list, tuple)) else ""
            others = "".join(f" or '{word}'" for word in self.choices)
            raise ArgumentError(f"{value!r} is not a {'whole number' if whole else 'number'}{others}.{several}", key)
        small = self.low is not None and (value <= self.low if self.above else value < self.low)
        large = self.high is not None and (value >= self.high if self.below else value > self.high)
        if small or large:
            raise ArgumentError(f"{value!r} is outside its range; allowed: {self.range}.", key)
        return int(value) if whole else float(value) + 0.0  # -0.0 and 0.0 are equal, so they must be spelt alike

    def _read_list(self, value: Any, key: str) -> tuple[int | float, ...]:
        if not isinstance(value, (list, tuple)) or not value:
            raise ArgumentError(f"{value!r} is not a list of numbers.", key)
        one = Arg(self.type[:-1], low=self.low, high=self.high, above=self.above)
        return tuple(one._read_number(v, key) for v in value)

    @property
    def range(self) -> str:
        low = "" if self.low is None else f"{'above' if self.above else 'at least'} {self.low:g}"
        high = "" if self.high is None else f"{'below' if self.below else 'at most'} {self.high:g}"
        return " and ".join(part for part in (low, high) if part) or "any"

    @property
    def follows_seed(self) -> bool:
        """Whether `seed` may stand for the number: then it is the seed of the run."""
        return self.type == "integer" and SEED in self.choices


@dataclass(frozen=True)
class Entry:
    """A line of the table."""

    path: str
    args: dict[str, Arg] = field(default_factory=dict)
    task: str = ""  # losses and data: classes or values
    about: str = ""
    stacks: tuple[str, ...] = ()  # models and losses: arguments in which the runs of one stack may differ
    averages: bool = False  # strategies: gradients of parts of a batch are averaged
    waits: bool = False  # strategies: waiting for other devices can be told apart from computing
    features: int = 0  # networks with a base and a head: how many numbers (or maps) the one gives the other


def number(default: Any = REQUIRED, low: float | None = None, high: float | None = None, above: bool = False) -> Arg:
    return Arg("number", default, low, high, above=above)


def integer(default: Any = REQUIRED, low: float | None = None, high: float | None = None) -> Arg:
    return Arg("integer", default, low, high)


def drawing() -> Arg:
    """The number that a draw begins with, or `seed`: each seed of the study then draws its own."""
    return Arg("integer", 0, low=0, choices=(SEED,))


def share(default: float, above: bool = False) -> Arg:
    """A number from 0 to below 1, as a decay rate is."""
    return Arg("number", default, 0, 1, above=above, below=True)


def flag(default: bool) -> Arg:
    return Arg("flag", default)


def word(default: str, *choices: str) -> Arg:
    return Arg("word", default, choices=(default, *choices))
