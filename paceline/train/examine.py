"""What a trained run gets wrong on the test split: which classes it takes for which, and its surest mistakes."""

from dataclasses import dataclass

import torch
from torch import Tensor

WORST = 12
MAX_CLASSES = 1000


@dataclass(frozen=True)
class Mistake:
    index: int  # in the test split
    truth: int
    said: int
    probability: float  # that it gave to what it said


@dataclass(frozen=True)
class Examined:
    matrix: tuple[tuple[int, int, int], ...]  # truth, answer, how often; only what occurred
    worst: tuple[Mistake, ...]  # the surest first


def examinable(classes: int | None) -> bool:
    """Whether there are classes to take for one another, and not too many to count their pairs."""
    return classes is not None and 1 < classes <= MAX_CLASSES


def examine(outputs: Tensor, targets: Tensor) -> Examined:
    said = outputs.argmax(1)
    wrong = (said != targets).nonzero().flatten()
    right = torch.bincount(targets[said == targets], minlength=outputs.shape[1])
    sure = outputs[wrong].softmax(1).amax(1)
    return examined(right, wrong, targets[wrong], said[wrong], sure)


def examined(right: Tensor, wrong: Tensor, truth: Tensor, said: Tensor, sure: Tensor) -> Examined:
    """From the right answers of each class, and where, what and how sure the wrong ones are."""
    classes = len(right)
    counts = torch.bincount(truth * classes + said, minlength=classes * classes).view(classes, classes)
    counts = (counts + torch.diag(right)).cpu()
    cells = counts.nonzero()
    matrix = tuple(zip(*cells.T.tolist(), counts[tuple(cells.T)].tolist(), strict=True))
    first = sure.topk(min(WORST, len(sure))).indices
    columns = (each[first].tolist() for each in (wrong, truth, said, sure))
    return Examined(matrix, tuple(Mistake(*mistake) for mistake in zip(*columns, strict=True)))
