"""Loss and accuracy over a whole split, without gradients, in chunks."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from paceline.data.memory import Memory
from paceline.train.base import Trained
from paceline.train.build import Criterion

CHUNK_VALUES = 2_000_000  # input values a chunk


@dataclass(frozen=True)
class Score:
    loss: float
    accuracy: float | None  # None for values instead of classes, and for outputs that are not finite


def evaluate(
    model: nn.Module, trained: Trained, loss: Criterion, split: Memory, cast: AbstractContextManager[Any]
) -> tuple[Score, Tensor]:
    """The score and the outputs, which are collected first: a loss such as weighted_kappa is no mean over examples."""
    with torch.no_grad(), trained.at_evaluation():
        width = max(1, CHUNK_VALUES // max(1, split.chunk(0, 1).numel()))
        with cast:
            chunks = [model(split.chunk(at, at + width)) for at in range(0, len(split), width)]
        outputs = torch.cat(chunks).to(split.dtype)
        value = loss(outputs, split.targets)
        countable = not split.targets.is_floating_point() and bool(torch.isfinite(outputs).all())
        accuracy = (outputs.argmax(-1) == split.targets).sum().item() / len(split) if countable else None
    return Score(value.item(), accuracy), outputs
