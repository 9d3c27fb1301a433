"""DenseNet (Huang et al. 2017): within a block, a layer sees the outputs of all before it.

Small: the first convolution is 3x3 without a stride, and no pool follows it.
"""

from collections import OrderedDict
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from paceline.models.dropout import Dropout
from paceline.models.image_network import ImageNetwork, fill_convolutions


class _Layer(nn.Module):
    """Adds `growth` channels to those it is given."""

    def __init__(self, before: int, growth: int, dropout: float) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(before)
        self.conv1 = nn.Conv2d(before, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        new = self.conv1(F.relu(self.norm1(x), inplace=True))
        new = self.conv2(F.relu(self.norm2(new), inplace=True))
        return torch.cat([x, self.dropout(new)], 1)


class _Transition(nn.Sequential):
    """Halves channels and size."""

    def __init__(self, before: int) -> None:
        norm, conv = nn.BatchNorm2d(before), nn.Conv2d(before, before // 2, 1, bias=False)
        layers = {"norm": norm, "relu": nn.ReLU(inplace=True), "conv": conv, "pool": nn.AvgPool2d(2)}
        super().__init__(OrderedDict(layers))


class DenseNet121(ImageNetwork):
    name = "densenet121"
    smallest = {"imagenet": 29, "small": 8}
    depths: ClassVar[tuple[int, ...]] = (6, 12, 24, 16)
    growth: ClassVar[int] = 32

    def __init__(
        self, input_shape: tuple[int, ...], outputs: int, *, stem: str = "imagenet", dropout: float = 0.0
    ) -> None:
        super().__init__(input_shape, stem)
        small, before = stem == "small", 2 * self.growth
        kernel, stride = (3, 1) if small else (7, 2)
        layers: dict[str, nn.Module] = {
            "conv0": nn.Conv2d(input_shape[0], before, kernel, stride, padding=kernel // 2, bias=False),
            "norm0": nn.BatchNorm2d(before),
            "relu0": nn.ReLU(inplace=True),
            "pool0": nn.Identity() if small else nn.MaxPool2d(3, 2, padding=1),
        }
        for i, depth in enumerate(self.depths, 1):
            widths = [before + j * self.growth for j in range(depth + 1)]
            block = {f"denselayer{j}": _Layer(w, self.growth, dropout) for j, w in enumerate(widths[:-1], 1)}
            layers[f"denseblock{i}"] = nn.Sequential(OrderedDict(block))
            before = widths[-1]
            if i < len(self.depths):
                layers[f"transition{i}"] = _Transition(before)
                before //= 2
        layers["norm5"] = nn.BatchNorm2d(before)
        self.features = nn.Sequential(OrderedDict(layers))
        self.classifier = nn.Linear(before, outputs)
        fill_convolutions(self, "fan_in")
        nn.init.zeros_(self.classifier.bias)

    @property
    def head(self) -> nn.Module:
        return self.classifier

    def embed(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(F.relu(self.features(x), inplace=True), 1).flatten(1)
