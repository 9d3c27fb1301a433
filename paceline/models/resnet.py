"""Residual networks (He et al. 2016); a bottleneck has its stride in the 3x3 convolution.

Small: the first convolution is 3x3 without a stride, and no pool follows it.
"""

from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from paceline.models.image_network import ImageNetwork, fill_convolutions


class _Block(nn.Module):
    """Convolutions of these (channels, kernel, stride), and the input led past them, through a 1x1 convolution where
    the shape changes."""

    def __init__(self, before: int, convolutions: tuple[tuple[int, int, int], ...]) -> None:
        super().__init__()
        self.depth = len(convolutions)
        given, stride = before, 1
        for i, (after, kernel, step) in enumerate(convolutions, 1):
            self.add_module(f"conv{i}", nn.Conv2d(given, after, kernel, step, padding=kernel // 2, bias=False))
            self.add_module(f"bn{i}", nn.BatchNorm2d(after))
            given, stride = after, stride * step
        self.downsample: nn.Module | None = None
        if stride != 1 or given != before:
            self.downsample = nn.Sequential(nn.Conv2d(before, given, 1, stride, bias=False), nn.BatchNorm2d(given))

    def forward(self, x: Tensor) -> Tensor:
        past = x if self.downsample is None else self.downsample(x)
        for i in range(1, self.depth + 1):
            x = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x))
            x = F.relu(x, inplace=True) if i < self.depth else x
        return F.relu(x + past, inplace=True)


class _ResNet(ImageNetwork):
    smallest = {"imagenet": 1, "small": 1}
    depths: ClassVar[tuple[int, ...]]  # blocks of 64, 128, 256 and 512 channels
    bottleneck: ClassVar[bool]

    def __init__(self, input_shape: tuple[int, ...], outputs: int, *, stem: str = "imagenet") -> None:
        super().__init__(input_shape, stem)
        small = stem == "small"
        kernel, stride = (3, 1) if small else (7, 2)
        self.conv1 = nn.Conv2d(input_shape[0], 64, kernel, stride, padding=kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.Identity() if small else nn.MaxPool2d(3, 2, padding=1)
        before = 64
        for i, (width, depth) in enumerate(zip((64, 128, 256, 512), self.depths, strict=True), 1):
            blocks = []
            for step in (1 if i == 1 else 2, *[1] * (depth - 1)):
                blocks.append(_Block(before, self._convolutions(width, step)))
                before = width * 4 if self.bottleneck else width
            self.add_module(f"layer{i}", nn.Sequential(*blocks))
        self.fc = nn.Linear(before, outputs)
        fill_convolutions(self, "fan_out")

    def _convolutions(self, width: int, step: int) -> tuple[tuple[int, int, int], ...]:
        if self.bottleneck:
            return (width, 1, 1), (width, 3, step), (width * 4, 1, 1)
        return (width, 3, step), (width, 3, 1)

    @property
    def head(self) -> nn.Module:
        return self.fc

    def embed(self, x: Tensor) -> Tensor:
        x = self.maxpool(F.relu(self.bn1(self.conv1(x)), inplace=True))
        for i in range(1, 5):
            x = getattr(self, f"layer{i}")(x)
        return F.adaptive_avg_pool2d(x, 1).flatten(1)


class ResNet18(_ResNet):
    name = "resnet18"
    depths = (2, 2, 2, 2)
    bottleneck = False


class ResNet50(_ResNet):
    name = "resnet50"
    depths = (3, 4, 6, 3)
    bottleneck = True
