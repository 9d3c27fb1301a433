"""AlexNet in its one-column form (Krizhevsky 2014): five convolutions, three dense layers.

Small: the first convolution is 5x5 without a stride, and the dense layers see 3x3 places, all that 32 pixels leave.
"""

from torch import nn

from paceline.models.dropout import Dropout
from paceline.models.image_network import DenseNetwork


class AlexNet(DenseNetwork):
    name = "alexnet"
    smallest = {"imagenet": 63, "small": 15}

    def __init__(
        self, input_shape: tuple[int, ...], outputs: int, *, stem: str = "imagenet", dropout: float = 0.5
    ) -> None:
        super().__init__(input_shape, stem)
        small = stem == "small"
        layers: list[nn.Module] = [
            nn.Conv2d(input_shape[0], 64, 5, padding=2)
            if small
            else nn.Conv2d(input_shape[0], 64, 11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2),
        ]
        before = 64
        for width, kernel, pooled in ((192, 5, True), (384, 3, False), (256, 3, False), (256, 3, True)):
            layers += [nn.Conv2d(before, width, kernel, padding=kernel // 2), nn.ReLU(inplace=True)]
            layers += [nn.MaxPool2d(3, 2)] if pooled else []
            before = width
        side = 3 if small else 6
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(side)
        self.classifier = nn.Sequential(
            Dropout(dropout),
            nn.Linear(256 * side * side, 4096),
            nn.ReLU(inplace=True),
            Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, outputs),
        )
