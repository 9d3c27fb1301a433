"""The layers of a stack: what each layer and function of a model does for many runs at once.

A value is shared by all runs ([examples, ...]), given a lane ([lanes, examples, ...]) or a run's own ([runs, examples,
...]). Dense layers leave [runs, outputs, examples] in memory behind a turned view, so that the next one, and a softmax
over the outputs, need no copy; convolutions leave [examples, runs, channels, ...].
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from paceline.errors import StackError
from paceline.models.dropout import Dropout
from paceline.train.stack.lanes import Lanes


class Kind(Enum):
    SHARED = "shared"
    LANES = "lanes"
    OWN = "own"


@dataclass
class Pass:
    """What one forward pass has at hand."""

    parameters: Mapping[str, Tensor]  # by name, [runs, ...]
    buffers: Mapping[str, Tensor]
    lanes: Lanes
    training: bool
    mask: Callable[[int, Tensor], Tensor | None] = field(default=lambda layer, x: None)  # of a dropout layer

    @property
    def runs(self) -> int:
        return len(self.lanes.of_run)

    def own(self, x: Tensor, kind: Kind) -> Tensor:
        """The value with a copy for every run."""
        if kind is Kind.OWN:
            return x
        return x.expand(self.runs, *x.shape) if kind is Kind.SHARED else x.index_select(0, self.lanes.index)


Layer = Callable[[Pass, Tensor, Kind], tuple[Tensor, Kind]]


def dense(weight: str, bias: str | None) -> Layer:
    def forward(at: Pass, x: Tensor, kind: Kind) -> tuple[Tensor, Kind]:
        w = at.parameters[weight]
        b = at.parameters[bias].unsqueeze(-1) if bias else None
        if x.dim() != (2 if kind is Kind.SHARED else 3):
            raise StackError("a dense layer over more than one dimension")
        if kind is Kind.OWN:
            turned = torch.bmm(w, x.mT) if b is None else torch.baddbmm(b, w, x.mT)
            return turned.mT, Kind.OWN
        if kind is Kind.SHARED:
            rows = w.flatten(0, 1)
            product = rows @ x.mT if b is None else torch.addmm(b.reshape(-1, 1), rows, x.mT)
            return product.view(*w.shape[:2], -1).mT, Kind.OWN
        turned = _by_lane(w, x, at.lanes)
        return (turned if b is None else turned + b).mT, Kind.OWN

    return forward


def _by_lane(w: Tensor, x: Tensor, lanes: Lanes) -> Tensor:
    """[runs, outputs, examples]: one matrix product a lane."""
    sorted_ = w if lanes.order is None else reordered(w, lanes.order, lanes.back)
    if len(set(lanes.sizes)) == 1:
        product = torch.bmm(sorted_.reshape(lanes.count, -1, w.shape[2]), x.mT)
        product = product.reshape(len(w), w.shape[1], -1)
    else:
        parts = zip(torch.split(sorted_, lanes.sizes), x, strict=True)
        product = torch.cat([(part.flatten(0, 1) @ one.mT).view(*part.shape[:2], -1) for part, one in parts])
    return product if lanes.back is None else reordered(product, lanes.back, lanes.order)


class _Reordered(torch.autograd.Function):
    """index_select by a permutation: its gradient is one too, where index_select's adds up entry by entry."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, order: Tensor, back: Tensor) -> Tensor:
        ctx.back = back
        return x.index_select(0, order)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return gradient.index_select(0, ctx.back), None, None


def reordered(x: Tensor, order: Tensor, back: Tensor | None) -> Tensor:
    found: Tensor = _Reordered.apply(x, order, back)  # type: ignore[no-untyped-call]
    return found


def _fold(x: Tensor) -> Tensor:
    """[runs, examples, channels, ...] -> [examples, runs x channels, ...]."""
    return x.transpose(0, 1).flatten(1, 2)


def _unfold(x: Tensor, runs: int) -> Tensor:
    return x.reshape(len(x), runs, -1, *x.shape[2:]).transpose(0, 1)


def convolution(layer: nn.Conv2d, weight: str, bias: str | None) -> Layer:
    if layer.padding_mode != "zeros":
        raise StackError(f"a convolution padded by {layer.padding_mode}")
    how: dict[str, Any] = {"stride": layer.stride, "padding": layer.padding, "dilation": layer.dilation}

    def forward(at: Pass, x: Tensor, kind: Kind) -> tuple[Tensor, Kind]:
        w = at.parameters[weight].flatten(0, 1)
        b = at.parameters[bias].flatten() if bias else None
        if kind is Kind.SHARED and layer.groups == 1:
            y = F.conv2d(x, w, b, **how)
        else:
            y = F.conv2d(_fold(at.own(x, kind)), w, b, groups=at.runs * layer.groups, **how)
        return _unfold(y, at.runs), Kind.OWN

    return forward


def batch_norm(layer: nn.BatchNorm1d | nn.BatchNorm2d, name: str) -> Layer:
    if layer.momentum is None or not layer.track_running_stats:
        raise StackError("a batch norm without a running average of a fixed momentum")
    if not layer.affine:
        raise StackError("a batch norm without weights")

    def forward(at: Pass, x: Tensor, kind: Kind) -> tuple[Tensor, Kind]:
        x = _fold(at.own(x, kind))
        mean, variance = (at.buffers[f"{name}.{part}"].view(-1) for part in ("running_mean", "running_var"))
        weight, bias = (at.parameters[f"{name}.{part}"].flatten() for part in ("weight", "bias"))
        y = F.batch_norm(x, mean, variance, weight, bias, at.training, layer.momentum or 0.0, layer.eps)
        return _unfold(y, at.runs), Kind.OWN

    return forward


