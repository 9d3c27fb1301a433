"""Runs -> packs: what one worker is given at a time, to train as a stack or in a row. Short runs share a pack, so that
a study of thousands of small runs has hundreds of folders, not thousands."""

import hashlib
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from paceline.plan.cost import Cost
from paceline.plan.expand import Trial
from paceline.plan.stacks import alike, split

MAX_RUNS = 100
MAX_SECONDS = 60.0
MIN_SECONDS = 2.0


@dataclass(frozen=True)
class Pack:
    """Runs that train in one process, as one program or in a row."""

    trials: tuple[Trial, ...]
    stacked: bool = False

    @property
    def id(self) -> str:
        runs = "".join(trial.id for trial in self.trials)
        return hashlib.sha256(runs.encode()).hexdigest()[:12]


def pack(
    trials: Iterable[Trial],
    costs: Mapping[str, Cost | None],
    *,
    jobs: int = 1,
    alone: bool = False,
    stacks: Mapping[Hashable, int] | None = None,
) -> list[Pack]:
    """Each run once. `alone`: a pack a run, as timing asks for; so is a run of unknown cost outside a stack.
    `stacks`: for what runs share, the largest stack of such runs."""
    unique = list({trial.id: trial for trial in trials}.values())
    place = {trial.id: index for index, trial in enumerate(unique)}
    packs: list[Pack] = []
    rest: list[Trial] = []
    for key, members in _alike(unique, stacks or {}).items():
        most = (stacks or {}).get(key, 0)
        if most < 2 or len(members) < 2:
            rest += members
            continue
        for group in split(members, most, jobs):
            packs.append(Pack(tuple(group), stacked=len(group) > 1))
    rest.sort(key=lambda trial: place[trial.id])
    known = [cost.seconds for trial in rest if (cost := costs.get(trial.id))]
    limit = -math.inf if alone else min(MAX_SECONDS, max(MIN_SECONDS, sum(known) / (4 * jobs)))
    packs += [Pack(tuple(group)) for group in _groups(rest, costs, limit)]
    return sorted(packs, key=lambda each: place[each.trials[0].id])


def _alike(trials: list[Trial], stacks: Mapping[Hashable, int]) -> dict[Hashable, list[Trial]]:
    if not any(stacks.values()):
        return {None: trials}
    found: dict[Hashable, list[Trial]] = {}
    for trial in trials:
        found.setdefault(alike(trial.run), []).append(trial)
    return found


def _groups(trials: list[Trial], costs: Mapping[str, Cost | None], limit: float) -> Iterator[list[Trial]]:
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
