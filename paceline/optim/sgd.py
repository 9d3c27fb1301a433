"""Stochastic gradient descent with momentum, dampening and L2 penalty, as torch.optim.SGD."""

import torch
from torch import Tensor, nn

from paceline.optim.rule import Hyper, Rule, State


def _init(parameter: Tensor, hyper: Hyper) -> State:
    return {"velocity": torch.zeros_like(parameter)}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    """The first gradient enters the velocity undampened, and without momentum there is no dampening."""
    momentum = hyper["momentum"]
    dampening = hyper["dampening"] * (momentum != 0) * (hyper["step"] > 1)
    gradient = gradient + hyper["weight_decay"] * parameter
    velocity = momentum * state["velocity"] + (1 - dampening) * gradient
    direction = gradient + momentum * velocity if hyper["nesterov"] else velocity
    return parameter - hyper["lr"] * direction, {"velocity": velocity}


def _twin(parameters: list[nn.Parameter], hyper: Hyper) -> torch.optim.Optimizer:
    knobs = {name: hyper[name] for name in ("momentum", "dampening", "weight_decay", "nesterov")}
    return torch.optim.SGD(parameters, lr=hyper["lr"], fused=True, **knobs)


sgd = Rule(_init, _update, twin=_twin)
