"""Networks for pictures of 2 x 5 x 5 and three classes, all of whose layers and functions a stack knows."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from paceline.models.dropout import Dropout


def _net(*layers: nn.Module) -> nn.Module:
    width = nn.Sequential(*layers).eval()(torch.zeros(1, 2, 5, 5)).flatten(1).shape[1]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(width, 3)).train()


def _dense(*layers: nn.Module) -> nn.Module:
    return _net(nn.Flatten(), nn.Linear(50, 5), *layers)


def batch_norm():
    return _net(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU())


def batch_norm_with_other_numbers():
    return _net(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3, momentum=0.4, eps=1e-2), nn.ReLU())


def batch_norm_of_vectors():
    return _dense(nn.BatchNorm1d(5), nn.Tanh())


def batch_norm_of_the_input():
    return _net(nn.BatchNorm2d(2), nn.Conv2d(2, 3, 3))


def strides():
    return _net(nn.Conv2d(2, 4, 2, stride=2, padding=1))


def dilation():
    return _net(nn.Conv2d(2, 4, 2, dilation=2, bias=False))


def groups():
    return _net(nn.Conv2d(2, 4, 3, groups=2), nn.Conv2d(4, 4, 3, groups=4))


def padding_by_name():
    return _net(nn.Conv2d(2, 3, 3, padding="same"), nn.Conv2d(3, 2, (1, 3), padding="valid"))


def max_pool():
    return _net(nn.Conv2d(2, 3, 3, padding=1), nn.MaxPool2d(2, ceil_mode=True))


def max_pool_of_the_input():
    return _net(nn.MaxPool2d(2), nn.Conv2d(2, 3, 2))


def mean_pool():
    return _net(nn.Conv2d(2, 3, 3, padding=1), nn.AvgPool2d(2, stride=1, padding=1))


def mean_pool_to_a_size():
    return _net(nn.Conv2d(2, 3, 3), nn.AdaptiveAvgPool2d((2, 1)))


def mean_pool_of_the_input():
    return _net(nn.AdaptiveAvgPool2d(3))


def no_bias():
    return _net(nn.Flatten(), nn.Linear(50, 4, bias=False), nn.ReLU())


def some_layers_fixed():
    net = _dense(nn.ReLU(), nn.Linear(5, 5))
    net[1].requires_grad_(False)
    net[3].bias.requires_grad_(False)
    return net


def dropout_of_the_input():
    return _net(Dropout(0.3), nn.Flatten(), nn.Linear(50, 4), nn.ReLU())


def dropout_of_pictures():
    return _net(nn.Conv2d(2, 3, 3), Dropout(0.5), nn.MaxPool2d(2), Dropout(0.2))


def dropout_after_batch_norm():
    return _dense(nn.BatchNorm1d(5), Dropout(0.5))


def relu():
    return _dense(nn.ReLU(inplace=True))


def tanh():
    return _dense(nn.Tanh())


def gelu():
    return _dense(nn.GELU(), nn.Linear(5, 5), nn.GELU(approximate="tanh"))


def sigmoid():
    return _dense(nn.Sigmoid())


def silu():
    return _dense(nn.SiLU())


def elu():
    return _dense(nn.ELU(alpha=0.5))


def leaky_relu():
    return _dense(nn.LeakyReLU(0.2, inplace=True), nn.Identity())


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(2, 2, 3, padding=1), nn.Conv2d(2, 2, 3, padding=1)
        self.out = nn.Linear(50, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x) + x)
        x = F.relu(x + self.second(x))
        return self.out(x.flatten(1))


class LayerUsedTwice(Residual):
    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.second(self.first(self.first(x)).tanh()).flatten(1))


class PicturesByFunction(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.out = nn.Conv2d(2, 3, 3, padding=1), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = F.avg_pool2d(F.max_pool2d(self.conv(x), 2), 1)
        return self.out(torch.flatten(F.adaptive_avg_pool2d(x, (2, 1)), start_dim=1))


class _Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside, self.out = nn.Linear(50, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.between(self.inside(x.flatten(start_dim=1, end_dim=-1))))


class Functions(_Dense):
    def between(self, x: Tensor) -> Tensor:
        x = F.gelu(torch.tanh(x)) + torch.sigmoid(x) * torch.abs(x) - F.silu(x)
        return F.elu(x, alpha=0.3) / torch.exp(torch.square(F.leaky_relu(x, 0.1)))


class Methods(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return x.relu() + x.tanh() - x.sigmoid() * x.abs() / x.exp().square()


class InPlace(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return F.relu(x, inplace=True)


class Numbers(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return torch.div(torch.mul(torch.sub(1 - 2 * x / 3 + 0.5, 1), 2), 3)


class Modes(_Dense):
    def between(self, x: Tensor) -> Tensor:
        return torch.tanh(x) * 2 if self.training else x


class DropoutUsedTwice(_Dense):
    def __init__(self):
        super().__init__()
        self.dropout = Dropout(0.4)

    def between(self, x: Tensor) -> Tensor:
        return self.dropout(x) + self.dropout(x * 2)


class ParametersOfItsOwn(_Dense):
    def __init__(self):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.rand(4)), nn.Parameter(torch.tensor(0.3))
        self.channels = nn.Parameter(torch.rand(2, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.inside((x * self.channels).flatten(1) + self.shift)
        return self.out(x * torch.exp(self.scale * self.shift)) * self.shift


class Gates(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside, self.gate, self.out = nn.Linear(50, 4), nn.Linear(50, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        return self.out(self.inside(x) * self.gate(x).sigmoid())


class Watched(_Dense):
    def __init__(self):
        super().__init__()
        self.between = nn.BatchNorm1d(4)

    def extras(self) -> dict[str, float]:
        return {"mean": self.between.running_mean.sum().item(), "bias": self.out.bias.sum().item()}
