"""Adagrad (Duchi et al. 2011), as tf.compat.v1.train.AdagradOptimizer: no epsilon, a positive start."""

import torch
from torch import Tensor, nn

from paceline.optim.rule import Hyper, Rule, State


def _init(parameter: Tensor, hyper: Hyper) -> State:
    return {"sum": torch.zeros_like(parameter) + hyper["initial_accumulator_value"]}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    total = torch.addcmul(state["sum"], gradient, gradient)
    return torch.addcdiv(parameter, -hyper["lr"] * gradient, total.sqrt()), {"sum": total}


def _twin(parameters: list[nn.Parameter], hyper: Hyper) -> torch.optim.Optimizer:
    fused = all(parameter.is_cpu for parameter in parameters) or None
    start = hyper["initial_accumulator_value"]
    return torch.optim.Adagrad(parameters, lr=hyper["lr"], initial_accumulator_value=start, eps=0.0, fused=fused)


adagrad = Rule(_init, _update, twin=_twin)
