"""What the image networks share: two halves, so that a frozen base's output can be computed once, and what they refuse.

Names and shapes of the weights are torchvision's, so that its files load as they are. The stem `small` is for images
of about 32 pixels: it leaves out the first two halvings.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

from torch import Tensor, nn


class ImageNetwork(nn.Module, ABC):
    name: ClassVar[str]
    smallest: ClassVar[Mapping[str, int]]  # side of an image that the pools leave something of, by stem

    def __init__(self, input_shape: tuple[int, ...], stem: str) -> None:
        super().__init__()
        if stem not in self.smallest:
            raise ValueError(f"unknown stem {stem!r} of {self.name}. Allowed: {', '.join(self.smallest)}")
        if len(input_shape) != 3:
            raise ValueError(f"{self.name} takes images (channels, height, width), not {tuple(input_shape)}")
        _, height, width = input_shape
        least = self.smallest[stem]
        if min(height, width) < least:
            raise ValueError(
                f"{self.name} with the stem {stem} takes images of at least {least} x {least} pixels, "
                f"not {height} x {width}"
            )

    @property
    @abstractmethod
    def head(self) -> nn.Module:
        """Exactly the parameters that `classify` uses."""

    @abstractmethod
    def embed(self, x: Tensor) -> Tensor:
        """Everything before the head."""

    def classify(self, features: Tensor) -> Tensor:
        outputs: Tensor = self.head(features)
        return outputs

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.embed(x))


class DenseNetwork(ImageNetwork):
    """Convolutions, a pool and dense layers, of which the last is the head."""

    features: nn.Module
    avgpool: nn.Module
    classifier: nn.Sequential

    @property
    def head(self) -> nn.Module:
        return self.classifier[-1]

    def embed(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x)).flatten(1)
        for layer in list(self.classifier)[:-1]:
            x = layer(x)
        return x


def fill_convolutions(model: nn.Module, mode: Literal["fan_in", "fan_out"]) -> None:
    """He et al. 2015, normal, by `fan_in` or `fan_out`; biases 0."""
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode=mode, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def fill_dense(model: nn.Module) -> None:
    """Normal with a deviation of 0.01; biases 0."""
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.zeros_(layer.bias)
