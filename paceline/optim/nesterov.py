"""Nesterov's momentum (Sutskever et al. 2013), as tf.compat.v1.train.MomentumOptimizer(use_nesterov=True)."""

import torch
from torch import Tensor, nn

from paceline.optim.rule import Hyper, Rule, State, minus, plus


def _init(parameter: Tensor, hyper: Hyper) -> State:
    return {"velocity": torch.zeros_like(parameter)}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    velocity = plus(gradient, hyper["momentum"], state["velocity"])
    ahead = plus(gradient, hyper["momentum"], velocity)
    return minus(parameter, hyper["lr"], ahead), {"velocity": velocity}


def _twin(parameters: list[nn.Parameter], hyper: Hyper) -> torch.optim.Optimizer:
    momentum = hyper["momentum"]
    return torch.optim.SGD(parameters, lr=hyper["lr"], momentum=momentum, nesterov=momentum > 0, fused=True)


nesterov = Rule(_init, _update, twin=_twin)
