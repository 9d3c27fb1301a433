"""Any rule as a torch optimizer, for the loop that trains one run."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from paceline.optim.rule import Hyper, Rule

BLOCK = 256 * 1024
"""Entries updated at a time on a CPU, so that what a rule computes on the way stays in cache."""


class RuleOptimizer(torch.optim.Optimizer):
    """Drives a rule. A group is the rule's hyperparameters, its `step` the number of updates made."""

    def __init__(self, params: Iterable[nn.Parameter], rule: Rule, *, lr: float, **knobs: Any) -> None:
        self.rule = rule
        super().__init__(params, {"lr": lr, "step": 0, **knobs})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            group["step"] += 1
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)
        return loss

    def _update(self, parameter: Tensor, gradient: Tensor, hyper: Hyper) -> None:
        if not self.state[parameter]:
            self.state[parameter] = self.rule.init(parameter, hyper)
        state = self.state[parameter]
        alike = [name for name, value in state.items() if value.shape == parameter.shape]
        whole = {name: value for name, value in state.items() if name not in alike}
        tensors = [parameter, gradient, *(state[name] for name in alike)]
        new_state = whole
        for part, part_gradient, *part_state in _blocks(tensors) if self.rule.elementwise else [tensors]:
            before = whole | dict(zip(alike, part_state, strict=True))
            new, new_state = self.rule.update(part_gradient, before, part, hyper)
            part.copy_(new)
            for name, value in zip(alike, part_state, strict=True):
                value.copy_(new_state[name])
        for name, value in whole.items():
            value.copy_(new_state[name])


def _blocks(tensors: list[Tensor]) -> Iterable[Iterable[Tensor]]:
    """The tensors cut alike in memory order, if they are dense on a CPU and of one layout; else whole."""
    first = tensors[0]
    if first.numel() <= BLOCK or not first.is_cpu:
        return [tensors]
    order = sorted(range(first.ndim), key=first.stride, reverse=True)
    lined = [tensor.permute(order) for tensor in tensors]
    if not all(tensor.is_contiguous() for tensor in lined):
        return [tensors]
    count = math.ceil(first.numel() / BLOCK)
    return zip(*(tensor.view(-1).chunk(count) for tensor in lined), strict=True)


@contextmanager
def at_evaluation(optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Holds the parameters to evaluate at while it lasts, then the trained ones again, bit for bit."""
    rule = optimizer.rule if isinstance(optimizer, RuleOptimizer) else None
    if rule is None or rule.at_evaluation is None:
        yield
        return
    trained: dict[nn.Parameter, Tensor] = {}
    try:
        with torch.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if state := optimizer.state[parameter]:
                        trained[parameter] = parameter.clone()
                        parameter.copy_(rule.at_evaluation(parameter, state, group))
        yield
    finally:
        with torch.no_grad():
            for parameter, value in trained.items():
                parameter.copy_(value)


def build(
    rule: Rule, params: Iterable[nn.Parameter], lr: float, knobs: Mapping[str, Any], fused: bool = True
) -> torch.optim.Optimizer:
    """The rule's twin, if wanted, given, and able to take these parameters; else the rule itself.

    A step whose scaled gradients overflow is left to the scaler to leave out, as with any optimizer. Left to a fused
    kernel, it changes no parameter, but hooks count it and a momentum that begins there is what memory held before.
    """
    parameters = list(params)
    if fused and rule.twin is not None and all(_can_fuse(parameter) for parameter in parameters):
        optimizer = rule.twin(parameters, {**knobs, "lr": lr})
        optimizer.register_step_pre_hook(_align_gradients)
        optimizer._step_supports_amp_scaling = False  # type: ignore[attr-defined]
    else:
        optimizer = RuleOptimizer(parameters, rule, lr=lr, **knobs)
    optimizer.register_load_state_dict_post_hook(_align_state)
    return optimizer


def _can_fuse(parameter: Tensor) -> bool:
    place_fits = parameter.device.type in ("cpu", "cuda")
    return place_fits and parameter.dtype in (torch.float32, torch.float64) and _is_dense(parameter)


def _is_dense(tensor: Tensor) -> bool:
    return tensor.permute(sorted(range(tensor.ndim), key=tensor.stride, reverse=True)).is_contiguous()


def _align_gradients(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
    """Torch's fused kernels walk memory: a gradient laid out unlike its parameter would update wrong entries."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None and not _laid_out_alike(parameter.grad, parameter):
                parameter.grad = _laid_out_as(parameter, parameter.grad)


def _align_state(optimizer: torch.optim.Optimizer) -> None:
    """The same for a state read from a file that keeps no strides."""
    for parameter, state in optimizer.state.items():
        for name, value in state.items():
            if value.shape == parameter.shape and not _laid_out_alike(value, parameter):
                state[name] = _laid_out_as(parameter, value)


def _laid_out_alike(one: Tensor, other: Tensor) -> bool:
    """A stride along a side of length 1 says nothing."""
    sides = zip(one.shape, one.stride(), other.stride(), strict=True)
    return one.stride() == other.stride() or all(a == b for length, a, b in sides if length > 1)


def _laid_out_as(parameter: Tensor, value: Tensor) -> Tensor:
    return torch.empty_like(parameter, requires_grad=False).copy_(value)
