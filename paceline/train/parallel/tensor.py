"""Tensor parallel: dense layers divided, in pairs: the first by its outputs, the second by its inputs.

Every device sees the whole batch and has the rest of the model whole."""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, ParallelStyle, RowwiseParallel, parallelize_module
from torch.utils.hooks import RemovableHandle

from paceline.errors import StudyError
from paceline.models.dropout import Dropout
from paceline.train.parallel.shards import Sharded, local

OUTPUT = ""
NEAR = 0.01  # of the largest value: above what tf32 rounds away


class TensorParallel(Sharded):
    shards_data = False

    def place(self, model: nn.Module, example: Tensor) -> nn.Module:
        plan: dict[str, ParallelStyle] = {}
        kinds = (nn.Linear, Dropout, nn.Dropout)
        layers = [(name, layer) for name, layer in model.named_modules() if isinstance(layer, kinds)]
        dense = [(name, layer) for name, layer in layers if isinstance(layer, nn.Linear)]
        pairs = [pair for pair in pairwise(dense) if pair[0][1].out_features == pair[1][1].in_features][::2]
        for (first, wide), (second, _) in pairs:
            if wide.out_features % self.team.size:
                raise StudyError(
                    f"{first} has {wide.out_features} outputs, which {self.team.size} devices cannot share evenly.",
                    key="devices",
                )
            plan |= {first: ColwiseParallel(), second: RowwiseParallel()}
            names = [name for name, _ in layers]
            for name, layer in layers[names.index(first) + 1 : names.index(second)]:
                if isinstance(layer, nn.Dropout):
                    raise StudyError(
                        f"{name} is torch's dropout, whose mask would be the same for the parts of a divided layer. "
                        "Use paceline.models.dropout:Dropout, or another strategy.",
                        key="strategy",
                    )
                if isinstance(layer, Dropout):
                    layer.columns = (self.team.rank, self.team.size)
        if not plan:
            raise StudyError("tensor parallel needs two dense layers in a row; this model has none.", key="strategy")
        seconds: dict[str, nn.Module] = dict(second for _, second in pairs)
        whole = _given(model, example, seconds)
        mesh = init_device_mesh(next(model.parameters()).device.type, (self.team.size,))
        divided = parallelize_module(model, mesh, plan)
        self._check(divided, example, seconds, whole)
        return divided

    def _check(self, model: nn.Module, example: Tensor, layers: dict[str, nn.Module], whole: dict[str, Tensor]) -> None:
        """Every device has in mind its part of what it would have in mind alone, and all say what one would say."""
        try:
            parts = _given(model, example, layers)
        except (RuntimeError, ValueError):
            parts = {}
        mine = {name: seen.chunk(self.team.size, -1)[self.team.rank] for name, seen in whole.items() if name in layers}
        expected = {**mine, OUTPUT: whole[OUTPUT]}
        wrong = [name for name, seen in expected.items() if name not in parts or not _alike(seen, parts[name])]
        if self.team.any([bool(wrong)], example.device)[0]:
            where = next((name for name in wrong if name), "the whole model")
            raise StudyError(
                "'tensor' divides dense layers in pairs, and this model does not come to the same then "
                f"(at {where}): between two of them it looks across features, or it calls them in another order. "
                "Use another strategy.",
                key="strategy",
            )

    def norm(self, model: nn.Module) -> Tensor | None:
        """What is divided is summed over devices, what every device has is counted once."""
        device = next(model.parameters()).device
        shared, own = torch.zeros((), device=device), torch.zeros((), device=device)
        for parameter in model.parameters():
            gradient = parameter.grad
            if gradient is None:
                continue
            divided = isinstance(gradient, DTensor) and any(place.is_shard() for place in gradient.placements)
            square = local(gradient).square().sum()
            own, shared = (own + square, shared) if divided else (own, shared + square)
        return (self.team.total(own)[0] + shared).sqrt()


def _given(model: nn.Module, example: Tensor, layers: dict[str, nn.Module]) -> dict[str, Tensor]:
    """What these layers are given for an example, by their names, and what comes out of the model."""
    found: dict[str, Tensor] = {}

    def watched(name: str, layer: nn.Module) -> RemovableHandle:
        return layer.register_forward_pre_hook(
            lambda _, given: found.__setitem__(name, local(given[0]).detach()), prepend=True
        )

    hooks = [watched(name, layer) for name, layer in layers.items()]
    training = model.training
    try:
        with torch.no_grad():
            found[OUTPUT] = local(model.eval()(example))
    finally:
        model.train(training)
        for hook in hooks:
            hook.remove()
    return found


def _alike(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and bool((one - other).abs().max() <= NEAR * one.abs().max())
