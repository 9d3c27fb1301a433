"""The learning rates of a stack: each distinct schedule is asked once a step."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.spec import Run
from paceline.train import build


@dataclass(frozen=True)
class Schedules:
    """The distinct schedules of a stack, and whose is which."""

    factors: tuple[tuple[build.Schedule, int], ...]  # with the number of steps
    of_run: tuple[int, ...]

    @classmethod
    def of(cls, runs: Sequence[Run], totals: Sequence[int], folder: Path) -> "Schedules":
        known: dict[Any, int] = {}
        factors: list[tuple[build.Schedule, int]] = []
        places = []
        for run, total in zip(runs, totals, strict=True):
            alike = (run.schedule, run.warmup, None if run.schedule.name == "constant" else total)
            if alike not in known:
                known[alike] = len(factors)
                factors.append((build.schedule(run, folder), total))
            places.append(known[alike])
        return cls(tuple(factors), tuple(places))

    def at(self, step: int) -> list[float]:
        return [float(factor(step, total)) for factor, total in self.factors]
