"""Pipeline parallel: each device has some of the layers; parts of a batch go through them one behind the other (GPipe).

The model is cut so that the devices have about the same arithmetic (`cut.py`).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn

from paceline.train.parallel.cut import cut
from paceline.train.parallel.strategy import Forward, Passes, Strategy, whole_norm
from paceline.train.parallel.team import Team

MOST_DIMS = 7  # of what passes between devices
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
HEADER = 2 + MOST_DIMS  # dtype, number of dimensions, dimensions


class Pipeline(Strategy):
    shards_data = False
    whole_models = False
    _stage: nn.Module

    def __init__(self, team: Team, micro_batches: int = 4) -> None:
        super().__init__(team)
        self.parts = micro_batches

    @property
    def _last(self) -> bool:
        return self.team.rank == self.team.size - 1

    def place(self, model: nn.Module, example: Tensor) -> nn.Module:
        """Of the layers before and after its own, a device keeps nothing."""
        self._stage = cut(model, example, self.team.size)[self.team.rank]
        return self._stage

    def learn(self, x: Tensor, y: Tensor, passes: Passes) -> tuple[Tensor, Tensor]:
        """All parts forward, then all backward, the last first."""
        inputs, outputs, losses = [], [], []
        places = torch.arange(len(y), device=y.device)
        for x_part, y_part, at in zip(*(of.chunk(self.parts) for of in (x, y, places)), strict=True):
            passes.reseed(at)
            given = x_part if self.team.rank == 0 else _receive(self.team.rank - 1, x_part.device).requires_grad_()
            with passes.cast:
                made = self._stage(given)
            if self._last:
                made = made.to(x.dtype)
                losses.append(passes.loss(made, y_part) * passes.share_of(len(y_part) / len(y)))
            else:
                _send(made.detach(), self.team.rank + 1)
            inputs.append(given)
            outputs.append(made)
        for place in reversed(range(len(inputs))):
            if self._last:
                losses[place].backward()  # type: ignore[no-untyped-call]
            else:
                torch.autograd.backward(outputs[place], _receive(self.team.rank + 1, outputs[place].device))
            if self.team.rank > 0:
                _send(inputs[place].grad, self.team.rank - 1)  # type: ignore[arg-type]
        total = torch.stack([each.detach() for each in losses]).sum() if self._last else None
        answers = torch.cat([each.detach() for each in outputs]) if self._last else None
        return self._told(total, x.device), self._told(answers, x.device)

    def _told(self, tensor: Tensor | None, device: torch.device) -> Tensor:
        """What the last device has, on all."""
        last = self.team.size - 1
        shape = torch.zeros(HEADER, dtype=torch.int64, device=device) if tensor is None else _shape(tensor)
        dist.broadcast(shape, last)
        found = _blank(shape, device) if tensor is None else tensor.contiguous()
        dist.broadcast(found, last)
        return found

    def norm(self, model: nn.Module) -> Tensor | None:
        return whole_norm(self.team, (p.grad for p in model.parameters() if p.grad is not None))

    @contextmanager
    def evaluating(self, model: nn.Module) -> Iterator[Forward]:
        def through(x: Tensor) -> Tensor:
            given = x if self.team.rank == 0 else _receive(self.team.rank - 1, x.device)
            made = model(given)
            if not self._last:
                _send(made, self.team.rank + 1)
            return self._told(made if self._last else None, x.device)

        yield through


def _shape(tensor: Tensor) -> Tensor:
    said = [DTYPES.index(tensor.dtype), tensor.dim(), *tensor.shape, *[0] * (MOST_DIMS - tensor.dim())]
    return torch.tensor(said, device=tensor.device)


def _blank(shape: Tensor, device: torch.device) -> Tensor:
    dtype, count, *dims = shape.tolist()
    return torch.empty(dims[:count], dtype=DTYPES[dtype], device=device)


def _send(tensor: Tensor, rank: int) -> None:
    dist.send(_shape(tensor), rank)
    dist.send(tensor.contiguous(), rank)


def _receive(rank: int, device: torch.device) -> Tensor:
    shape = torch.empty(HEADER, dtype=torch.int64, device=device)
    dist.recv(shape, rank)
    found = _blank(shape, device)
    dist.recv(found, rank)
    return found
