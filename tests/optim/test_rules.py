"""The contract that every rule keeps."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from paceline.optim.rule import Rule

from .rules import RULES

NAMES = sorted(RULES)
SHAPES = ((4, 3), (3,), (), (4, 2, 3, 3))
VARIANTS: dict[str, dict[str, Any]] = {
    "rmsprop": {"centered": True, "momentum": 0.5},
    "sgd": {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
    "muon": {"nesterov": False, "weight_decay": 0.1},
    "ftrl": {"l1": 0.1, "l2": 0.2, "l2_shrinkage": 0.1, "lr_power": -0.7},
    "proximal_gd": {"l1": 0.1, "l2": 0.2},
    "proximal_adagrad": {"l1": 0.1, "l2": 0.2},
    "schedule_free": {"weight_decay": 0.1},
}
SETTINGS = [
    *(pytest.param(name, RULES[name].knobs, id=name) for name in NAMES),
    *(pytest.param(name, RULES[name].knobs | more, id=f"{name}-more") for name, more in VARIANTS.items()),
]


def _trajectory(rule: Rule, parameter: Tensor, gradients: list[Tensor], hyper: dict[str, Any]) -> Tensor:
    state = rule.init(parameter, hyper)
    for step, gradient in enumerate(gradients, start=1):
        hyper = hyper | {"step": step, "lr": hyper["lr"] * 0.97}
        parameter, state = rule.update(gradient, state, parameter, hyper)
    return rule.at_evaluation(parameter, state, hyper) if rule.at_evaluation else parameter


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_decreases_a_convex_quadratic(name: str, dtype: torch.dtype) -> None:
    rule, lr, knobs = RULES[name]
    torch.manual_seed(0)
    curvature = torch.tensor([0.5, 1.0, 2.0], dtype=dtype)
    goal = torch.randn(4, 3, dtype=dtype)
    parameter = torch.randn(4, 3, dtype=dtype)
    start = (curvature * (parameter - goal) ** 2).sum()
    hyper = {**knobs, "lr": lr}
    state = rule.init(parameter, hyper)
    for step in range(1, 301):
        gradient = 2 * curvature * (parameter - goal)
        parameter, state = rule.update(gradient, state, parameter, {**hyper, "step": step})
    assert parameter.dtype == dtype
    assert all(value.dtype == dtype for value in state.values())
    if rule.at_evaluation:
        parameter = rule.at_evaluation(parameter, state, hyper)
    assert (curvature * (parameter - goal) ** 2).sum() < 0.05 * start


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("name", "knobs"), SETTINGS)
def test_a_stack_is_each_run_alone(name: str, knobs: dict[str, Any], shape: tuple[int, ...]) -> None:
    rule, lr, _ = RULES[name]
    torch.manual_seed(1)
    factors = torch.tensor([1.0, 0.5, 0.9], dtype=torch.float64)
    stack = torch.randn(3, *shape, dtype=torch.float64)
    gradients = list(torch.randn(12, 3, *shape, dtype=torch.float64))
    runs = [
        {key: value * factor.item() if type(value) is float else value for key, value in knobs.items()}
        for factor in factors
    ]
    column = (3, *(1 for _ in shape))
    hyper = {
        key: torch.tensor([run[key] for run in runs], dtype=torch.float64).view(column)
        if type(value) is float
        else value
        for key, value in knobs.items()
    }
    together = _trajectory(rule, stack, gradients, hyper | {"lr": lr * factors.view(column), "stacked": True})
    for k, run in enumerate(runs):
        own = [gradient[k] for gradient in gradients]
        alone = _trajectory(rule, stack[k], own, run | {"lr": lr * factors[k].item()})
        torch.testing.assert_close(together[k], alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "knobs"), SETTINGS)
def test_is_pure(name: str, knobs: dict[str, Any]) -> None:
    rule, lr, _ = RULES[name]
    hyper = {**knobs, "lr": lr, "step": 1}
    parameter, gradient = torch.randn(4, 3), torch.randn(4, 3)
    state = rule.init(parameter, hyper)
    given = (parameter, gradient, state)
    kept = copy.deepcopy(given)
    new, new_state = rule.update(gradient, state, parameter, hyper)
    if rule.at_evaluation:
        rule.at_evaluation(parameter, state, hyper)
    torch.testing.assert_close(given, kept, rtol=0, atol=0)
    assert new_state.keys() == state.keys()
    for value in (new, *new_state.values()):
        assert all(value is not old for old in (parameter, gradient, *state.values()))


@pytest.mark.parametrize("name", [name for name in NAMES if RULES[name].rule.elementwise])
def test_elementwise_rules_update_each_entry_on_its_own(name: str) -> None:
    rule, lr, knobs = RULES[name]
    torch.manual_seed(2)
    parameter = torch.randn(6, dtype=torch.float64)
    gradients = list(torch.randn(5, 6, dtype=torch.float64))
    hyper = {**knobs, "lr": lr}
    whole = _trajectory(rule, parameter, gradients, hyper)
    parts = [_trajectory(rule, parameter[i], [g[i] for g in gradients], hyper) for i in range(6)]
    torch.testing.assert_close(whole, torch.stack(parts), rtol=1e-13, atol=0)
