"""Runs -> packs: what one worker is given at a time. Short runs share a pack, so that a study of thousands of
small runs has hundreds of folders, not thousands."""

import hashlib
from collections.abc import Iterable
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
    limit = min(MAX_SECONDS, max(MIN_SECONDS, sum(known) / (4 * jobs)))
    packs: list[Pack] = []
    open_pack: list[Trial] = []
    seconds = 0.0
    for trial in unique:
        cost = costs.get(trial.id)
        if alone or cost is None:
            packs.append(Pack((trial,)))
            continue
        if open_pack and (seconds + cost.seconds > limit or len(open_pack) == MAX_RUNS):
            packs.append(Pack(tuple(open_pack)))
            open_pack, seconds = [], 0.0
        open_pack.append(trial)
        seconds += cost.seconds
    return [*packs, Pack(tuple(open_pack))] if open_pack else packs
