"""How many CPU threads a run has work for.

Threads that share too little work wait for each other at every operation. Alone on a machine that costs a little;
beside anything else that runs it costs the run fifty times its time, because a thread that waits keeps a core busy.
"""

from typing import Any

import torch
from torch import Tensor, nn

STEP_MULTIPLY_ADDS = 5e7  # of one training step, for every thread


def suited_threads(model: nn.Module, example: Tensor, batch: int, cores: int) -> int:
    """One thread for each 50 million multiply-adds of a step, of which the backward pass has two thirds."""
    if example.device.type != "cpu":
        return cores
    return max(1, min(cores, int(3 * multiply_adds(model, example) * batch / STEP_MULTIPLY_ADDS)))


def multiply_adds(model: nn.Module, example: Tensor) -> int:
    """Of one forward pass: each output of a layer with weights costs one for every weight that leads to it."""
    total = 0

    def count(layer: nn.Module, given: Any, output: Tensor) -> None:
        nonlocal total
        weight = layer.weight
        total += output.numel() * weight[0].numel()  # type: ignore[index]

    weighted = [m for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d))]
    hooks = [layer.register_forward_hook(count) for layer in weighted]
    was_training = model.training
    model.eval()
    with torch.no_grad():
        model(example)
    model.train(was_training)
    for hook in hooks:
        hook.remove()
    return max(total, sum(p.numel() for p in model.parameters()))
