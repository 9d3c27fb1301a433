"""Each device trains by itself and every so many updates all take the mean of their parameters."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from paceline.train.parallel.strategy import Forward, Strategy, ring
from paceline.train.parallel.team import Team, average


class LocalSGD(Strategy):
    same_updates = False

    def __init__(self, team: Team, every: int = 8) -> None:
        super().__init__(team)
        self._every = every
        self.factor = float(team.size)

    @contextmanager
    def evaluating(self, model: nn.Module) -> Iterator[Forward]:
        """At the mean of the devices' parameters; each then goes on from its own."""
        kept = [p.detach().clone() for p in model.parameters()]
        with torch.no_grad(), super().evaluating(model) as forward:
            average([p.data for p in model.parameters()], self.team.size)
            yield forward
            for parameter, own in zip(model.parameters(), kept, strict=True):
                parameter.copy_(own)

    def updated(self, model: nn.Module, step: int) -> None:
        if self.team.size > 1 and step % self._every == 0:
            average((p.data for p in model.parameters() if p.requires_grad), self.team.size)

    def sent(self, model: nn.Module) -> int:
        whole = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
        return ring(whole, self.team.size) // self._every
