"""Which runs of a stack see the same batch. Such runs are a lane: their first layer is one matrix product."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from paceline.data.batches import Batch, Composition
from paceline.data.memory import Memory
from paceline.spec import Run


@dataclass(frozen=True)
class Lanes:
    """The lane of every run of a stack, in the stack's order."""

    of_run: tuple[int, ...]
    device: torch.device

    @classmethod
    def of(cls, runs: Sequence[Run], device: torch.device) -> "Lanes":
        first: dict[int | None, int] = {}
        return cls(tuple(first.setdefault(_draw(run), len(first)) for run in runs), device)

    @cached_property
    def count(self) -> int:
        return len(set(self.of_run))

    @cached_property
    def sizes(self) -> list[int]:
        return [self.of_run.count(lane) for lane in range(self.count)]

    @cached_property
    def index(self) -> Tensor:
        return torch.tensor(self.of_run, device=self.device)

    @cached_property
    def order(self) -> Tensor | None:
        """The runs lane by lane; None if they stand so already."""
        order = sorted(range(len(self.of_run)), key=lambda run: self.of_run[run])
        return None if order == list(range(len(order))) else torch.tensor(order, device=self.device)

    @cached_property
    def back(self) -> Tensor | None:
        return None if self.order is None else self.order.argsort()


def _draw(run: Run) -> int | None:
    """What a batch depends on within a stack: the seed, if anything is drawn at all."""
    return None if run.order == "file" and run.subset is None and run.augment is None else run.seed


def batches(runs: Sequence[Run], lanes: Lanes, examples: int, start: int) -> Iterator[list[Batch]]:
    """The batches of each step, one a lane."""
    first = [runs[lanes.of_run.index(lane)] for lane in range(lanes.count)]
    return zip(*(Composition(run, examples).batches(start) for run in first), strict=True)  # type: ignore[return-value]


def gather(training: Memory, drawn: list[Batch], keys: list[int]) -> tuple[Tensor, Tensor]:
    """Inputs and targets: [examples, ...] for one lane, [lanes, examples, ...] for several. `keys`: for the draws of
    each lane's augmentation."""
    if len(drawn) == 1:
        return training.gather(drawn[0].indices, keys[0])
    each = torch.tensor(keys).repeat_interleave(torch.tensor([len(batch.indices) for batch in drawn]))
    x, y = training.gather(torch.cat([batch.indices for batch in drawn]), each)
    return x.reshape(len(drawn), -1, *x.shape[1:]), y.reshape(len(drawn), -1, *y.shape[1:])
