"""Adam with decoupled weight decay (Loshchilov & Hutter 2019), as torch.optim.AdamW."""

import torch
from torch import Tensor, nn

from paceline.optim.rule import Hyper, Rule, State, decayed


def _init(parameter: Tensor, hyper: Hyper) -> State:
    return {"m": torch.zeros_like(parameter), "v": torch.zeros_like(parameter)}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    lr, beta1, beta2, step = hyper["lr"], hyper["beta1"], hyper["beta2"], hyper["step"]
    m = torch.lerp(state["m"], gradient, 1 - beta1)
    v = torch.lerp(state["v"], gradient * gradient, 1 - beta2)
    root = v.sqrt() / (1 - beta2**step) ** 0.5 + hyper["epsilon"]
    return torch.addcdiv(decayed(parameter, hyper), -lr / (1 - beta1**step) * m, root), {"m": m, "v": v}


def _twin(parameters: list[nn.Parameter], hyper: Hyper) -> torch.optim.Optimizer:
    betas = (hyper["beta1"], hyper["beta2"])
    lr, eps, weight_decay = hyper["lr"], hyper["epsilon"], hyper["weight_decay"]
    return torch.optim.AdamW(parameters, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=True)


adamw = Rule(_init, _update, twin=_twin)
