"""The modern rules, held to other people's implementations."""

from typing import Any

import pytest
import schedulefree
import torch
from torch import Tensor, nn

from paceline.optim.muon import orthogonalised
from paceline.optim.optimizer import RuleOptimizer, at_evaluation

from .rules import RULES

LRS = (0.1, 0.1, 0.03, 0.05, 0.2, 0.01, 0.1, 0.1)


def _pair(*shape: int, dtype: torch.dtype = torch.float64) -> tuple[nn.Parameter, nn.Parameter, Tensor]:
    torch.manual_seed(3)
    start = torch.randn(*shape, dtype=dtype)
    return nn.Parameter(start), nn.Parameter(start.clone()), torch.randn(len(LRS), *shape, dtype=dtype)


def _run(optimizer: torch.optim.Optimizer, parameter: nn.Parameter, gradients: Tensor) -> None:
    for lr, gradient in zip(LRS, gradients, strict=True):
        optimizer.param_groups[0]["lr"] = lr
        parameter.grad = gradient.clone()
        optimizer.step()


def _ours(name: str, parameter: nn.Parameter, **knobs: Any) -> RuleOptimizer:
    return RuleOptimizer([parameter], RULES[name].rule, lr=0.1, **RULES[name].knobs | knobs)


@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"weight_decay": 0.1},
        {"dampening": 0.5},
        {"momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1},
        {"momentum": 0.9, "nesterov": True},
    ],
    ids=str,
)
def test_sgd(knobs: dict[str, Any]) -> None:
    ours, theirs, gradients = _pair(4, 3)
    _run(_ours("sgd", ours, **knobs), ours, gradients)
    _run(torch.optim.SGD([theirs], lr=0.1, **knobs), theirs, gradients)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_adamw(weight_decay: float) -> None:
    ours, theirs, gradients = _pair(4, 3)
    _run(_ours("adamw", ours, weight_decay=weight_decay, epsilon=1e-3), ours, gradients)
    _run(torch.optim.AdamW([theirs], lr=0.1, weight_decay=weight_decay, eps=1e-3), theirs, gradients)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_lion() -> None:
    ours, theirs, gradients = _pair(4, 3)
    _run(_ours("lion", ours, weight_decay=0.2), ours, gradients)
    p, m = theirs.detach(), torch.zeros(4, 3, dtype=torch.float64)
    for lr, g in zip(LRS, gradients, strict=True):
        c = 0.9 * m + 0.1 * g
        p = p - lr * (torch.sign(c) + 0.2 * p)
        m = 0.99 * m + 0.01 * g
    torch.testing.assert_close(ours.detach(), p, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_schedule_free(weight_decay: float) -> None:
    ours, theirs, gradients = _pair(4, 3)
    optimizer = _ours("schedule_free", ours, weight_decay=weight_decay)
    oracle = schedulefree.AdamWScheduleFree([theirs], lr=0.1, weight_decay=weight_decay)
    oracle.train()
    _run(optimizer, ours, gradients)
    _run(oracle, theirs, gradients)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    oracle.eval()
    with at_evaluation(optimizer):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(8, 8), (16, 4), (4, 16)], ids=str)
def test_orthogonalisation_is_the_polynomial_of_the_singular_values(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    u, s, vt = torch.linalg.svd(matrix, full_matrices=False)
    s = s / s.norm()
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    torch.testing.assert_close(orthogonalised(matrix, 5), u @ s.diag() @ vt, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize("shape", [(16, 4), (4, 16)], ids=str)
def test_muon_on_matrices(shape: tuple[int, int], nesterov: bool) -> None:
    """Torch iterates in bfloat16, with 8 bits: the paths agree to some percent of the way travelled."""
    ours, theirs, gradients = _pair(*shape, dtype=torch.float32)
    start = ours.detach().clone()
    _run(_ours("muon", ours, weight_decay=0.1, nesterov=nesterov), ours, gradients)
    oracle = torch.optim.Muon([theirs], lr=0.1, weight_decay=0.1, nesterov=nesterov, adjust_lr_fn="match_rms_adamw")
    _run(oracle, theirs, gradients)
    assert (ours - theirs).norm() < 0.02 * (theirs - start).norm()


def test_muon_takes_a_kernel_as_a_matrix_and_a_vector_by_adamw() -> None:
    kernel, matrix, gradients = _pair(6, 2, 3, 3)[0], *_pair(6, 18)[1:]
    _run(_ours("muon", kernel), kernel, gradients.view(-1, 6, 2, 3, 3))
    _run(_ours("muon", matrix), matrix, gradients)
    torch.testing.assert_close(kernel.flatten(1), matrix.detach(), rtol=1e-12, atol=1e-12)
    ours, theirs, gradients = _pair(5)
    _run(_ours("muon", ours), ours, gradients)
    _run(torch.optim.AdamW([theirs], betas=(0.9, 0.95), weight_decay=0.0), theirs, gradients)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
