"""How long a step and an evaluation take, in a row and in a stack: seconds a run, measured on made-up data."""

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from paceline.data.dataset import Dataset, Split
from paceline.spec import Run
from paceline.train.loop import train
from paceline.train.rows import Outcome, Pause
from paceline.train.stack.loop import train_stack

SECONDS = 0.5  # of steps that are timed, after a warm-up
EXAMPLES, VALUES = 20_000, 100_000_000  # at most, to train on


def made_up(shape: tuple[int, ...], outputs: int, classes: bool, held_out: int) -> Dataset:
    draw = torch.Generator().manual_seed(0)

    def split(count: int) -> Split:
        x = torch.rand(count, *shape, generator=draw)
        y = (
            torch.randint(0, outputs, (count,), generator=draw)
            if classes
            else torch.rand(count, outputs, generator=draw)
        )
        return Split(x, y)

    count = max(1, min(EXAMPLES, VALUES // math.prod(shape)))
    return Dataset("made up", split(count), None, split(held_out), outputs if classes else None, "")


def row_speed(runs: Sequence[Run], dataset: Dataset, cores: int) -> tuple[float, float]:
    """The mean over the runs, trained one after the other."""
    pairs = [(_row_step(run, dataset, cores), _evaluation_seconds(run, dataset, cores)) for run in runs]
    steps, evaluations = zip(*pairs, strict=True)
    return sum(steps) / len(runs), sum(evaluations) / len(runs)


def stack_speed(runs: Sequence[Run], dataset: Dataset, cores: int) -> tuple[float, float]:
    """Of the stack, divided by its runs."""
    step = _step_seconds(train_stack([_long(run) for run in runs], dataset, cores=cores))
    before = total = 0.0
    for item in train_stack([_short(run) for run in runs], dataset, cores=cores):
        if isinstance(item, Pause):
            before = item.snapshot()["clock"]["evaluation_seconds"]
        elif isinstance(item[1], Outcome):
            total = item[1].evaluation_seconds
    return step / len(runs), (total - before) / len(runs)


def _row_step(run: Run, dataset: Dataset, cores: int) -> float:
    return _step_seconds(train(_long(run), dataset, cores=cores))


def _step_seconds(items: Iterable[Any]) -> float:
    """From pause to pause; the steps before the first are the warm-up."""
    begun, at = 0.0, 0
    for item in items:
        if not isinstance(item, Pause):
            continue
        now = time.perf_counter()
        if not begun:
            begun, at = now, item.step
        elif now - begun > SECONDS:
            return (now - begun) / (item.step - at)
    raise AssertionError("a run of so many steps does not end")


def _evaluation_seconds(run: Run, dataset: Dataset, cores: int) -> float:
    for item in train(_short(run), dataset, cores=cores):
        if isinstance(item, Outcome):
            return item.evaluation_seconds / 3
    raise AssertionError("every run has an outcome")


def _long(run: Run) -> Run:
    """Without an end in sight, and slow enough not to diverge before it is timed."""
    length = {"steps": 10**9, "epochs": None, "evaluate_every": 10**9, "early_stop": None, "warmup": 0}
    return run.model_copy(update={**length, "subset": None, "lr": min(run.lr, 1e-6)})


def _short(run: Run) -> Run:
    """Two steps, each evaluated; before them runs that start alike are evaluated as one."""
    return _long(run).model_copy(update={"steps": 2, "evaluate_every": 1})
