"""Runs -> packs: what one worker is given at a time. Short runs share a pack, so that a study of thousands of
small runs has hundreds of folders, not thousands."""

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from paceline.plan.cost import Cost
from paceline.plan.expand import Trial

MAX_RUNS = 100
MAX_SECONDS = 60.0
MIN_SECONDS = 2.0


@dataclass(frozen=True)
class Pack:
    """Runs that train in a row in one process."""

    trials: tuple[Trial, ...]

    @property
    def id(self) -> str:
        runs = "".join(trial.id for trial in self.trials)
        return hashlib.sha256(runs.encode()).hexdigest()[:12]


def pack(trials: Iterable[Trial], costs: dict[str, Cost | None], *, jobs: int = 1, alone: bool = False) -> list[Pack]:
    """Each run once, in order. `alone`: a pack a run, as timing asks for; so is a run of unknown cost."""
    unique = list({trial.id: trial for trial in trials}.values())
    known = [cost.seconds for trial in unique if (cost := costs.get(trial.id))]
    limit = -math.inf if alone else min(MAX_SECONDS, max(MIN_SECONDS, sum(known) / (4 * jobs)))
    return [Pack(tuple(group)) for group in _groups(unique, costs, limit)]


def _groups(trials: list[Trial], costs: dict[str, Cost | None], limit: float) -> Iterator[list[Trial]]:
    """Neighbours that together take at most `limit` seconds; an unknown cost is more than any."""
    group: list[Trial] = []
    seconds = 0.0
    for trial in trials:
        cost = costs.get(trial.id)
        added = cost.seconds if cost else math.inf
        if group and (seconds + added > limit or len(group) == MAX_RUNS):
            yield group
            group, seconds = [], 0.0
        group.append(trial)
        seconds += added
    if group:
        yield group
