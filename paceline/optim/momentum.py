"""Heavy-ball momentum (Polyak 1964), as tf.compat.v1.train.MomentumOptimizer: the velocity holds no lr."""

import torch
from torch import Tensor, nn

from paceline.optim.rule import Hyper, Rule, State, minus, plus


def _init(parameter: Tensor, hyper: Hyper) -> State:
    return {"velocity": torch.zeros_like(parameter)}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    velocity = plus(gradient, hyper["momentum"], state["velocity"])
    return minus(parameter, hyper["lr"], velocity), {"velocity": velocity}


def _twin(parameters: list[nn.Parameter], hyper: Hyper) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=hyper["lr"], momentum=hyper["momentum"], fused=True)


momentum = Rule(_init, _update, twin=_twin)
