"""What one training step asks of a device: arithmetic, bytes and calls, counted on the `meta` device, which computes
nothing."""

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

STATE_BYTES = 5  # passes over the parameters by an update: gradient, parameter and state, read and written
_FREE = ("view", "reshape", "expand", "permute", "transpose", "t.", "alias", "detach", "slice", "select", "squeeze")


@dataclass(frozen=True)
class Work:
    """Of one training step."""

    flops: int  # a multiply-add is two
    bytes: int  # read and written by every operation, were no cache to help
    calls: int  # operations


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, cast: torch.dtype | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls = self.bytes = 0
        self._widest = cast.itemsize if cast else 8  # bytes of a float

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        name = func.name().partition("::")[2]
        if not name.startswith(_FREE) and not name.startswith(("_unsafe_view", "unsqueeze", "as_strided")):
            tensors = [leaf for leaf in tree_leaves((args, kwargs, found)) if isinstance(leaf, Tensor)]
            self.calls += 1
            self.bytes += sum(tensor.numel() * self._width(tensor) for tensor in tensors)
        return found

    def _width(self, tensor: Tensor) -> int:
        """Bytes a number; of floats in mixed precision, those of what they are cast to."""
        return min(tensor.element_size(), self._widest) if tensor.is_floating_point() else tensor.element_size()


def _convolution_backward(gradient: list[int], x: list[int], weight: list[int], *said: Any, **rest: Any) -> int:
    """As many multiply-adds as forward for the gradient of the weights, and for that of the input. torch's own count
    takes a grouped convolution for a full one."""
    forward = 2 * math.prod(gradient) * math.prod(weight[1:])
    of_input, of_weight, _ = said[-1]
    return forward * (int(of_input) + int(of_weight))


def work(model: nn.Module, example: Tensor, batch: int, parts: int = 1, cast: torch.dtype | None = None) -> Work | None:
    """Of a batch that is taken in so many parts. `cast`: what mixed precision computes in. None for a model that cannot
    be run without values: one that looks at its numbers, for one."""
    one = _pass(model, example, math.ceil(batch / parts), cast)
    if one is None:
        return None
    trained = [p for p in model.parameters() if p.requires_grad]
    update = STATE_BYTES * sum(p.numel() * p.element_size() for p in trained)
    casts = _casts(model, cast) if cast else Work(0, 0, 0)
    return Work(
        one.flops * parts, (one.bytes + casts.bytes) * parts + update, (one.calls + casts.calls) * parts + len(trained)
    )


def _casts(model: nn.Module, cast: torch.dtype) -> Work:
    """Of the matrices and kernels, which stay as wide as they are: there for each pass, and their gradients back."""
    wide = [p for p in model.parameters() if p.dim() > 1]
    ways = [1 + int(p.requires_grad) for p in wide]
    moved = [p.numel() * (p.element_size() + cast.itemsize) for p in wide]
    return Work(0, sum(size * way for size, way in zip(moved, ways, strict=True)), sum(ways))


def _pass(model: nn.Module, example: Tensor, batch: int, cast: torch.dtype | None) -> Work | None:
    """Forward and backward, without the update and without casts: autocast knows nothing of the `meta` device."""
    try:
        empty = copy.deepcopy(model).to("meta").train()
        for layer in empty.modules():
            if hasattr(layer, "reseed"):
                vars(layer).pop("forward", None)  # one that is not compiled is bound to the layer it is a copy of
                layer.train(False)
        x = torch.empty((batch, *example.shape[1:]), dtype=example.dtype, device="meta")
        mapping = {torch.ops.aten.convolution_backward: _convolution_backward}
        with _Counter(cast) as counter, FlopCounterMode(display=False, custom_mapping=mapping) as flops:
            answer = empty(x)
            answer.sum().backward()
    except Exception:  # whatever an own model does that meta tensors cannot
        return None
    return Work(flops.get_total_flops(), counter.bytes, counter.calls)
