"""Dropout whose mask is a function of a key that the trainer sets for every step."""

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Inverted dropout: keeps an entry with probability 1 - rate and scales it by 1 / (1 - rate)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self._key: int | None = None
        self._places: Tensor | None = None
        self._count = 0
        self.columns: tuple[int, int] | None = None  # (k, n): sees the k-th of n equal parts of the features
        self._generators: dict[torch.device, torch.Generator] = {}

    def reseed(self, key: int, places: Tensor | None = None, count: int = 0) -> None:
        """For the next forward pass. If that sees only some examples of a batch of `count`, those at `places`, they are
        masked as they would be in the whole."""
        self._key, self._places, self._count = key, places, count

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return x
        if self.rate == 1:
            return x * torch.zeros_like(x)
        if self._key is None:
            raise RuntimeError("dropout has no key for this step; call reseed(key) before forward")
        generator = self._generators.setdefault(x.device, torch.Generator(x.device))
        generator.manual_seed(self._key)
        mask = self._blank(x).bernoulli_(1 - self.rate, generator=generator)
        if self.columns is not None:
            mask = mask.chunk(self.columns[1], -1)[self.columns[0]]
        if self._places is not None:
            mask = mask[self._places.to(x.device)]
        return x * mask.div_(1 - self.rate)

    def _blank(self, x: Tensor) -> Tensor:
        """Of the whole batch, contiguous: draws follow the order in memory, and are to be the same however x lies."""
        shape = [x.shape[0] if self._places is None else self._count, *x.shape[1:]]
        if self.columns is not None:
            shape[-1] *= self.columns[1]
        return x.new_empty(shape)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"
