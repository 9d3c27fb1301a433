"""SqueezeNet (Iandola et al. 2016): fires, which squeeze channels and expand them again, and a convolution for a head.

Small: the first convolution is 3x3 without a stride, and no pool follows it.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from paceline.models.dropout import Dropout
from paceline.models.image_network import ImageNetwork

_POOL = 0


class _Fire(nn.Module):
    """A 1x1 convolution, then a 1x1 and a 3x3 beside each other, of four times its width each."""

    def __init__(self, before: int, width: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(before, width, 1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(width, 4 * width, 1)
        self.expand3x3 = nn.Conv2d(width, 4 * width, 3, padding=1)
        self.expand_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze_activation(self.squeeze(x))
        joined: Tensor = self.expand_activation(torch.cat([self.expand1x1(x), self.expand3x3(x)], 1))
        return joined


class _SqueezeNet(ImageNetwork):
    first: ClassVar[tuple[int, int]]  # channels and kernel
    fires: ClassVar[tuple[int, ...]]  # their widths, and the pools between

    def __init__(
        self, input_shape: tuple[int, ...], outputs: int, *, stem: str = "imagenet", dropout: float = 0.5
    ) -> None:
        super().__init__(input_shape, stem)
        small = stem == "small"
        before, kernel = self.first
        layers: list[nn.Module] = [
            nn.Conv2d(input_shape[0], before, 3, padding=1)
            if small
            else nn.Conv2d(input_shape[0], before, kernel, stride=2),
            nn.ReLU(inplace=True),
            nn.Identity() if small else _pool(),
        ]
        for width in self.fires:
            layers.append(_pool() if width == _POOL else _Fire(before, width))
            before = 8 * width or before
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            Dropout(dropout), nn.Conv2d(before, outputs, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1)
        )
        self._fill()

    def _fill(self) -> None:
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                if layer is self.classifier[1]:
                    nn.init.normal_(layer.weight, std=0.01)
                else:
                    nn.init.kaiming_uniform_(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

    @property
    def head(self) -> nn.Module:
        return self.classifier

    def embed(self, x: Tensor) -> Tensor:
        features: Tensor = self.features(x)
        return features

    def classify(self, features: Tensor) -> Tensor:
        return super().classify(features).flatten(1)


def _pool() -> nn.Module:
    return nn.MaxPool2d(3, 2, ceil_mode=True)


class SqueezeNet10(_SqueezeNet):
    name = "squeezenet1_0"
    smallest = {"imagenet": 21, "small": 4}
    first = (96, 7)
    fires = (16, 16, 32, _POOL, 32, 48, 48, 64, _POOL, 64)


class SqueezeNet11(_SqueezeNet):
    name = "squeezenet1_1"
    smallest = {"imagenet": 17, "small": 4}
    first = (64, 3)
    fires = (16, 16, _POOL, 32, 32, _POOL, 48, 48, 64, 64)
