"""Gradient descent, as tf.compat.v1.train.GradientDescentOptimizer."""

import torch
from torch import Tensor, nn

from paceline.optim.rule import Hyper, Rule, State, minus


def _init(parameter: Tensor, hyper: Hyper) -> State:
    return {}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    return minus(parameter, hyper["lr"], gradient), {}


def _twin(parameters: list[nn.Parameter], hyper: Hyper) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=hyper["lr"], fused=True)


gd = Rule(_init, _update, twin=_twin)
