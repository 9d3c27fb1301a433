"""The stacked loop: many runs from their first step to their last, as a generator of their rows.

All runs of a stack take their steps together. One that has ended, by its steps, early stopping or divergence, leaves
the stack, which goes on without it.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from paceline.data.dataset import Dataset
from paceline.data.locate import Files
from paceline.spec import Run
from paceline.train.parallel.beat import PAUSE_SECONDS
from paceline.train.rows import Outcome, Pause, Row
from paceline.train.stack.stack import Stack

Item = tuple[int, Row | Outcome] | Pause
"""What is said of a run, by its place among those given; or a pause of them all."""


def train_stack(
    runs: Sequence[Run],
    dataset: Dataset,
    folder: Path = Path(),
    resume: dict[str, Any] | None = None,
    cores: int | None = None,
    without: Sequence[int] = (),
    files: Files | None = None,
) -> Iterator[Item]:
    """Trains the runs as `train` would each of them. `resume` is of these very runs; those in `without` are left out
    of what follows. StackError, before anything is yielded, says why they cannot be stacked."""
    stack = Stack(runs, dataset, folder, cores, files)
    if resume is not None:
        stack.restore(resume)
    stack.leave(without)
    return _train(stack)


def _train(stack: Stack) -> Iterator[Item]:
    clock = stack.clock
    if stack.step == 0:
        yield from stack.rows(range(len(stack.runs)))
    paused = time.perf_counter()
    clock.start()
    while stack.runs:
        stack.advance()
        wanted = stack.wanted()
        if not wanted and time.perf_counter() - paused < PAUSE_SECONDS:
            continue
        clock.stop()
        over: list[int] = []
        for item in stack.rows(wanted):
            yield item
            if isinstance(item[1], Outcome):
                over.append(item[0])
        stack.leave(over)
        if stack.runs:
            yield Pause(stack.step, stack.longest, stack.snapshot)
            paused = time.perf_counter()
        clock.start()
