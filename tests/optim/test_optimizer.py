"""Rules as torch optimizers: state, blocks, evaluation points, twins."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from paceline.optim import optimizer as module
from paceline.optim.optimizer import RuleOptimizer, at_evaluation, build

from .rules import RULES

NAMES = sorted(RULES)
TWINS = [name for name in NAMES if RULES[name].rule.twin]
Make = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


def _maker(name: str, fused: bool) -> Make:
    rule, lr, knobs = RULES[name]
    if name == "sgd":
        knobs = knobs | {"momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1}
    return lambda parameters: build(rule, parameters, lr, knobs, fused=fused)


def _parameters(dtype: torch.dtype = torch.float32) -> list[nn.Parameter]:
    draw = torch.Generator().manual_seed(5)
    return [nn.Parameter(torch.randn(shape, dtype=dtype, generator=draw)) for shape in ((4, 3), (3,), ())]


def _train(optimizer: torch.optim.Optimizer, lr: float, steps: range) -> None:
    """Each step has gradients and a learning rate of its own."""
    for step in steps:
        draw = torch.Generator().manual_seed(step)
        for group in optimizer.param_groups:
            group["lr"] = lr / (1 + 0.1 * step)
            for parameter in group["params"]:
                parameter.grad = torch.randn(parameter.shape, dtype=parameter.dtype, generator=draw)
        optimizer.step()


def _resumed(make: Make, lr: float, dtype: torch.dtype) -> list[nn.Parameter]:
    """Twenty steps, with a new optimizer and new parameters loaded after the tenth."""
    first = _parameters(dtype)
    optimizer = make(first)
    _train(optimizer, lr, range(10))
    second = [nn.Parameter(parameter.detach().clone()) for parameter in first]
    restored = make(second)
    restored.load_state_dict(optimizer.state_dict())
    _train(restored, lr, range(10, 20))
    return second


@pytest.mark.parametrize("fused", [False, True], ids=["rule", "built"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_a_restored_optimizer_goes_on_bit_for_bit(name: str, dtype: torch.dtype, fused: bool) -> None:
    make, lr = _maker(name, fused), RULES[name].lr
    straight = _parameters(dtype)
    _train(make(straight), lr, range(20))
    torch.testing.assert_close(_resumed(make, lr, dtype), straight, rtol=0, atol=0)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 3e-5), (torch.float64, 1e-12)], ids=str)
@pytest.mark.parametrize("name", TWINS)
def test_a_twin_follows_its_rule(name: str, dtype: torch.dtype, tolerance: float) -> None:
    lr = RULES[name].lr
    ours, theirs = _parameters(dtype), _parameters(dtype)
    rule, twin = _maker(name, False)(ours), _maker(name, True)(theirs)
    assert isinstance(rule, RuleOptimizer)
    assert not isinstance(twin, RuleOptimizer)
    _train(rule, lr, range(20))
    _train(twin, lr, range(20))
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(ours, _resumed(_maker(name, True), lr, dtype), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("layout", ["channels_last", "mixed", "expanded", "strided"])
@pytest.mark.parametrize("name", TWINS)
def test_a_twin_follows_its_rule_in_any_layout(name: str, layout: str) -> None:
    """The state is loaded half-way from contiguous tensors, as from a file that keeps no strides."""
    results = []
    for fused in (False, True):
        start, gradient = _layouts()[layout]
        parameter = nn.Parameter(start.clone(memory_format=torch.preserve_format))
        first, second = (_maker(name, fused)([parameter]) for _ in range(2))
        _repeat(first, parameter, gradient)
        second.load_state_dict(_contiguous(first.state_dict()))
        _repeat(second, parameter, gradient)
        results.append(parameter.detach())
    torch.testing.assert_close(*results, rtol=3e-5, atol=3e-5)


def _repeat(optimizer: torch.optim.Optimizer, parameter: nn.Parameter, gradient: Tensor) -> None:
    for _ in range(3):
        parameter.grad = gradient
        optimizer.step()


def _contiguous(state_dict: dict[str, Any]) -> dict[str, Any]:
    state = {
        index: {name: value.contiguous() for name, value in entries.items()}
        for index, entries in state_dict["state"].items()
    }
    return {**state_dict, "state": state}


def test_the_twin_of_adam_leaves_the_learning_rate_as_it_was_set() -> None:
    optimizer = _maker("adam", True)(_parameters())
    _train(optimizer, 0.1, range(3))
    assert optimizer.param_groups[0]["lr"] == 0.1 / 1.2


OVERFLOWS = [True, True, False, False, True, False, False]


def _scaled(make: Make, resumed: bool) -> list[nn.Parameter]:
    """Steps as fp16 has them, some of which overflow and are left out. `resumed`: after each, by a new optimizer."""
    parameters = _parameters()
    optimizer, scaler = make(parameters), torch.amp.GradScaler("cpu")
    for step, overflow in enumerate(OVERFLOWS):
        draw = torch.Generator().manual_seed(step)
        scaler.scale(torch.zeros(()))  # has a scale from the first backward pass on
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=draw) * scaler.get_scale()
            if overflow:
                parameter.grad.fill_(torch.inf)
        scaler.step(optimizer)
        scaler.update()
        if resumed:
            before, optimizer = optimizer, make(parameters)
            optimizer.load_state_dict(before.state_dict())
    return parameters


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("name", TWINS)
def test_a_twin_follows_its_rule_past_steps_that_are_left_out(name: str, resumed: bool) -> None:
    ours, theirs = _scaled(_maker(name, False), resumed), _scaled(_maker(name, True), resumed)
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7)


def test_the_twin_of_adam_counts_the_updates_that_were_made() -> None:
    """An epsilon of which much is seen, at the first steps, when its correction is large."""
    knobs = RULES["adam"].knobs | {"epsilon": 0.1}
    ours, theirs = (
        _scaled(lambda p, fused=fused: build(RULES["adam"].rule, p, 0.1, knobs, fused=fused), False)
        for fused in (False, True)
    )
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_half_precision_has_no_twin() -> None:
    assert isinstance(_maker("adamw", True)(_parameters(torch.bfloat16)), RuleOptimizer)


def test_a_parameter_without_gradient_stays() -> None:
    used, unused = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    optimizer = RuleOptimizer([used, unused], RULES["lion"].rule, lr=0.1, **RULES["lion"].knobs)
    used.grad = torch.ones(3)
    optimizer.step()
    assert not torch.equal(used, torch.ones(3))
    assert torch.equal(unused, torch.ones(3))
    assert not optimizer.state[unused]


def test_a_step_writes_where_the_parameter_and_its_state_already_are() -> None:
    parameter = nn.Parameter(torch.ones(3))
    optimizer = RuleOptimizer([parameter], RULES["adam"].rule, lr=0.1, **RULES["adam"].knobs)
    places = []
    for _ in range(2):
        parameter.grad = torch.ones(3)
        optimizer.step()
        tensors = (parameter, *optimizer.state[parameter].values())
        places.append([tensor.data_ptr() for tensor in tensors])
    assert places[0] == places[1]


def test_a_closure_is_called_with_gradients_on() -> None:
    parameter = nn.Parameter(torch.tensor(2.0))
    optimizer = RuleOptimizer([parameter], RULES["gd"].rule, lr=0.1)

    def closure() -> float:
        loss = parameter**2
        loss.backward()
        return loss.item()

    assert optimizer.step(closure) == 4.0
    assert parameter.item() == pytest.approx(1.6)


def _layouts() -> dict[str, tuple[Tensor, Tensor]]:
    draw = torch.Generator().manual_seed(6)
    kernel, gradient = torch.randn(2, 8, 5, 3, 3, generator=draw)
    last = torch.channels_last
    return {
        "contiguous": (kernel, gradient),
        "channels_last": (kernel.to(memory_format=last), gradient.to(memory_format=last)),
        "mixed": (kernel, gradient.to(memory_format=last)),
        "expanded": (kernel, gradient[:1].expand(8, 5, 3, 3)),
        "strided": (torch.randn(8, 5, 3, 6, generator=draw)[..., ::2], gradient),
    }


@pytest.mark.parametrize("layout", _layouts())
@pytest.mark.parametrize("name", NAMES)
def test_blocks_change_nothing(name: str, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, lr, knobs = RULES[name]
    start, gradient = _layouts()[layout]
    results = []
    for block in (7, 10**6):
        monkeypatch.setattr(module, "BLOCK", block)
        parameter = nn.Parameter(start.clone(memory_format=torch.preserve_format))
        optimizer = RuleOptimizer([parameter], rule, lr=lr, **knobs)
        for step in range(3):
            parameter.grad = gradient * (step + 1) if layout != "expanded" else gradient
            optimizer.step()
        results.append(parameter.detach())
    torch.testing.assert_close(*results, rtol=1e-6, atol=1e-7)


def test_dense_tensors_of_one_layout_are_cut_into_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 100)
    counts = {name: len(list(module._blocks(list(pair)))) for name, pair in _layouts().items()}
    assert counts == {"contiguous": 4, "channels_last": 4, "mixed": 1, "expanded": 1, "strided": 1}


def test_evaluation_happens_elsewhere_for_schedule_free_and_leaves_no_trace() -> None:
    parameters = _parameters()
    optimizer = _maker("schedule_free", True)(parameters)
    with at_evaluation(optimizer):
        torch.testing.assert_close(parameters, _parameters(), rtol=0, atol=0)
    _train(optimizer, 0.1, range(5))
    trained = [parameter.detach().clone() for parameter in parameters]
    with at_evaluation(optimizer):
        assert not any(torch.equal(now, then) for now, then in zip(parameters, trained, strict=True))
    torch.testing.assert_close([p.detach() for p in parameters], trained, rtol=0, atol=0)


def test_an_error_in_evaluation_brings_the_trained_parameters_back() -> None:
    parameters = _parameters()
    optimizer = _maker("schedule_free", True)(parameters)
    _train(optimizer, 0.1, range(5))
    trained = [parameter.detach().clone() for parameter in parameters]

    def evaluate() -> None:
        with at_evaluation(optimizer):
            raise KeyError

    with pytest.raises(KeyError):
        evaluate()
    torch.testing.assert_close([p.detach() for p in parameters], trained, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["adam", "ftrl"])
def test_evaluation_happens_at_the_trained_parameters_of_other_optimizers(name: str) -> None:
    parameters = _parameters()
    optimizer = _maker(name, True)(parameters)
    _train(optimizer, 0.1, range(3))
    trained = [parameter.detach().clone() for parameter in parameters]
    with at_evaluation(optimizer):
        torch.testing.assert_close([p.detach() for p in parameters], trained, rtol=0, atol=0)
