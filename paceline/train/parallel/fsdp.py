"""Fully sharded data parallel: each device keeps a share of every layer and gathers the rest when it is needed."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from paceline.train.parallel.shards import Sharded, local
from paceline.train.parallel.strategy import whole_norm
from paceline.train.parallel.team import Team


class FSDP(Sharded):
    def __init__(self, team: Team) -> None:
        super().__init__(team)
        self.factor = float(team.size)

    def place(self, model: nn.Module, example: Tensor) -> nn.Module:
        model = model.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        device = next(model.parameters()).device
        mesh = init_device_mesh(device.type, (self.team.size,))
        for layer in _gathered(model, _called(model, example)):
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model

    def norm(self, model: nn.Module) -> Tensor | None:
        return whole_norm(self.team, (local(p.grad) for p in model.parameters() if p.grad is not None))

    def sent(self, model: nn.Module) -> int:
        """Two gatherings of the parameters and one scattering of the gradients."""
        whole = sum(p.numel() * p.element_size() for p in model.parameters())
        return 3 * (self.team.size - 1) * whole // self.team.size


def _called(model: nn.Module, example: Tensor) -> set[nn.Module]:
    """The layers that a forward pass calls. A container may be read only for what is in it."""
    found: set[nn.Module] = set()
    hooks = [layer.register_forward_pre_hook(lambda called, _: found.add(called)) for layer in model.modules()]
    training = model.training
    with torch.no_grad():
        model.eval()(example)
    model.train(training)
    for hook in hooks:
        hook.remove()
    return found


def _gathered(model: nn.Module, called: set[nn.Module]) -> Iterator[nn.Module]:
    """The outermost layers with parameters that are called: each is gathered when it is. The model has the rest."""
    for child in model.children():
        if child in called and any(True for _ in child.parameters()):
            yield child
        else:
            yield from _gathered(child, called)
