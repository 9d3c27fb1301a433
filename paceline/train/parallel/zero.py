"""Data parallel with the optimizer's state divided: each device updates its share of the parameters (ZeRO, stage 1)."""

import warnings
from typing import Any

import torch
from torch import nn

from paceline.train.parallel.ddp import DDP
from paceline.train.parallel.strategy import Make
from paceline.train.parallel.team import Team

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # torch warns of what its own module uses
    from torch.distributed.optim import ZeroRedundancyOptimizer


class Zero(DDP):
    same_updates = False

    def __init__(self, team: Team, bucket_mb: float = 25.0) -> None:
        super().__init__(team, bucket_mb)
        self._made: list[_Sharded] = []

    def make(self, make: Make) -> Make:
        def sharded(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
            self._made.append(_Sharded(parameters, make))
            return self._made[-1]

        return sharded

    def updated(self, model: nn.Module, step: int) -> None:
        for optimizer in self._made:
            optimizer.exchange()

    def sent(self, model: nn.Module) -> int:
        """What DDP sends, and the updated parameters, each by the device that updates it to all others."""
        whole = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
        return super().sent(model) + (self.team.size - 1) * whole // self.team.size


class _Sharded(ZeroRedundancyOptimizer):
    """torch's, around any optimizer; a checkpoint holds the state of all devices. One that has no parameter, of more
    devices than there are tensors, is given an empty one, which never has a gradient. A step updates this device's
    share; `exchange`, which is timed apart, brings all to all."""

    def __init__(self, parameters: list[nn.Parameter], make: Make) -> None:
        def inner(params: Any, **defaults: Any) -> torch.optim.Optimizer:
            groups = list(params)
            flat = [p for group in groups for p in group["params"]] if isinstance(groups[0], dict) else groups
            return make(flat or [nn.Parameter(torch.empty(0))])

        super().__init__(parameters, optimizer_class=inner)  # type: ignore[arg-type]

    def step(self, closure: Any = None, **kwargs: Any) -> Any:
        return self._local_step(closure=closure, **kwargs)

    def exchange(self) -> None:
        self._sync_params()  # type: ignore[attr-defined]

    def state_dict(self) -> dict[str, Any]:
        """Of this device's share."""
        return dict(self.optim.state_dict())

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.optim.load_state_dict(state_dict)
        self._sync_param_groups(self.optim.param_groups, self.param_groups)  # type: ignore[attr-defined]
