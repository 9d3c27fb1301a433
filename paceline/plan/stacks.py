"""Which runs may train as one program, and how many of them at a time."""

import math
from collections.abc import Hashable, Iterable
from functools import lru_cache
from itertools import chain
from typing import Any

from paceline.plan.expand import Trial
from paceline.spec import Part, Run
from paceline.spec.run import embeds

MEMORY_SHARE = 0.25  # of all there is, for all stacks that train at once
CACHE_BYTES = 8e6  # of the parameters of one stack: beyond it, updates wait for memory
MAX_STACK = 1024
LANE = 16  # settings from which on a seed has stacks of its own, so that all their runs share batches


def alike(run: Run) -> Hashable:
    """What the runs of one stack share: everything but seed, optimizer, learning rate, schedule, length, clipping,
    and what the table says of a part."""
    parts = (run.data, _shape(run.model), _shape(run.loss))
    start = (run.weights, run.freeze, run.finetune_after, run.base_lr, run.image_size, run.normalize, run.augment)
    return *parts, run.global_batch, run.order, run.subset, run.overlap, run.precision, run.device, run.devices, start


def apart(run: Run) -> str | None:
    """Why such a run never trains in a stack; None if it may."""
    if run.devices > 1:
        return "several devices train it"
    if run.loader is not None:
        return "a loader with workers feeds one run"
    if (
        run.accumulate > 1
        or run.compile
        or run.threads
        or run.fused is not None
        or run.channels_last is not None
        or run.noise_every
    ):
        return "how it computes is said, which is of a run alone"
    if run.precision not in ("fp32", "fp64"):
        return "in mixed precision each trains by itself"
    if embeds(run):
        return None if run.weights != "none" else "each seed has a frozen base of its own"
    if run.freeze != "none" or run.base_lr != 1.0:
        return "base and head train apart"
    if run.model.entry is not None and run.model.entry.features:
        return "a network of this size fills the machine by itself"
    return None


@lru_cache(maxsize=10_000)
def _shape(part: Part) -> tuple[str, tuple[tuple[str, Any], ...]]:
    free = part.entry.stacks if part.entry else ()
    return part.name, tuple(sorted((key, value) for key, value in part.complete.items() if key not in free))


def most_runs(each: float, parameters: int, width: int, memory: float) -> int:
    """How many runs a stack may have: by memory, and by what a cache holds."""
    by_memory = int(memory / max(each, 1.0))
    by_cache = max(4, int(CACHE_BYTES / max(1, width * parameters)))
    return max(1, min(MAX_STACK, by_memory, by_cache))


def split(trials: list[Trial], most: int, jobs: int) -> Iterable[list[Trial]]:
    """Stacks of about equal size, at most `most` runs each and one for every job; seeds apart where they are large."""
    most = min(most, math.ceil(len(trials) / jobs))
    for group in _lanes(trials, most):
        count = math.ceil(len(group) / most)
        size = math.ceil(len(group) / count)
        yield from (group[at : at + size] for at in range(0, len(group), size))


def _lanes(trials: list[Trial], most: int) -> Iterable[list[Trial]]:
    """The runs in groups that no stack crosses: single seeds, or as many as fill a stack."""
    run = trials[0].run
    if run.order == "file" and run.subset is None:
        return [trials]
    by_seed: dict[int, list[Trial]] = {}
    for trial in trials:
        by_seed.setdefault(trial.run.seed, []).append(trial)
    size = max(map(len, by_seed.values()))
    together = 1 if size >= LANE else max(1, most // size)
    seeds = list(by_seed.values())
    return [list(chain(*seeds[at : at + together])) for at in range(0, len(seeds), together)]
