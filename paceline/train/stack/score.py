"""Loss and accuracy of all runs of a stack."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from paceline.data.memory import Memory
from paceline.spec import Run
from paceline.train import losses
from paceline.train.evaluate import Score
from paceline.train.examine import Examined, examined
from paceline.train.stack.layers import Pass
from paceline.train.stack.program import Program

CHUNK_VALUES = 750_000  # of the largest value on the way, on a CPU: what it leaves stays in cache
ON_A_GPU = 64  # times as many


@dataclass(frozen=True)
class StackLoss:
    """The loss of each run: one of ours over all of them, or the user's own run by run."""

    own: Callable[[Tensor, Tensor], Tensor] | None
    ours: losses.Loss | None = None
    knobs: tuple[tuple[str, Any], ...] = ()  # a number, or a tensor with one entry a run
    rank: int = 1  # dimensions of targets that all runs share; a run's own have one more

    @classmethod
    def of(cls, runs: Sequence[Run], found: Any, like: Tensor, rank: int) -> "StackLoss":
        said = [run.loss.complete for run in runs]
        if not isinstance(found, losses.Loss):
            return cls(partial(found, **said[0]), rank=rank)
        knobs = {name: [of_run[name] for of_run in said] for name in said[0]}
        return cls(None, found, tuple((name, _knob(values, like)) for name, values in knobs.items()), rank)

    def over(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """[runs], for outputs [runs, examples, ...] and targets that are shared or [runs, examples, ...]."""
        if self.own is not None:
            of_run = [targets] * len(outputs) if targets.dim() == self.rank else targets
            return torch.stack([self.own(o, t) for o, t in zip(outputs, of_run, strict=True)])
        assert self.ours is not None
        return self.ours.over(*self._flat(outputs, targets), **self.named)

    @property
    def adds_up(self) -> bool:
        """Whether it can be taken over a split in chunks."""
        return self.ours is not None and self.ours.values is not None

    def sums(self, outputs: Tensor, targets: Tensor) -> Tensor:
        assert self.ours is not None
        assert self.ours.values is not None
        return self.ours.values(*self._flat(outputs, targets), **self.named).sum(-1)

    @cached_property
    def named(self) -> dict[str, Any]:
        return dict(self.knobs)

    def _flat(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """[runs, examples, outputs], and values to match."""
        if not targets.is_floating_point():
            return outputs, targets
        outputs = outputs.unsqueeze(-1) if outputs.dim() == 2 else outputs.flatten(2)
        return outputs, targets.unsqueeze(-1) if self.rank == 1 else targets.flatten(targets.dim() - self.rank + 1)


def _knob(values: list[Any], like: Tensor) -> Any:
    return values[0] if len(set(values)) == 1 else like.new_tensor(values).view(-1, 1, 1)


def hits(outputs: Tensor, targets: Tensor) -> Tensor:
    """[runs, examples]: where the first of the largest outputs is the target's, as argmax has it.

    argmax itself is slow along any dimension but the last of a contiguous tensor; ties alone need it, and what is no
    number: either leaves fewer outputs below the largest.
    """
    if not outputs.is_cpu:
        return outputs.argmax(-1) == targets
    top = outputs.amax(-1, keepdim=True)
    if torch.count_nonzero(outputs < top) != outputs.numel() - top.numel():
        return outputs.argmax(-1) == targets
    true = outputs.gather(-1, targets.expand(outputs.shape[:-1]).unsqueeze(-1))
    return (true == top).squeeze(-1)


def finite(outputs: Tensor) -> Tensor:
    """[runs]: whether all outputs of a run are. A sum tells at once, unless it overflows."""
    over = tuple(range(1, outputs.dim()))
    sound = torch.isfinite(outputs.sum(over))
    return sound if sound.all() else torch.isfinite(outputs).all(-1).flatten(1).all(1)


class Mistakes:
    """Collects, chunk by chunk, what each run of a stack gets wrong."""

    def __init__(self) -> None:
        self._right: Tensor | None = None  # [runs, classes]
        self._wrong: list[tuple[Tensor, ...]] = []  # run, example, truth, answer, probability

    def add(self, start: int, outputs: Tensor, targets: Tensor, hit: Tensor) -> None:
        classes = torch.nn.functional.one_hot(targets, outputs.shape[-1]).float()
        right = (hit.float() @ classes).round().long()
        self._right = right if self._right is None else self._right + right
        runs, places = (~hit).nonzero(as_tuple=True)
        missed = outputs[runs, places]
        sure, said = missed.softmax(1).max(1)
        self._wrong.append((runs, places + start, targets[places], said, sure))

    def of_runs(self) -> list[Examined]:
        assert self._right is not None
        runs, *rest = (torch.cat(column) for column in zip(*self._wrong, strict=True))
        return [
            examined(right, *(column[runs == number] for column in rest)) for number, right in enumerate(self._right)
        ]


@torch.no_grad()
def scores(run: Program, at: Pass, loss: StackLoss, split: Memory, mistakes: Mistakes | None = None) -> list[Score]:
    """One a run of the pass, over a whole split, in chunks; `mistakes` are noted if wanted."""
    most = CHUNK_VALUES if split.targets.device.type == "cpu" else CHUNK_VALUES * ON_A_GPU
    width = max(1, most // max(1, run.widest(at, split.chunk(0, 1))))
    classes = not split.targets.is_floating_point()
    correct = torch.zeros(at.runs, dtype=torch.int64, device=split.targets.device)
    sound = torch.ones(at.runs, dtype=torch.bool, device=split.targets.device)
    sums: list[Tensor] = []
    kept: list[Tensor] = []
    for start in range(0, len(split), width):
        targets = split.targets[start : start + width]
        outputs = run(at, split.chunk(start, start + width))
        if loss.adds_up:
            sums.append(loss.sums(outputs, targets))
        else:
            kept.append(outputs)
        if classes:
            sound &= finite(outputs)
            hit = hits(outputs, targets)
            correct += hit.sum(-1)
            if mistakes is not None:
                mistakes.add(start, outputs, targets, hit)
    if loss.adds_up:
        values = torch.stack(sums).sum(0)
        values = values if loss.ours and loss.ours.total else values / len(split)
    else:
        values = loss.over(torch.cat(kept, 1), split.targets)
    return [
        Score(value, count / len(split) if classes and good else None)
        for value, count, good in zip(values.tolist(), correct.tolist(), sound.tolist(), strict=True)
    ]
