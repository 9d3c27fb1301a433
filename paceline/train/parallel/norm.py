"""Batch norm over the batch of all devices. torch's own is for GPUs alone; this one serves every device."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from paceline.errors import StudyError
from paceline.train.parallel.team import Team


class Synced(_BatchNorm):
    """The statistics of a step are of all devices' examples, however they are divided."""

    counts = True  # whether what this device sees is of the batch

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        self._check_input_dim(x)  # type: ignore[no-untyped-call]
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        mean, variance, total = _statistics(wide, self.counts)
        self._note(mean.detach(), variance.detach(), total.detach())
        shape = [1, -1, *[1] * (x.dim() - 2)]
        found = (wide - mean.view(shape)) * (variance + self.eps).rsqrt().view(shape)
        if self.affine:
            found = found * self.weight.view(shape) + self.bias.view(shape)
        return found.to(x.dtype)

    @torch.no_grad()
    def _note(self, mean: Tensor, variance: Tensor, total: Tensor) -> None:
        if self.running_mean is None or self.running_var is None:
            return
        self.num_batches_tracked.add_(1)  # type: ignore[union-attr]
        share = self.momentum if self.momentum is not None else 1 / float(self.num_batches_tracked)  # type: ignore[arg-type]
        self.running_mean.lerp_(mean, share)
        self.running_var.lerp_(variance * total / (total - 1).clamp(min=1), share)


class SyncedBatchNorm1d(Synced, nn.BatchNorm1d):
    pass


class SyncedBatchNorm2d(Synced, nn.BatchNorm2d):
    pass


class SyncedBatchNorm3d(Synced, nn.BatchNorm3d):
    pass


KINDS: dict[type[nn.Module], type[Synced]] = {
    nn.BatchNorm1d: SyncedBatchNorm1d,
    nn.BatchNorm2d: SyncedBatchNorm2d,
    nn.BatchNorm3d: SyncedBatchNorm3d,
}


def _statistics(x: Tensor, counts: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and variance of every channel over all devices, and of how many values. Those of the devices are put
    together by their own means (Chan, Golub and LeVeque 1979): squares of large values would lose a small spread."""
    dims = [0, *range(2, x.dim())]
    count = x.new_full((1,), counts * x.numel() / x.shape[1])
    each = _gathered(torch.cat([x.mean(dims), x.var(dims, correction=0), count]))
    total = each[:, -1].sum()
    share = each[:, -1:] / total
    means, variances = each[:, :-1].chunk(2, 1)
    mean = (share * means).sum(0)
    return mean, (share * (variances + (means - mean).square())).sum(0), total


class _Gathered(torch.autograd.Function):
    """A row of every device; its gradient is the sum of what all of them have for it."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        rows = [torch.empty_like(values) for _ in range(dist.get_world_size())]
        dist.all_gather(rows, values)
        return torch.stack(rows)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.clone()
        dist.all_reduce(total)
        return total[dist.get_rank()]


def _gathered(values: Tensor) -> Tensor:
    return _Gathered.apply(values)  # type: ignore[no-any-return, no-untyped-call]


@contextmanager
def uncounted(model: nn.Module) -> Iterator[None]:
    """While a device that has no example of the batch passes one through all the same: nothing is learnt from it."""
    modes = {module: module.training for module in model.modules()}
    for module, mode in modes.items():
        module.training = mode and isinstance(module, Synced)
        if isinstance(module, Synced):
            module.counts = False
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
            if isinstance(module, Synced):
                module.counts = True


def synced(model: nn.Module, team: Team) -> nn.Module:
    """Every batch norm of the model in its synced form, with the same names of tensors; others are refused."""
    norms = [layer for layer in model.modules() if isinstance(layer, _BatchNorm)] if team.size > 1 else []
    for layer in norms:
        if type(layer) not in KINDS:
            raise StudyError(
                f"{type(layer).__name__} is a batch norm that cannot be synced; say sync_batch_norm: false.",
                key="sync_batch_norm",
            )
        layer.__class__ = KINDS[type(layer)]
    return model
