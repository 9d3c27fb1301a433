"""How a study is trained fastest: stacks or runs in a row, on the whole machine or in several processes.

The choice rests on measured speeds where this machine has been measured for such runs, else on the rough model.
"""

import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from paceline.plan.cost import PROCESS_SECONDS, START_SECONDS, Cost, facts_of
from paceline.plan.expand import Trial
from paceline.plan.stacks import MEMORY_SHARE, alike, apart, most_runs
from paceline.spec import Run
from paceline.spec.run import embeds

MEASURE_SECONDS = 30.0  # a group expected to take longer is worth measuring
TRY_RUNS = 64  # in a stack whose size is known only when it is built


@dataclass(frozen=True)
class Speed:
    """Seconds a run, of the whole machine, for one step and for one evaluation."""

    step: float
    evaluation: float


Speeds = Mapping[str, Mapping[str, Speed]]
"""By the kind of runs (`kind`), then by the way they are trained (`way`)."""


def way(stacked: bool, jobs: int) -> str:
    return f"{'stack' if stacked else 'row'} {jobs}"


@dataclass(frozen=True)
class Group:
    """Runs that may train as one program, and what is known of them."""

    trials: list[Trial]
    kind: str | None  # None: their size is known only when they are built
    costs: dict[int, list[Cost]] = field(repr=False)  # by jobs
    most: int = 1
    apart: str | None = None  # why they never train as one

    def rough(self, stacked: bool, jobs: int) -> float:
        """Seconds of all its runs on the whole machine, by the model."""
        costs = self.costs[jobs]
        total = sum(cost.stack_seconds + START_SECONDS if stacked else cost.seconds for cost in costs)
        return costs[0].once + total / min(jobs, len(costs))

    def seconds(self, stacked: bool, jobs: int, speeds: Speeds) -> float:
        speed = speeds.get(self.kind or "", {}).get(way(stacked, jobs))
        if speed is None:
            return self.rough(stacked, jobs)
        costs = self.costs[jobs]
        each = (START_SECONDS + cost.steps * speed.step + cost.rows * speed.evaluation for cost in costs)
        return costs[0].once + sum(each)


@dataclass(frozen=True)
class Choice:
    """How many processes, and how large a stack for each kind of runs; 0: in a row."""

    jobs: int
    stacks: dict[Hashable, int]
    seconds: float = 0.0
    why: dict[Hashable, str] = field(default_factory=dict)  # kinds of runs that train in a row, and the reason


def groups(
    trials: list[Trial], costs: Callable[[Run, int], Cost | None], jobs: tuple[int, ...], memory: float
) -> dict[Hashable, Group]:
    """All runs by what they share. `costs`: of a run when so many train side by side."""
    found: dict[Hashable, list[Trial]] = {}
    for trial in {trial.id: trial for trial in trials}.values():
        found.setdefault(alike(trial.run), []).append(trial)
    return {key: _group(members, costs, jobs, memory) for key, members in found.items()}


def _group(
    trials: list[Trial], costs: Callable[[Run, int], Cost | None], jobs: tuple[int, ...], memory: float
) -> Group:
    known = {count: list(_costs(trials, costs, count)) for count in jobs}
    first = known[jobs[0]]
    if len(first) < len(trials):
        return Group(trials, None, {}, TRY_RUNS, apart(trials[0].run))
    most = most_runs(first[0].stack_bytes, first[0].parameters, first[0].width, memory * MEMORY_SHARE)
    return Group(trials, kind(trials), known, most, apart(trials[0].run))


def _costs(trials: list[Trial], costs: Callable[[Run, int], Cost | None], jobs: int) -> Iterator[Cost]:
    """Those that are known. Of runs that are alike, only the length differs in cost."""
    of_length: dict[Hashable, Cost | None] = {}
    for trial in trials:
        run = trial.run
        length = (run.steps, run.epochs, run.evaluate_every)
        if length not in of_length:
            of_length[length] = costs(run, jobs)
        if found := of_length[length]:
            yield found


def kind(trials: list[Trial]) -> str:
    """Names runs whose steps cost alike: shape of data and model, loss, batch, precision, device and optimizers."""
    run = trials[0].run
    facts = facts_of(run.data)
    said = (
        *((facts.shape, facts.outputs, facts.held_out) if facts else (run.data,)),
        *list(alike(run))[1:],  # type: ignore[call-overload]
        sorted({trial.run.optimizer.name for trial in trials}),
    )
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def choose(
    found: Mapping[Hashable, Group],
    jobs: tuple[int, ...],
    speeds: Speeds,
    *,
    stack: bool | None = None,
) -> Choice:
    """The quickest way. `jobs`: the numbers of processes to choose from; `stack`: whether to, if it was said."""
    return min((_with_jobs(found, count, speeds, stack) for count in jobs), key=lambda choice: choice.seconds)


def _with_jobs(found: Mapping[Hashable, Group], jobs: int, speeds: Speeds, stack: bool | None) -> Choice:
    choice = Choice(jobs, {}, PROCESS_SECONDS if jobs > 1 else 0.0)
    for key, group in found.items():
        size, seconds, why = _pick(group, jobs, speeds, stack)
        choice.stacks[key] = size
        if not size:
            choice.why[key] = why
        choice = replace(choice, seconds=choice.seconds + seconds)
    return choice


def _pick(group: Group, jobs: int, speeds: Speeds, stack: bool | None) -> tuple[int, float, str]:
    """The largest stack (0: none), the seconds, and why there is none."""
    if group.kind is None:
        tried = len(group.trials) > 1 and stack is not False and not group.apart
        return (group.most if tried else 0), 0.0, group.apart or "parts of your own"
    row = group.seconds(False, jobs, speeds)
    if stack is False:
        return 0, row, "as asked"
    if group.apart:
        return 0, row, group.apart
    if len(group.trials) < 2:
        return 0, row, "no other run has the same data, model, loss and batch"
    if group.most < 2:
        return 0, row, "two of them would take too much memory"
    stacked = group.seconds(True, jobs, speeds)
    if stack or stacked < row:
        return group.most, stacked, ""
    basis = "measured" if way(True, jobs) in speeds.get(group.kind, {}) else "estimated"
    return 0, row, f"a stack is not faster ({basis})"


def unmeasured(found: Mapping[Hashable, Group], jobs: tuple[int, ...], speeds: Speeds) -> list[Group]:
    """Groups of which it would pay to measure how they are trained fastest."""
    return [
        group
        for group in found.values()
        if group.kind
        and len(group.trials) > 1
        and group.most > 1
        and not group.apart
        and not embeds(group.trials[0].run)
        and min(group.rough(stacked, count) for stacked in (True, False) for count in jobs) > MEASURE_SECONDS
        and not all(way(stacked, count) in speeds.get(group.kind, {}) for stacked in (True, False) for count in jobs)
    ]
