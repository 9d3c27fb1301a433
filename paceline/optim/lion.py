"""Lion (Chen et al. 2023, Algorithm 2): the sign of an interpolated momentum, with decoupled weight decay."""

import torch
from torch import Tensor

from paceline.optim.rule import Hyper, Rule, State, decayed, minus


def _init(parameter: Tensor, hyper: Hyper) -> State:
    return {"m": torch.zeros_like(parameter)}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    lr = hyper["lr"]
    direction = torch.lerp(state["m"], gradient, 1 - hyper["beta1"]).sign()
    m = torch.lerp(state["m"], gradient, 1 - hyper["beta2"])
    return minus(decayed(parameter, hyper), lr, direction), {"m": m}


lion = Rule(_init, _update)
