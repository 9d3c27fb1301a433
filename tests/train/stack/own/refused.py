"""Networks for pictures of 2 x 5 x 5 and three classes that cannot be stacked."""

import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from paceline.models.dropout import Dropout


class _Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside, self.out = nn.Linear(50, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.between(self.inside(x.flatten(1))))


class TorchsDropout(_Dense):
    def __init__(self):
        super().__init__()
        self.between = nn.Dropout(0.5)


class DropoutByFunction(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return F.dropout(x, 0.5, self.training)


class Noise(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return x + torch.randn_like(x)


class NoiseOfTheSameKind(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return x + torch.randn(4)


class DepthByChance(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return x if self.training and torch.rand(()).item() < 0.5 else torch.relu(x)


class DepthByPythonsChance(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return x if self.training and random.random() < 0.5 else torch.relu(x)


class DepthByNumpysChance(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return x if self.training and np.random.rand() < 0.5 else torch.relu(x)


class DependsOnValues(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


class CountsNonzeros(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return x / len(x.nonzero())


class DropsAndIsNotKnown(_Dense):
    def __init__(self):
        super().__init__()
        self.dropout = Dropout(0.5)

    def between(self, x: Tensor) -> Tensor:
        return self.dropout(torch.sin(x))


class KeepsAndIsNotKnown(_Dense):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def between(self, x: Tensor) -> Tensor:
        return self.norm(torch.sin(x))


class AverageOfAll(_Dense):
    def __init__(self):
        super().__init__()
        self.between = nn.BatchNorm1d(4, momentum=None)


class DropoutOfItsOwn(_Dense):
    class Gentle(Dropout):
        def forward(self, x: Tensor) -> Tensor:
            return (x + super().forward(x)) / 2

    def __init__(self):
        super().__init__()
        self.between = self.Gentle(0.5)


class DrawsByKey(_Dense):
    def reseed(self, key: int) -> None:
        self.key = key

    def between(self, x: Tensor) -> Tensor:
        return x


class UnusedLayer(_Dense):
    def forward(self, x: Tensor) -> Tensor:
        return self.inside(x.flatten(1))[:, :3]


class CountsItsSteps(_Dense):
    """A graph would have the count as it was when it was traced."""

    def __init__(self):
        super().__init__()
        self.steps = 0

    def between(self, x: Tensor) -> Tensor:
        self.steps += self.training
        return x * (1 + self.steps)


class UnusedVector(_Dense):
    def __init__(self):
        super().__init__()
        self.unused = nn.Parameter(torch.ones(2))

    def between(self, x: Tensor) -> Tensor:
        return x


class SeveralOutputs(_Dense):
    def forward(self, x: Tensor) -> list[Tensor]:
        return [self.out(self.inside(x.flatten(1)))]


class DenseOverTwoDimensions(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside, self.out = nn.Linear(5, 4), nn.Linear(40, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.inside(x).flatten(1))