def dropout(index: int) -> Layer:
    def forward(at: Pass, x: Tensor, kind: Kind) -> tuple[Tensor, Kind]:
        if not at.training:
            return x, kind
        x = at.own(x, kind)
        mask = at.mask(index, x)
        return (x if mask is None else x * mask), Kind.OWN

    return forward


def elementwise(function: Callable[..., Tensor], *args: Any, **named: Any) -> Layer:
    return lambda at, x, kind: (function(x, *args, **named), kind)


def image(function: Callable[..., Tensor], *args: Any, **named: Any) -> Layer:
    """A function of images that treats every channel alike."""

    def forward(at: Pass, x: Tensor, kind: Kind) -> tuple[Tensor, Kind]:
        if kind is Kind.SHARED:
            return function(x, *args, **named), kind
        return _unfold(function(_fold(at.own(x, kind)), *args, **named), at.runs), Kind.OWN

    return forward


def flat(start_dim: int = 0, end_dim: int = -1) -> Layer:
    if start_dim < 1 or end_dim != -1:
        raise StackError(f"flatten({start_dim}, {end_dim})")
    return lambda at, x, kind: (x.flatten(start_dim + (kind is not Kind.SHARED)), kind)


def module(name: str, layer: nn.Module, random: list[nn.Module]) -> Layer:
    """The stacked form of a layer of the model, or StackError; `random` are its layers that draw."""
    bias = f"{name}.bias" if getattr(layer, "bias", None) is not None else None
    match layer:
        case nn.Linear():
            return dense(f"{name}.weight", bias)
        case nn.Conv2d():
            return convolution(layer, f"{name}.weight", bias)
        case nn.BatchNorm1d() | nn.BatchNorm2d():
            return batch_norm(layer, name)
        case Dropout():
            return dropout(next(index for index, other in enumerate(random) if other is layer))
        case nn.Flatten():
            return flat(layer.start_dim, layer.end_dim)
        case nn.MaxPool2d() | nn.AvgPool2d() | nn.AdaptiveAvgPool2d():
            return image(layer)
        case nn.ReLU() | nn.Tanh() | nn.GELU() | nn.Sigmoid() | nn.SiLU() | nn.ELU() | nn.LeakyReLU() | nn.Identity():
            return elementwise(_new(layer))
    raise StackError(f"the layer {type(layer).__name__}")


def _new(layer: nn.Module) -> Callable[..., Tensor]:
    """The activation without `inplace`, which would write into a value that another may need."""
    said = set(getattr(layer, "__constants__", ())) - {"inplace"}
    return type(layer)(**{name: value for name, value in vars(layer).items() if name in said})


FUNCTIONS: dict[Any, Callable[..., Layer]] = {
    F.max_pool2d: lambda *a, **k: image(F.max_pool2d, *a, **k),
    F.avg_pool2d: lambda *a, **k: image(F.avg_pool2d, *a, **k),
    F.adaptive_avg_pool2d: lambda *a, **k: image(F.adaptive_avg_pool2d, *a, **k),
    torch.flatten: flat,
    "flatten": flat,
    **{
        function: lambda *a, _function=function, **k: elementwise(_function, *a, **{**k, "inplace": False})
        for function in (F.relu, F.silu, F.elu, F.leaky_relu)
    },
    **{
        function: lambda *a, _function=function, **k: elementwise(_function, *a, **k)
        for function in (torch.relu, torch.tanh, torch.sigmoid, F.gelu, torch.abs, torch.square, torch.exp)
    },
    **{
        name: lambda *a, _name=name, **k: elementwise(getattr(Tensor, _name), *a, **k)
        for name in ("relu", "tanh", "sigmoid", "abs", "square", "exp")
    },
}
"""Functions and methods of one value; what is said beside it is a constant."""

ARITHMETIC: dict[Any, Callable[..., Tensor]] = {
    operator.add: torch.add,
    operator.sub: torch.sub,
    operator.mul: torch.mul,
    operator.truediv: torch.div,
    torch.add: torch.add,
    torch.sub: torch.sub,
    torch.mul: torch.mul,
    torch.div: torch.div,
}


def arithmetic(at: Pass, function: Any, a: Any, b: Any) -> tuple[Tensor, Kind]:
    """Of two operands: values with their kind, or numbers. What is shared is broadcast to the runs."""
    pairs = [operand for operand in (a, b) if isinstance(operand, tuple)]
    kinds = {kind for _, kind in pairs}
    if Kind.OWN not in kinds and len(kinds) == 1:
        kind = kinds.pop()
        return function(*(x[0] if isinstance(x, tuple) else x for x in (a, b))), kind
    ranks = [x.dim() - (kind is not Kind.SHARED) for x, kind in pairs]
    rank = max(ranks)

    def spread(operand: Any) -> Any:
        if not isinstance(operand, tuple):
            return operand
        x, kind = operand
        if kind is Kind.SHARED:
            return x
        x = at.own(x, kind)
        return x[(slice(None), *[None] * (rank + 1 - x.dim()))]

    return function(spread(a), spread(b)), Kind.OWN
