"""Muon (Jordan et al. 2024): matrices move by orthogonalised momentum, all else by AdamW at the same lr.

As torch.optim.Muon(adjust_lr_fn="match_rms_adamw") (Liu et al. 2025), with two differences: kernels of
convolutions are taken as [out, rest], and the iteration runs in the parameter's dtype, not in bfloat16.
"""

import math

import torch
from torch import Tensor

from paceline.optim.adamw import adamw
from paceline.optim.rule import Hyper, Rule, State, decayed, minus


def orthogonalised(matrices: Tensor, steps: int) -> Tensor:
    """About U V' for each [..., rows, columns] = U S V', by the quintic Newton-Schulz iteration."""
    tall = matrices.shape[-2] > matrices.shape[-1]
    x: Tensor = matrices.mT if tall else matrices
    x = x / torch.linalg.vector_norm(x, dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = 3.4445 * x + (2.0315 * gram @ gram - 4.7750 * gram) @ x
    return x.mT if tall else x


def _is_matrix(parameter: Tensor, hyper: Hyper) -> bool:
    return parameter.ndim >= (3 if hyper.get("stacked", False) else 2)


def _init(parameter: Tensor, hyper: Hyper) -> State:
    if not _is_matrix(parameter, hyper):
        return adamw.init(parameter, hyper)
    return {"velocity": torch.zeros_like(parameter)}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    if not _is_matrix(parameter, hyper):
        return adamw.update(gradient, state, parameter, hyper)
    lr, momentum = hyper["lr"], hyper["momentum"]
    velocity = torch.lerp(state["velocity"], gradient, 1 - momentum)
    ahead = torch.lerp(gradient, velocity, momentum) if hyper["nesterov"] else velocity
    matrices = ahead.flatten(2 if hyper.get("stacked", False) else 1)
    direction = orthogonalised(matrices, hyper["ns_steps"]).reshape(parameter.shape)
    scale = 0.2 * math.sqrt(max(matrices.shape[-2:]))
    return minus(decayed(parameter, hyper), lr * scale, direction), {"velocity": velocity}


muon = Rule(_init, _update, elementwise=False)
