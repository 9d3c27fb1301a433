"""Pipeline parallel: each device has some of the layers; parts of a batch go through them one behind the other (GPipe).

The model is cut where its own code lets one value pass from what comes before to what comes after (read by torch.fx),
so that the devices have about the same arithmetic.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, fx, nn
from torch.fx.passes.split_module import split_module

from paceline.errors import StudyError
from paceline.models.dropout import Dropout
from paceline.train.parallel.strategy import Forward, Loss, Strategy
from paceline.train.parallel.team import Team

MOST_DIMS = 7  # of what passes between devices
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
HEADER = 2 + MOST_DIMS  # dtype, number of dimensions, dimensions


class Pipeline(Strategy):
    shards_data = False
    whole_models = False

    def __init__(self, team: Team, micro_batches: int = 4) -> None:
        super().__init__(team)
        self._parts = micro_batches
        self._stages: list[nn.Module] = []

    @property
    def _last(self) -> bool:
        return self.team.rank == self.team.size - 1

    def place(self, model: nn.Module) -> nn.Module:
        """Of the layers before and after its own, a device keeps nothing."""
        self._stages = cut(model, self.team.size)
        return self._stages[self.team.rank]

    def learn(
        self, x: Tensor, y: Tensor, loss: Loss, cast: AbstractContextManager[Any], reseed: Callable[[Tensor], None]
    ) -> tuple[Tensor, Tensor]:
        """All parts forward, then all backward, the last first."""
        inputs, outputs, losses = [], [], []
        places = torch.arange(len(y), device=y.device)
        for x_part, y_part, at in zip(*(of.chunk(self._parts) for of in (x, y, places)), strict=True):
            reseed(at)
            given = x_part if self.team.rank == 0 else _receive(self.team.rank - 1, x_part.device).requires_grad_()
            with cast:
                made = self._stages[self.team.rank](given)
            if self._last:
                made = made.to(x.dtype)
                losses.append(loss(made, y_part) * (len(y_part) / len(y)))
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

    @contextmanager
    def evaluating(self, model: nn.Module) -> Iterator[Forward]:
        def through(x: Tensor) -> Tensor:
            given = x if self.team.rank == 0 else _receive(self.team.rank - 1, x.device)
            made = model(given)
            if not self._last:
                _send(made, self.team.rank + 1)
            return self._told(made if self._last else None, x.device)

        yield through


def cut(model: nn.Module, count: int) -> list[nn.Module]:
    """The model as so many modules, one behind the other."""
    traced = fx.GraphModule(model, _Layers().trace(model))
    nodes = [node for node in traced.graph.nodes if node.op not in ("placeholder", "output")]
    costs = [float(_parameters(traced, node)) for node in nodes]
    allowed = [_lone(traced, nodes, place) for place in range(len(nodes))]
    stage_of, stage, gone = {}, 0, 0.0
    for place, node in enumerate(nodes):
        ready = gone >= (stage + 1) * sum(costs) / count and stage < count - 1
        left = sum(allowed[place:])
        if place and allowed[place] and stage < count - 1 and (ready or left <= count - 1 - stage):
            stage += 1
        stage_of[node.name] = stage
        gone += costs[place]
    if stage < count - 1:
        raise StudyError(f"this model cannot be cut into {count} parts that follow each other.", key="devices")
    split = split_module(traced, model, lambda node: stage_of[node.name])
    return [getattr(split, f"submod_{number}") for number in range(count)]


class _Layers(fx.Tracer):
    """Sees our own dropout as one layer."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, Dropout) or super().is_leaf_module(m, module_qualified_name)


def _parameters(traced: fx.GraphModule, node: fx.Node) -> int:
    if node.op != "call_module":
        return 0
    return sum(p.numel() for p in traced.get_submodule(str(node.target)).parameters())


def _lone(traced: fx.GraphModule, nodes: list[Any], place: int) -> bool:
    """Whether one value alone passes between what is before this place and what is from it on."""
    before, after = set(nodes[:place]), set(nodes[place:])
    inputs = {node for node in traced.graph.nodes if node.op == "placeholder"}
    passing = {given for node in after for given in node.all_input_nodes if given in before or given in inputs}
    return len(passing) == 1 and not passing & inputs


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
