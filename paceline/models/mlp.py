"""Fully connected layers of the given widths, then one of logits."""

import math
from collections.abc import Sequence

from torch import Tensor, nn

from paceline.models.dropout import Dropout
from paceline.models.init import initialise

_ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}


class MLP(nn.Module):
    def __init__(
        self,
        input_shape: tuple[int, ...],
        outputs: int,
        *,
        widths: Sequence[int],
        activation: str,
        dropout: float,
        init: str,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Flatten()]
        before = math.prod(input_shape)
        for width in widths:
            layers += [nn.Linear(before, width), _ACTIVATIONS[activation](), Dropout(dropout)]
            before = width
        self.layers = nn.Sequential(*layers, nn.Linear(before, outputs))
        initialise(self, init)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.layers(x)
        return logits
