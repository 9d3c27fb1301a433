"""Parameters that are spread over devices: each has a part of them, updates it, and keeps it in its checkpoint."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from paceline.train.parallel.strategy import Make, Strategy


def local(tensor: Tensor) -> Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


class Sharded(Strategy):
    """Update rules that look at one entry at a time need to know nothing of the other devices' parts."""

    same_updates = False
    elementwise = True
    whole_models = False

    def make(self, make: Make) -> Make:
        return lambda parameters: _OverShards(parameters, make)

    def state(self, model: nn.Module) -> dict[str, Tensor]:
        return {name: local(value) for name, value in model.state_dict().items()}

    def load(self, model: nn.Module, state: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, value in model.state_dict().items():
                local(value).copy_(state[name])


class _OverShards(torch.optim.Optimizer):
    """An optimizer over the local part of each parameter."""

    def __init__(self, parameters: list[nn.Parameter], make: Make) -> None:
        self._whole = parameters
        self._local = [nn.Parameter(local(p.data)) for p in parameters]
        self._inner = make(self._local)
        super().__init__(parameters, {})
        self.param_groups = self._inner.param_groups
        self.state = self._inner.state

    def take_gradients(self) -> None:
        """The local part of each, once a batch has all of them."""
        for whole, part in zip(self._whole, self._local, strict=True):
            part.grad = None if whole.grad is None else local(whole.grad)

    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        self._inner.step()

    def zero_grad(self, set_to_none: bool = True) -> None:
        for whole, part in zip(self._whole, self._local, strict=True):
            whole.grad = part.grad = None

    def state_dict(self) -> dict[str, Any]:
        return self._inner.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._inner.load_state_dict(state_dict)
        self.param_groups, self.state = self._inner.param_groups, self._inner.state
