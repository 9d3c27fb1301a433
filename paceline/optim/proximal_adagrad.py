"""Adagrad with l1 and l2 penalties (Duchi et al. 2011), as tf.compat.v1.train.ProximalAdagradOptimizer."""

import torch
from torch import Tensor

from paceline.optim.rule import Hyper, Rule, State, is_zero


def _init(parameter: Tensor, hyper: Hyper) -> State:
    return {"sum": torch.zeros_like(parameter) + hyper["initial_accumulator_value"]}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    total = torch.addcmul(state["sum"], gradient, gradient)
    rate = hyper["lr"] * total.rsqrt()
    moved = torch.addcmul(parameter, rate, gradient, value=-1)
    if is_zero(hyper["l1"]) and is_zero(hyper["l2"]):
        return moved, {"sum": total}
    shrunk = moved.sign() * (moved.abs() - rate * hyper["l1"]).clamp(min=0) / (1 + rate * hyper["l2"])
    return shrunk, {"sum": total}


proximal_adagrad = Rule(_init, _update)
