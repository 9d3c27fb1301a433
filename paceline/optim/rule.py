"""What an optimizer is: how its state begins, and one update of one parameter."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

Hyper = Mapping[str, Any]
"""The knobs, `lr`, and `step` (1 for the first update).

Numbers for one run. For a stack of K runs `stacked` is true, and `lr` and every knob in which the runs differ is a
tensor of the parameter's dtype with one entry a run, shaped to broadcast against the stacked parameter ([K, 1, 1] for
matrices); `step`, what the runs share, and the knobs that shape a rule (centered, nesterov, ns_steps) stay Python
values.
"""

State = dict[str, Tensor]


def rounded(value: Any, dtype: torch.dtype) -> Any:
    """A knob in the parameter's precision (float32 at least), as TensorFlow's kernels take it.

    It shows where a decay is near one: in float32, 1 - 0.9999 is 1.00017e-4.
    """
    return value if isinstance(value, Tensor) else _rounded(value, dtype)


@functools.lru_cache(maxsize=1024)
def _rounded(value: float, dtype: torch.dtype) -> float:
    return torch.tensor(value, dtype=torch.promote_types(dtype, torch.float32)).item()


def plus(a: Tensor, rate: Any, b: Tensor) -> Tensor:
    """a + rate * b in one pass over memory, whether all runs share the rate or not."""
    return torch.addcmul(a, rate, b) if isinstance(rate, Tensor) else torch.add(a, b, alpha=rate)


def minus(a: Tensor, rate: Any, b: Tensor) -> Tensor:
    """a - rate * b, likewise."""
    return torch.addcmul(a, rate, b, value=-1) if isinstance(rate, Tensor) else torch.sub(a, b, alpha=rate)


def decayed(parameter: Tensor, hyper: Hyper) -> Tensor:
    """The parameter after decoupled weight decay."""
    decay = hyper["weight_decay"]
    return parameter if is_zero(decay) else parameter * (1 - hyper["lr"] * decay)


def is_zero(knob: Any) -> bool:
    """Whether a knob is zero for all runs, so that its term can be left out."""
    return not isinstance(knob, Tensor) and knob == 0


@dataclass(frozen=True)
class Rule:
    """A pure optimizer. It returns new tensors and never writes into those it is given."""

    init: Callable[[Tensor, Hyper], State]
    """The state of one parameter before its first update."""

    update: Callable[[Tensor, State, Tensor, Hyper], tuple[Tensor, State]]
    """(gradient, state, parameter, hyper) -> (new parameter, new state)."""

    at_evaluation: Callable[[Tensor, State, Hyper], Tensor] | None = None
    """The parameter to evaluate at, where it is not the trained one."""

    elementwise: bool = True
    """Each entry is updated on its own, so that a parameter may be updated in blocks."""

    twin: Callable[[list[nn.Parameter], Hyper], torch.optim.Optimizer] | None = None
    """Torch's optimizer with the same rule in one kernel."""
