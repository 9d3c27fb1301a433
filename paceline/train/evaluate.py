"""Loss and accuracy over a whole split, without gradients, in chunks."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from paceline.data.memory import Memory
from paceline.train.base import Trained
from paceline.train.build import Criterion
from paceline.train.parallel.strategy import Forward
from paceline.train.parallel.team import ALONE, Team

CHUNK_VALUES = 2_000_000  # input values a chunk
CHUNK_EXAMPLES = 250  # at most, on a CPU: what a convolution leaves stays in cache


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
) -> tuple[Score, Tensor]:
    """The score and the outputs, which are collected first: a loss such as weighted_kappa is no mean over examples.
    `judges`: the processes among which the examples are divided; each gets the answers of all."""
    with torch.no_grad(), trained.at_evaluation():
        width = max(1, CHUNK_VALUES // max(1, split.chunk(0, 1).numel()))
        width = min(width, CHUNK_EXAMPLES) if split.targets.device.type == "cpu" else width
        first, end = judges.stretch(len(split))
        with cast:
            chunks = [forward(split.chunk(at, min(at + width, end))) for at in range(first, end, width)]
            chunks = chunks or [forward(split.chunk(0, 1))[:0]]
        outputs = judges.joined(torch.cat(chunks).to(split.dtype), len(split))
        value = loss(outputs, split.targets)
        countable = not split.targets.is_floating_point() and bool(torch.isfinite(outputs).all())
        accuracy = (outputs.argmax(-1) == split.targets).sum().item() / len(split) if countable else None
    return Score(value.item(), accuracy), outputs
