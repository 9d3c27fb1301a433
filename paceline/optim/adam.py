"""Adam (Kingma & Ba 2015), as tf.compat.v1.train.AdamOptimizer.

`epsilon` is the paper's epsilon-hat: it is added before the bias correction of the second moment. The powers
of the betas are kept as state in the parameter's precision, whose rounding is felt in the first steps.
"""

from typing import Any

import torch
from torch import Tensor, nn

from paceline.optim.rule import Hyper, Rule, State, rounded


def _init(parameter: Tensor, hyper: Hyper) -> State:
    one = torch.ones_like(torch.as_tensor(hyper["lr"], dtype=parameter.dtype, device=parameter.device))
    zero = torch.zeros_like(parameter)
    return {"m": zero, "v": zero.clone(), "beta1_power": one, "beta2_power": one.clone()}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    beta1, beta2 = (rounded(hyper[name], parameter.dtype) for name in ("beta1", "beta2"))
    m = torch.lerp(state["m"], gradient, 1 - beta1)
    v = torch.lerp(state["v"], gradient * gradient, 1 - beta2)
    beta1_power, beta2_power = state["beta1_power"] * beta1, state["beta2_power"] * beta2
    rate = hyper["lr"] * (1 - beta2_power).sqrt() / (1 - beta1_power)
    new = torch.addcdiv(parameter, -rate * m, v.sqrt() + hyper["epsilon"])
    return new, {"m": m, "v": v, "beta1_power": beta1_power, "beta2_power": beta2_power}


def _twin(parameters: list[nn.Parameter], hyper: Hyper) -> torch.optim.Optimizer:
    """Torch adds eps after the bias correction and knows exact powers: two hooks make up for both."""
    dtype = parameters[0].dtype
    betas = (rounded(hyper["beta1"], dtype), rounded(hyper["beta2"], dtype))
    group = {"params": parameters, "updates": 0, "powers": [1.0, 1.0], "epsilon": hyper["epsilon"]}
    optimizer = torch.optim.Adam([group], lr=hyper["lr"], betas=betas, fused=True)
    optimizer.register_step_pre_hook(_before_step)
    optimizer.register_step_post_hook(_after_step)
    return optimizer


def _before_step(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
    for group in optimizer.param_groups:
        betas, dtype = group["betas"], group["params"][0].dtype
        group["updates"] += 1
        group["powers"] = [rounded(p * beta, dtype) for p, beta in zip(group["powers"], betas, strict=True)]
        exact = [beta ** group["updates"] for beta in betas]
        group["eps"] = group["epsilon"] / (1 - exact[1]) ** 0.5
        group["asked_lr"] = group["lr"]
        group["lr"] *= _correction(group["powers"]) / _correction(exact)


def _after_step(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
    for group in optimizer.param_groups:
        group["lr"] = group.pop("asked_lr")


def _correction(powers: list[float]) -> float:
    return float((1 - powers[1]) ** 0.5 / (1 - powers[0]))


adam = Rule(_init, _update, twin=_twin)
