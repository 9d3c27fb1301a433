"""Fobos (Duchi & Singer 2009), as tf.compat.v1.train.ProximalGradientDescentOptimizer."""

from torch import Tensor

from paceline.optim.rule import Hyper, Rule, State, is_zero, minus


def _init(parameter: Tensor, hyper: Hyper) -> State:
    return {}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    lr = hyper["lr"]
    moved = minus(parameter, lr, gradient)
    if is_zero(hyper["l1"]) and is_zero(hyper["l2"]):
        return moved, {}
    return moved.sign() * (moved.abs() - lr * hyper["l1"]).clamp(min=0) / (1 + lr * hyper["l2"]), {}


proximal_gd = Rule(_init, _update)
