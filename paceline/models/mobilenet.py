"""MobileNetV2 (Sandler et al. 2018): blocks that widen, convolve channel by channel, and narrow again.

Small: the first convolution and the first block with a stride have none.
"""

from torch import Tensor, nn

from paceline.models.dropout import Dropout
from paceline.models.image_network import ImageNetwork, fill_convolutions, fill_dense

_BLOCKS = (  # widening, channels, how many, stride of the first
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def _convolution(before: int, after: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    conv = nn.Conv2d(before, after, kernel, stride, padding=kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(after), nn.ReLU6(inplace=True))


class _Block(nn.Module):
    def __init__(self, before: int, after: int, stride: int, widening: int) -> None:
        super().__init__()
        wide = before * widening
        layers: list[nn.Module] = [_convolution(before, wide, 1)] if widening > 1 else []
        layers += [_convolution(wide, wide, 3, stride, groups=wide)]
        layers += [nn.Conv2d(wide, after, 1, bias=False), nn.BatchNorm2d(after)]
        self.conv = nn.Sequential(*layers)
        self.past = stride == 1 and before == after

    def forward(self, x: Tensor) -> Tensor:
        new: Tensor = self.conv(x)
        return x + new if self.past else new


class MobileNetV2(ImageNetwork):
    name = "mobilenet_v2"
    smallest = {"imagenet": 1, "small": 1}

    def __init__(
        self, input_shape: tuple[int, ...], outputs: int, *, stem: str = "imagenet", dropout: float = 0.2
    ) -> None:
        super().__init__(input_shape, stem)
        small, before = stem == "small", 32
        layers: list[nn.Module] = [_convolution(input_shape[0], before, 3, 1 if small else 2)]
        for widening, after, count, stride in _BLOCKS:
            first = 1 if small and after == 24 else stride
            for step in (first, *[1] * (count - 1)):
                layers.append(_Block(before, after, step, widening))
                before = after
        self.features = nn.Sequential(*layers, _convolution(before, 1280, 1))
        self.classifier = nn.Sequential(Dropout(dropout), nn.Linear(1280, outputs))
        fill_convolutions(self, "fan_out")
        fill_dense(self)

    @property
    def head(self) -> nn.Module:
        return self.classifier

    def embed(self, x: Tensor) -> Tensor:
        features: Tensor = self.features(x)
        return nn.functional.adaptive_avg_pool2d(features, 1).flatten(1)
