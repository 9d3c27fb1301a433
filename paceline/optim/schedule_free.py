"""Schedule-free AdamW (Defazio et al. 2024): gradients at y, steps on z, evaluation at their average x.

The parameter holds y = (1 - beta1) z + beta1 x. A step weighs in x as the square of the largest lr so far.
"""

import torch
from torch import Tensor

from paceline.optim.rule import Hyper, Rule, State


def _init(parameter: Tensor, hyper: Hyper) -> State:
    """`weight` is the sum of all weights in units of the last: at a constant lr, the number of steps."""
    zero = torch.zeros_like(torch.as_tensor(hyper["lr"], dtype=parameter.dtype, device=parameter.device))
    return {"z": parameter.clone(), "v": torch.zeros_like(parameter), "top_lr": zero, "weight": zero.clone()}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    lr, beta1, beta2 = hyper["lr"], hyper["beta1"], hyper["beta2"]
    v = torch.lerp(state["v"], gradient * gradient, 1 - beta2)
    root = (v / (1 - beta2 ** hyper["step"])).sqrt() + hyper["epsilon"]
    direction = gradient / root + hyper["weight_decay"] * parameter
    top_lr = state["top_lr"].clamp(min=lr)
    earlier = torch.where(top_lr > 0, state["top_lr"] / top_lr, 0) ** 2
    weight = earlier * state["weight"] + (top_lr > 0)
    share = torch.where(weight > 0, 1 / weight, 0)
    y = torch.lerp(parameter, state["z"], share) - lr * (1 - beta1 * (1 - share)) * direction
    return y, {"z": state["z"] - lr * direction, "v": v, "top_lr": top_lr, "weight": weight}


def _at_evaluation(parameter: Tensor, state: State, hyper: Hyper) -> Tensor:
    return torch.lerp(parameter, state["z"], 1 - 1 / hyper["beta1"])


schedule_free = Rule(_init, _update, at_evaluation=_at_evaluation)
