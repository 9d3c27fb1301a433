"""Initialisations by name. Draws come from torch's generator, which the trainer seeds for each run."""

import torch
from torch import nn


def initialise(model: nn.Module, scheme: str) -> None:
    """torch: as torch makes layers. kaiming: He et al. 2015, biases 0. truncated_normal: weights 0.1, biases 0.1."""
    if scheme == "torch":
        return
    for layer in model.modules():
        if isinstance(layer, (nn.Linear, nn.Conv2d)):
            _fill(layer, scheme)


def _fill(layer: nn.Linear | nn.Conv2d, scheme: str) -> None:
    bias = layer.bias if layer.bias is not None else torch.empty(0)
    if scheme == "zeros":
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(bias)
    elif scheme == "normal":
        nn.init.normal_(layer.weight, std=0.01)
        nn.init.zeros_(bias)
    elif scheme == "kaiming":
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        nn.init.zeros_(bias)
    elif scheme == "truncated_normal":
        nn.init.trunc_normal_(layer.weight, std=0.1, a=-0.2, b=0.2)
        nn.init.constant_(bias, 0.1)
    else:
        raise ValueError(f"unknown initialisation {scheme!r}")
