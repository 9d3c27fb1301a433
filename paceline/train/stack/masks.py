"""Dropout masks of a stack: for each run those it would draw alone."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from paceline.data.draws import key
from paceline.errors import StackError
from paceline.models.dropout import Dropout
from paceline.spec import Run


class Masks:
    """`rates` [runs][layers]; the layers in the order in which the model names them."""

    def __init__(self, runs: Sequence[Run], rates: Sequence[Sequence[float]], device: torch.device) -> None:
        self._drawn = [[(run.seed, rate) for rate in of_run] for run, of_run in zip(runs, rates, strict=True)]
        self._generator = torch.Generator(device)
        self._places: dict[int, Tensor] = {}  # by layer, which of the distinct masks each run has

    def of(self, step: int, layer: int, x: Tensor) -> Tensor | None:
        """What to multiply [runs, examples, ...] by; None if no run drops anything here."""
        drawn = [of_run[layer] for of_run in self._drawn]
        if all(rate == 0 for _, rate in drawn):
            return None
        distinct = list(dict.fromkeys(drawn))
        masks = torch.stack([self._draw(step, layer, seed, rate, x) for seed, rate in distinct])
        if len(distinct) == 1:
            return masks
        if layer not in self._places:
            self._places[layer] = torch.tensor([distinct.index(pair) for pair in drawn], device=x.device)
        return masks.index_select(0, self._places[layer])

    def _draw(self, step: int, layer: int, seed: int, rate: float, x: Tensor) -> Tensor:
        mask = torch.empty(x.shape[1:], dtype=x.dtype, device=x.device)
        if rate in (0, 1):
            return mask.fill_(1 - rate)
        self._generator.manual_seed(key(seed, "dropout", step, layer))
        return mask.bernoulli_(1 - rate, generator=self._generator).div_(1 - rate)


def rates(model: nn.Module) -> list[float]:
    random = [layer for layer in model.modules() if hasattr(layer, "reseed")]
    if other := next((layer for layer in random if type(layer) is not Dropout), None):
        raise StackError(f"the layer {type(other).__name__}, which draws")
    return [layer.rate for layer in random]  # type: ignore[misc]
