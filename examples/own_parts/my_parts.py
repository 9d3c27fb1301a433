"""One of each kind of part: plain functions and classes, named in study.yaml as my_parts:NAME."""

import numpy as np
import torch
from torch import Tensor, nn

from paceline import Rule


def spirals(examples, noise=0.1, seed=0):
    """A data set is a function that returns train_x, train_y, test_x, test_y (or a paceline.Dataset)."""
    draw = np.random.default_rng(seed)
    y = np.arange(examples) % 2
    turn = draw.uniform(0.5, 3, examples)
    angle = 2 * turn + np.pi * y
    x = np.stack([turn * np.cos(angle), turn * np.sin(angle)], 1) + draw.normal(0, noise, (examples, 2))
    x, cut = x.astype(np.float32), examples * 3 // 4
    return x[:cut], y[:cut], x[cut:], y[cut:]


class GatedNet(nn.Module):
    """A model is given input_shape, outputs or classes if it asks for them; the rest come from the study."""

    def __init__(self, input_shape, classes, width=32, gate=True):
        super().__init__()
        self.inside = nn.Linear(input_shape[0], width)
        self.gate = nn.Linear(input_shape[0], width) if gate else None
        self.out = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.inside(x).relu()
        return self.out(hidden * self.gate(x).sigmoid() if self.gate else hidden)


def margin(outputs, targets, width):
    """A loss takes outputs and targets and gives one number."""
    return nn.functional.multi_margin_loss(outputs, targets, margin=width)


def inverse_root(step, total, every):
    """A schedule is the factor on lr at a step (from 0) of a total."""
    return (1 + step / every) ** -0.5


def _update(gradient, state, parameter, hyper):
    return parameter - hyper["lr"] * torch.sign(gradient), state


sign_descent = Rule(init=lambda parameter, hyper: {}, update=_update)
"""An optimizer is a Rule: (gradient, state, parameter, hyper) -> (new parameter, new state)."""
