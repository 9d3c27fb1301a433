"""Batch composition: which examples make up each batch, as a function of seed and step alone.

`file` and `shuffle` pass over the (sub)set once an epoch, the last batch being smaller if it must; `random` draws
with replacement, an epoch being as many draws as there are examples. With an overlap the window moves by less than
its width. So a checkpoint needs nothing but the step.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from paceline.data.draws import generator
from paceline.errors import StudyError
from paceline.spec import Run
from paceline.spec.expression import batch_size
from paceline.spec.window import steps_in_epoch, stride


@dataclass(frozen=True)
class Batch:
    """The batch of update `step` (from 0): indices into the training set.

    Of several devices each has its share: `places` says which of the `count` examples of the whole batch are its own.
    A device without any is given one that does not count.
    """

    step: int
    epoch: int
    indices: Tensor
    ends_epoch: bool
    count: int
    places: Tensor | None = None
    counts: bool = True


@dataclass(frozen=True)
class Composition:
    run: Run
    examples: int  # in the training set
    rank: int = 0  # of the devices that share every batch
    size: int = 1

    def __post_init__(self) -> None:
        if self.run.subset and self.run.subset.size > self.examples:
            raise StudyError(
                f"a subset of {self.run.subset.size} from a training set of {self.examples}.", key="subset"
            )

    @property
    def pool(self) -> int:
        """Examples that an epoch passes over."""
        return self.run.subset.size if self.run.subset else self.examples

    def width(self, epoch: int) -> int:
        try:
            return min(batch_size(self.run.global_batch, epoch), self.pool)
        except ValueError as error:
            raise StudyError(f"{error}.", key="batch") from None

    def stride(self, epoch: int) -> int:
        return stride(self.width(epoch), self.run.overlap)

    def steps_in(self, epoch: int) -> int:
        width = self.width(epoch)
        if self.run.order == "random":
            return math.ceil(self.pool / width)
        return steps_in_epoch(self.pool, width, self.stride(epoch))

    def total_steps(self) -> int:
        if self.run.steps is not None:
            return self.run.steps
        epochs = self.run.epochs or 0
        fixed = isinstance(self.run.global_batch, int)
        whole = int(epochs) * self.steps_in(0) if fixed else sum(self.steps_in(epoch) for epoch in range(int(epochs)))
        rest = epochs - int(epochs)
        return max(1, whole + (math.ceil(rest * self.steps_in(int(epochs)) - 1e-9) if rest else 0))

    def order(self, epoch: int) -> np.ndarray:
        """The examples of an epoch in the order in which they come."""
        run = self.run
        pool = self._pool(epoch)
        if run.order == "file":
            return pool
        draw = generator(run.seed, "order", epoch)
        if run.order == "random":
            return pool[draw.integers(0, len(pool), self.steps_in(epoch) * self.width(epoch))]
        return pool[draw.permutation(len(pool))]

    def _pool(self, epoch: int) -> np.ndarray:
        subset = self.run.subset
        if subset is None:
            return np.arange(self.examples)
        draw = generator(self.run.seed, "subset", epoch if subset.redraw == "epoch" else 0)
        return np.sort(draw.permutation(self.examples)[: subset.size])

    def _share(self, step: int, epoch: int, indices: Tensor, ends_epoch: bool) -> Batch:
        count = len(indices)
        if self.size == 1:
            return Batch(step, epoch, indices, ends_epoch, count)
        places = torch.arange(count)[self.rank :: self.size]
        counts = len(places) > 0
        places = places if counts else torch.zeros(1, dtype=torch.int64)
        return Batch(step, epoch, indices[places], ends_epoch, count, places, counts)

    @property
    def _unchanging(self) -> bool:
        """Whether every epoch has the batches of the first."""
        run = self.run
        fixed = run.subset is None or run.subset.redraw == "never"
        return run.order == "file" and isinstance(run.global_batch, int) and fixed

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """All batches from update `start` on, without end."""
        step, epoch = 0, 0
        while step + self.steps_in(epoch) <= start:
            step += self.steps_in(epoch)
            epoch += 1
        known = None
        while True:
            if known is None or not self._unchanging:
                width, count = self.width(epoch), self.steps_in(epoch)
                move = width if self.run.order == "random" else self.stride(epoch)
                known = torch.from_numpy(self.order(epoch))
            order = known
            for i in range(max(0, start - step), count):
                yield self._share(step + i, epoch, order[i * move : i * move + width], i == count - 1)
            step += count
            epoch += 1
