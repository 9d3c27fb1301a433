"""Dropout whose mask is a function of a key that the trainer sets for every step."""

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Inverted dropout: keeps an entry with probability 1 - rate and scales it by 1 / (1 - rate)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self._key: int | None = None
        self._generators: dict[torch.device, torch.Generator] = {}

    def reseed(self, key: int) -> None:
        self._key = key

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return x
        if self.rate == 1:
            return x * torch.zeros_like(x)
        if self._key is None:
            raise RuntimeError("dropout has no key for this step; call reseed(key) before forward")
        generator = self._generators.setdefault(x.device, torch.Generator(x.device))
        generator.manual_seed(self._key)
        mask = torch.empty_like(x).bernoulli_(1 - self.rate, generator=generator)
        return x * mask.div_(1 - self.rate)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"
