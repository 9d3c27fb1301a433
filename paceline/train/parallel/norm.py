"""Batch norm over the batch of all devices. torch's own is for GPUs alone; this one serves every device."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from paceline.train.parallel.team import Team


class SyncedBatchNorm(nn.BatchNorm2d):
    """The statistics of a step are of all devices' examples, however they are divided."""

    counts = True  # whether what this device sees is of the batch

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)
        dims = [0, *range(2, x.dim())]
        count = x.new_full((1,), x.numel() / x.shape[1])
        sums = _total(torch.cat([x.sum(dims), x.square().sum(dims), count]) * float(self.counts))
        total = sums[-1]
        mean, square = (sums[:-1] / total).chunk(2)
        variance = square - mean.square()
        self._note(mean.detach(), variance.detach(), total.detach())
        shape = [1, -1, *[1] * (x.dim() - 2)]
        scale = (variance + self.eps).rsqrt() * self.weight
        return x * scale.view(shape) + (self.bias - mean * scale).view(shape)

    @torch.no_grad()
    def _note(self, mean: Tensor, variance: Tensor, total: Tensor) -> None:
        if self.running_mean is None or self.running_var is None:
            return
        self.num_batches_tracked.add_(1)  # type: ignore[union-attr]
        share = self.momentum if self.momentum is not None else 1 / float(self.num_batches_tracked)  # type: ignore[arg-type]
        self.running_mean.lerp_(mean, share)
        self.running_var.lerp_(variance * total / (total - 1).clamp(min=1), share)


class _Total(torch.autograd.Function):
    """A sum over devices, as is the gradient of one."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        total = values.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.clone()
        dist.all_reduce(total)
        return total


def _total(values: Tensor) -> Tensor:
    return _Total.apply(values)  # type: ignore[no-any-return, no-untyped-call]


@contextmanager
def uncounted(model: nn.Module) -> Iterator[None]:
    """While a device that has no example of the batch passes one through all the same: nothing is learnt from it."""
    modes = {module: module.training for module in model.modules()}
    for module in modes:
        module.training = isinstance(module, SyncedBatchNorm)
        if isinstance(module, SyncedBatchNorm):
            module.counts = False
    yield
    for module, mode in modes.items():
        module.training = mode
        if isinstance(module, SyncedBatchNorm):
            module.counts = True


def synced(model: nn.Module, team: Team) -> nn.Module:
    """Every batch norm of the model in its synced form, with the same names of tensors."""
    if team.size > 1 and dist.is_initialized():
        for parent in list(model.modules()):
            for child in parent.children():
                if type(child) is nn.BatchNorm2d:
                    child.__class__ = SyncedBatchNorm
    return model
