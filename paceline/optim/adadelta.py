"""Adadelta (Zeiler 2012) with a learning rate, as tf.compat.v1.train.AdadeltaOptimizer."""

import torch
from torch import Tensor

from paceline.optim.rule import Hyper, Rule, State, minus, rounded


def _init(parameter: Tensor, hyper: Hyper) -> State:
    return {"square": torch.zeros_like(parameter), "square_change": torch.zeros_like(parameter)}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    weight, epsilon = 1 - rounded(hyper["rho"], parameter.dtype), hyper["epsilon"]
    square = torch.lerp(state["square"], gradient * gradient, weight)
    change = (state["square_change"] + epsilon).sqrt() * (square + epsilon).rsqrt() * gradient
    square_change = torch.lerp(state["square_change"], change * change, weight)
    return minus(parameter, hyper["lr"], change), {"square": square, "square_change": square_change}


adadelta = Rule(_init, _update)
