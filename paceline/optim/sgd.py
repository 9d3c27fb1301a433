"""Stochastic gradient descent with momentum, dampening and L2 penalty, as torch.optim.SGD."""

import torch
from torch import Tensor, nn

from paceline.optim.rule import Hyper, Rule, State, is_zero, minus, plus


def _init(parameter: Tensor, hyper: Hyper) -> State:
    return {"velocity": torch.zeros_like(parameter)}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    """The first gradient enters the velocity undampened, and without momentum there is no dampening."""
    momentum = hyper["momentum"]
    moving = momentum.ne(0).to(momentum.dtype) if isinstance(momentum, Tensor) else momentum != 0
    dampening = hyper["dampening"] * moving * (hyper["step"] > 1)
    if not is_zero(hyper["weight_decay"]):
        gradient = plus(gradient, hyper["weight_decay"], parameter)
    velocity = plus((1 - dampening) * gradient, momentum, state["velocity"])
    direction = plus(gradient, momentum, velocity) if hyper["nesterov"] else velocity
    return minus(parameter, hyper["lr"], direction), {"velocity": velocity}


def _twin(parameters: list[nn.Parameter], hyper: Hyper) -> torch.optim.Optimizer:
    knobs = {name: hyper[name] for name in ("momentum", "dampening", "weight_decay", "nesterov")}
    return torch.optim.SGD(parameters, lr=hyper["lr"], fused=True, **knobs)


sgd = Rule(_init, _update, twin=_twin)
