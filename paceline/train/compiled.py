"""A model compiled by torch.compile before the clock starts: once for every width of batch that its first epoch has."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

Forward = Callable[[Tensor], Tensor]


def compiled(
    model: nn.Module, example: Tensor, widths: Sequence[int], cast: AbstractContextManager[Any]
) -> tuple[Forward, float]:
    """The forward pass, and the seconds that compiling it and its backward pass took.

    The model is left as it was: what batch norms and counters learn from the trial batches is taken back.
    """
    begun = time.perf_counter()
    torch.compiler.reset()  # what runs before this one compiled counts against torch's limit, and would be reused
    torch._dynamo.config.recompile_limit = max(8, 2 * len(widths) + 2)
    for layer in model.modules():
        if hasattr(layer, "reseed"):  # a new key every step would be compiled anew every step
            layer.reseed(0)  # type: ignore[operator]
            layer.forward = torch.compiler.disable(layer.forward)  # type: ignore[no-untyped-call]
    forward: Forward = torch.compile(model, dynamic=False)
    kept = {name: value.clone() for name, value in model.named_buffers()}
    modes = {module: module.training for module in model.modules()}
    for width in widths:
        x = example.expand(width, *example.shape[1:]).contiguous(
            memory_format=torch.channels_last if _channels_last(example) else torch.contiguous_format
        )
        with cast:
            outputs = forward(x)
        outputs.float().sum().backward()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for name, value in model.named_buffers():
            value.copy_(kept[name])
    for parameter in model.parameters():
        parameter.grad = None
    for module, mode in modes.items():
        module.training = mode
    return forward, time.perf_counter() - begun


def _channels_last(example: Tensor) -> bool:
    return example.dim() == 4 and example.is_contiguous(memory_format=torch.channels_last)
