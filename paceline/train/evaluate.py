"""Loss and accuracy over a whole split, without gradients, in chunks."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from paceline.data.memory import Memory
from paceline.errors import StudyError
from paceline.train.base import Trained
from paceline.train.build import Criterion
from paceline.train.parallel.strategy import Forward
from paceline.train.parallel.team import ALONE, Team

CHUNK_VALUES = 2_000_000  # input values a chunk
CHUNK_EXAMPLES = 250  # at most, on a CPU: what a convolution leaves stays in cache
GPU_EXAMPLES = 10_000  # at most, on a GPU
GPU_BATCHES = 4  # of training, if that is more: without gradients they take no more memory than one with them


@dataclass(frozen=True)
class Score:
    loss: float
    accuracy: float | None  # None for values instead of classes, and for outputs that are not finite


def evaluate(
    forward: Forward,
    trained: Trained,
    loss: Criterion,
    split: Memory,
    cast: AbstractContextManager[Any],
    judges: Team = ALONE,
    outputs: int | None = None,
    batch: int = 1,
) -> tuple[Score, Tensor]:
    """The score and the outputs, which are collected first: a loss such as weighted_kappa is no mean over examples.
    `judges`: the processes among which the examples are divided; each gets the answers of all. `outputs`: how many
    numbers an example should have, where the loss is one of ours; an own loss may take what it likes.
    `batch`: examples that the device trains on at once."""
    with torch.no_grad(), trained.at_evaluation():
        width = max(1, CHUNK_VALUES // max(1, split.chunk(0, 1).numel()))
        on_cpu = split.targets.device.type == "cpu"
        width = min(width, CHUNK_EXAMPLES) if on_cpu else max(min(width, GPU_EXAMPLES), GPU_BATCHES * batch)
        first, end = judges.stretch(len(split))
        with cast:
            chunks = [forward(split.chunk(at, min(at + width, end))) for at in range(first, end, width)]
            chunks = chunks or [forward(split.chunk(0, 1))[:0]]
        _check(chunks[0], outputs, split.targets)
        answers = judges.joined(torch.cat(chunks).to(split.dtype), len(split))
        value = loss(answers, split.targets)
        countable = not split.targets.is_floating_point() and bool(torch.isfinite(answers).all())
        accuracy = (answers.argmax(-1) == split.targets).sum().item() / len(split) if countable else None
    return Score(value.item(), accuracy), answers


def _check(found: Any, outputs: int | None, targets: Tensor) -> None:
    """A model that does not answer as the loss expects is refused in words, before the loss meets it."""
    if not isinstance(found, Tensor):
        raise StudyError(f"the model gave a {type(found).__name__}, not a tensor of outputs.", key="model")
    if outputs is None:
        return
    values = targets.is_floating_point()
    right = found[:1].numel() == outputs if values else found.dim() == 2 and found.shape[1] >= outputs
    if len(found) and not right:
        shape = [len(found), *targets.shape[1:]] if values else [len(found), outputs]
        raise StudyError(f"the model gave {list(found.shape)}, expected {shape}.", key="model")
