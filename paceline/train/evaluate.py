"""Loss and accuracy over a whole split, without gradients, in chunks."""

from dataclasses import dataclass

import torch
from torch import nn

from paceline.data.memory import Memory
from paceline.optim.optimizer import at_evaluation
from paceline.train.build import Loss

CHUNK_VALUES = 2_000_000  # input values a chunk


@dataclass(frozen=True)
class Score:
    loss: float
    accuracy: float | None  # None for values instead of classes, and for outputs that are not finite


def evaluate(model: nn.Module, optimizer: torch.optim.Optimizer, loss: Loss, split: Memory) -> Score:
    """Outputs are collected first: a loss such as weighted_kappa is no mean over examples."""
    was_training = model.training
    model.eval()
    with torch.no_grad(), at_evaluation(optimizer):
        width = max(1, CHUNK_VALUES // max(1, split.chunk(0, 1).numel()))
        chunks = [model(split.chunk(at, at + width)) for at in range(0, len(split), width)]
        outputs = torch.cat(chunks)
        value = loss(outputs, split.targets)
        countable = not split.targets.is_floating_point() and bool(torch.isfinite(outputs).all())
        accuracy = (outputs.argmax(-1) == split.targets).sum().item() / len(split) if countable else None
    model.train(was_training)
    return Score(value.item(), accuracy)
