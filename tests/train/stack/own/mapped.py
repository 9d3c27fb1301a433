"""Networks for pictures of 2 x 5 x 5 and three classes with something that a stack does not know, but vmap does."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class _Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside, self.out = nn.Linear(50, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.between(self.inside(x.flatten(1))))


class View(_Dense):
    def forward(self, x: Tensor) -> Tensor:
        return self.out(torch.relu(self.inside(x.view(x.size(0), -1))))


class UnknownFunction(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return torch.sin(x).clamp(max=0.5)


class UnknownLayer(_Dense):
    def __init__(self):
        super().__init__()
        self.between = nn.LayerNorm(4)


class Branches(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return torch.cat([x[:, :2].relu(), x[:, 2:].tanh()], 1)


class ByHand(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside, self.out = nn.Parameter(torch.randn(50, 4) / 7), nn.Parameter(torch.randn(4, 3))

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("ij,jk->ik", torch.relu(x.flatten(1) @ self.inside), self.out)


class Tied(_Dense):
    def __init__(self):
        super().__init__()
        self.between, self.again = nn.Linear(4, 4), nn.Linear(4, 4)
        self.again.weight = self.between.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.again(self.between(self.inside(x.flatten(1)).tanh()).tanh()))


class BlockNamedTwice(nn.Module):
    def __init__(self):
        super().__init__()
        block = nn.Sequential(nn.Conv2d(2, 2, 3, padding=1), nn.Tanh())
        self.layers = nn.Sequential(block, block, nn.Flatten(), nn.Linear(50, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class WrittenOver(_Dense):
    """What is added is what the rectifier has left of it."""

    def __init__(self):
        super().__init__()
        self.rectify, self.again = nn.ReLU(inplace=True), nn.Linear(4, 4)

    def between(self, x: Tensor) -> Tensor:
        return self.again(self.rectify(x)) + x


class WrittenOverBehindAView(WrittenOver):
    def forward(self, x: Tensor) -> Tensor:
        x = self.inside(x.flatten(1))
        return self.out(self.again(self.rectify(x.flatten(1))) + x)


class ByKeyword(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return torch.add(input=x, other=F.relu(input=x))


class OneConvolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.out = nn.Conv1d(2, 3, 5), nn.Linear(63, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.conv(x.flatten(2)).flatten(1))


class DependsOnTheInput(_Dense):
    """On its shape alone."""

    def between(self, x: Tensor) -> Tensor:
        return x * 2 if len(x) > 0 else x


class Constant(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return x * torch.arange(4)
