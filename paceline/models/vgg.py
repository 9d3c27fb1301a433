"""VGG (Simonyan and Zisserman 2015): five groups of 3x3 convolutions with a pool behind each, three dense layers.

Small: pools round up, so that 28 pixels will do, and the dense layers see one place, all that 32 pixels leave.
"""

from typing import ClassVar

from torch import nn

from paceline.models.dropout import Dropout
from paceline.models.image_network import DenseNetwork, fill_convolutions, fill_dense


class _VGG(DenseNetwork):
    smallest = {"imagenet": 32, "small": 1}
    depths: ClassVar[tuple[int, ...]]  # convolutions of 64, 128, 256, 512 and 512 channels
    normed: ClassVar[bool]

    def __init__(
        self, input_shape: tuple[int, ...], outputs: int, *, stem: str = "imagenet", dropout: float = 0.5
    ) -> None:
        super().__init__(input_shape, stem)
        small = stem == "small"
        layers: list[nn.Module] = []
        before = input_shape[0]
        for width, depth in zip((64, 128, 256, 512, 512), self.depths, strict=True):
            for _ in range(depth):
                layers.append(nn.Conv2d(before, width, 3, padding=1))
                layers += [nn.BatchNorm2d(width)] if self.normed else []
                layers.append(nn.ReLU(inplace=True))
                before = width
            layers.append(nn.MaxPool2d(2, ceil_mode=small))
        side = 1 if small else 7
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(side)
        self.classifier = nn.Sequential(
            nn.Linear(512 * side * side, 4096),
            nn.ReLU(inplace=True),
            Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            Dropout(dropout),
            nn.Linear(4096, outputs),
        )
        fill_convolutions(self, "fan_out")
        fill_dense(self)


class VGG16BN(_VGG):
    name = "vgg16_bn"
    depths = (2, 2, 3, 3, 3)
    normed = True


class VGG19(_VGG):
    name = "vgg19"
    depths = (2, 2, 4, 4, 4)
    normed = False


class VGG19BN(_VGG):
    name = "vgg19_bn"
    depths = (2, 2, 4, 4, 4)
    normed = True
