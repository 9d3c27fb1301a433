"""One layer of logits: multinomial logistic regression."""

import math

from torch import Tensor, nn

from paceline.models.init import initialise


class Softmax(nn.Module):
    def __init__(self, input_shape: tuple[int, ...], outputs: int, *, init: str) -> None:
        super().__init__()
        self.layer = nn.Linear(math.prod(input_shape), outputs)
        initialise(self, init)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.layer(x.flatten(1))
        return logits
