"""y = W x + b: the smallest thing that can be trained. Both parameters are recorded as curves."""

import torch
from torch import Tensor, nn


class Line(nn.Module):
    def __init__(self, input_shape: tuple[int, ...], outputs: int, *, W: float, b: float) -> None:  # noqa: N803
        super().__init__()
        if tuple(input_shape) != (1,) or outputs != 1:
            raise ValueError(f"the model line maps one value to one, not {tuple(input_shape)} to {outputs}")
        self.W = nn.Parameter(torch.tensor(float(W)))
        self.b = nn.Parameter(torch.tensor(float(b)))

    def forward(self, x: Tensor) -> Tensor:
        return self.W * x + self.b

    def extras(self) -> dict[str, float]:
        """Columns of the rows, beside those that every run has."""
        return {"W": self.W.item(), "b": self.b.item()}
