"""What an optimizer is: how its state begins, and one update of one parameter."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

Hyper = Mapping[str, Any]
"""The knobs, `lr`, and `step` (1 for the first update).

Numbers for one run. For a stack of K runs, tensors of the parameter's dtype with one entry a run, shaped to
broadcast against the stacked parameter ([K, 1, 1] for matrices), and `stacked` true; `step` and the knobs
that shape a rule (centered, nesterov, ns_steps) stay Python values.
"""

State = dict[str, Tensor]


def rounded(value: Any, dtype: torch.dtype) -> Any:
    """A knob in the parameter's precision (float32 at least), as TensorFlow's kernels take it.

    It shows where a decay is near one: in float32, 1 - 0.9999 is 1.00017e-4.
    """
    if isinstance(value, Tensor):
        return value
    return torch.tensor(value, dtype=torch.promote_types(dtype, torch.float32)).item()


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
