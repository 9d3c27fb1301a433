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

    def make(self, make: Make) -> Make:
        def sharded(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
            return _Sharded(parameters, make)

        return sharded


class _Sharded(ZeroRedundancyOptimizer):
    """torch's, around any optimizer; a checkpoint holds the state of all devices. One that has no parameter, of more
    devices than there are tensors, is given an empty one, which never has a gradient."""

    def __init__(self, parameters: list[nn.Parameter], make: Make) -> None:
        def inner(params: Any, **defaults: Any) -> torch.optim.Optimizer:
            groups = list(params)
            flat = [p for group in groups for p in group["params"]] if isinstance(groups[0], dict) else groups
            return make(flat or [nn.Parameter(torch.empty(0))])

        super().__init__(parameters, optimizer_class=inner)  # type: ignore[arg-type]

    def state_dict(self) -> dict[str, Any]:
        """Of this device's share."""
        return dict(self.optim.state_dict())

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.optim.load_state_dict(state_dict)
        self._sync_param_groups(self.optim.param_groups, self.param_groups)  # type: ignore[attr-defined]
