"""The noise of gradients: their squared norms at two batch sizes, at every so many steps.

Where a batch comes in parts, on several devices or one after the other, each part has a gradient of its own before they
are put together, and looking at it costs nothing else. A batch in one part is passed through by half once more.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from paceline.data.batches import Batch
from paceline.spec import Run
from paceline.spec.run import NOISE, averages
from paceline.train.parallel.team import Team

EVERY = 50  # steps, where several devices have it for nothing


class Noise:
    """Sums of squared norms since the last row."""

    def __init__(self, run: Run, model: nn.Module, team: Team, factor: float) -> None:
        """`factor`: that on the loss of a part."""
        shared = team.size > 1 and averages(run)
        self._every = run.noise_every or (EVERY if shared and run.precision != "fp16" else 0)
        self._team, self._factor, self._parts = team, factor, run.accumulate * team.size
        self._model = model
        self._watching, self._seen = False, torch.zeros(())
        self._hooked: set[int] = set()
        self.clear()

    def clear(self) -> None:
        self._steps, self._small, self._big, self._batch = 0, 0.0, 0.0, 0

    def wanted(self, batch: Batch) -> bool:
        """Whether this step is looked at: it is its turn, and its parts are of one size, as they were before."""
        self._watching = bool(self._every) and batch.step % self._every == 0
        self._watching &= batch.count % max(2, self._parts) == 0 and self._batch in (0, batch.count)
        self._seen = torch.zeros((), device=self._seen.device)
        if self._watching and self.in_parts:
            self._hook()
        return self._watching

    @property
    def in_parts(self) -> bool:
        return self._parts > 1

    def half(self, gradients: Callable[[], tuple[Tensor, ...]]) -> None:
        """Of a batch in one part: the gradients of its first half, got so that nothing is left of it."""
        kept = [buffer.clone() for buffer in self._model.buffers()]
        self._seen = torch.stack([each.square().sum() for each in gradients()]).sum()
        for buffer, before in zip(self._model.buffers(), kept, strict=True):
            buffer.copy_(before)

    def whole(self, batch: Batch, parameters: list[nn.Parameter]) -> None:
        """Once the gradients of the whole batch are there."""
        if not self._watching:
            return
        self._watching = False
        big = torch.stack([p.grad.square().sum() for p in parameters if p.grad is not None]).sum()
        parts = self._parts
        seen = self._seen * (parts / self._factor) ** 2 if self.in_parts else self._seen
        (small,) = self._team.total(seen.to(big.device))
        self._steps, self._batch = self._steps + 1, batch.count
        self._small += small.item() / parts
        self._big += big.item()

    def extras(self) -> dict[str, float]:
        """Means over the steps since the last row, for its record; none if none was looked at."""
        if not self._steps:
            return {}
        small = self._batch / max(2, self._parts)
        values = (small, float(self._batch), self._small / self._steps, self._big / self._steps)
        return dict(zip(NOISE, values, strict=True))

    def state(self) -> dict[str, Any]:
        return {"steps": self._steps, "small": self._small, "big": self._big, "batch": self._batch}

    def load(self, kept: dict[str, Any]) -> None:
        self._steps, self._small, self._big, self._batch = (kept[name] for name in ("steps", "small", "big", "batch"))

    def _hook(self) -> None:
        """Those that train now, a base that has thawed among them: a frozen parameter takes no hook."""
        for parameter in self._model.parameters():
            if parameter.requires_grad and id(parameter) not in self._hooked:
                parameter.register_hook(self._see)  # type: ignore[no-untyped-call]
                self._hooked.add(id(parameter))

    def _see(self, gradient: Tensor) -> None:
        if self._watching:
            self._seen = self._seen.to(gradient.device) + gradient.detach().square().sum()
