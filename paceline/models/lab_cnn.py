"""The CNN of the classic TensorFlow 1 MNIST lab: 5x5x32, pool, 5x5x64, pool, dense 1024, dropout, logits.

Convolutions are padded to keep the size and pools halve it, rounding up, as TensorFlow's SAME does. The pool comes
before the rectifier: the maximum commutes with it, and a quarter of the values is left to rectify.
"""

import math

import torch.nn.functional as F
from torch import Tensor, nn

from paceline.models.dropout import Dropout
from paceline.models.init import initialise


class LabCNN(nn.Module):
    def __init__(self, input_shape: tuple[int, ...], outputs: int, *, dropout: float, init: str) -> None:
        super().__init__()
        if len(input_shape) != 3:
            raise ValueError(f"lab_cnn takes images (channels, height, width), not {tuple(input_shape)}")
        channels, height, width = input_shape
        self.conv1 = nn.Conv2d(channels, 32, 5, padding=2)
        self.conv2 = nn.Conv2d(32, 64, 5, padding=2)
        self.dense = nn.Linear(64 * math.ceil(height / 4) * math.ceil(width / 4), 1024)
        self.dropout = Dropout(dropout)
        self.logits = nn.Linear(1024, outputs)
        initialise(self, init)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(F.max_pool2d(self.conv1(x), 2, ceil_mode=True))
        x = F.relu(F.max_pool2d(self.conv2(x), 2, ceil_mode=True))
        logits: Tensor = self.logits(self.dropout(F.relu(self.dense(x.flatten(1)))))
        return logits
