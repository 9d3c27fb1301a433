"""Data parallel: every device has the whole model and a part of the batch; gradients are averaged while they arise."""

import inspect
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from paceline.train.parallel.strategy import Forward, Strategy, ring
from paceline.train.parallel.team import Team

TORCHS_MB = 25.0  # torch's own size of a bucket; left unsaid, it closes the first at 1 MB, which is sent the sooner
POWERSGD_WORTH = 2  # times fewer numbers, from which torch takes a tensor apart
ONE_BUCKET = 4000  # MB; PowerSGD's own messages dead-lock over gloo when several buckets are under way
_NEW = "forward_sync_buffers" in inspect.signature(DistributedDataParallel.__init__).parameters
_LEAVE_BUFFERS: dict[str, Any] = {"forward_sync_buffers" if _NEW else "broadcast_buffers": False}
HALF = {"fp16": torch.float16, "bf16": torch.bfloat16}


class DDP(Strategy):
    group: dist.ProcessGroup | None = None  # that exchanges gradients; None: the whole team

    def __init__(self, team: Team, bucket_mb: float = 25.0, compress: str = "none", rank: int = 2) -> None:
        super().__init__(team)
        self.factor = float(team.size)
        self._bucket_mb, self._compress, self._matrix_rank = bucket_mb, compress, rank
        self._wrapped: DistributedDataParallel | None = None

    def forward(self, model: nn.Module) -> Forward:
        wrapped = DistributedDataParallel(
            model,
            process_group=self.group,
            bucket_cap_mb=self._cap,
            init_sync=False,  # all begin alike; a sync would give every device the norms' statistics of the first
            **_LEAVE_BUFFERS,
            gradient_as_bucket_view=True,
        )
        if self._compress in HALF:
            wrapped.register_comm_hook(self.team.size, _halved(HALF[self._compress], self.group))
        elif self._compress == "powersgd":
            state = powerSGD_hook.PowerSGDState(self.group, self._matrix_rank, start_powerSGD_iter=3)
            wrapped.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        self._wrapped = wrapped
        return wrapped

    @property
    def _cap(self) -> float | None:
        if self._compress == "powersgd":
            return ONE_BUCKET
        return None if self._bucket_mb == TORCHS_MB else self._bucket_mb

    def part(self, last: bool) -> AbstractContextManager[Any]:
        return nullcontext() if last or self._wrapped is None else self._wrapped.no_sync()

    def sent(self, model: nn.Module) -> int:
        trained = [p for p in model.parameters() if p.requires_grad]
        if self._compress == "powersgd":
            return ring(sum(_low_rank_bytes(p, self._matrix_rank) for p in trained), self.team.size)
        whole = sum(p.numel() * p.element_size() for p in trained)
        return ring(whole // 2 if self._compress in HALF else whole, self.team.size)


def _halved(dtype: torch.dtype, group: dist.ProcessGroup | None) -> Any:
    """torch's own bf16 hook wants NCCL; this one serves every backend."""

    def hook(size: int, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:  # type: ignore[name-defined]
        whole = bucket.buffer()
        half = whole.to(dtype).div_(size)
        exchanged = dist.all_reduce(half, group=group, async_op=True).get_future()
        return exchanged.then(lambda found: whole.copy_(found.value()[0]))  # type: ignore[no-any-return]

    return hook


def _low_rank_bytes(parameter: Tensor, rank: int) -> int:
    if parameter.dim() < 2:
        return parameter.numel() * parameter.element_size()
    rows, columns = parameter.shape[0], parameter[0].numel()
    whole, low = rows * columns, min(rank, rows, columns) * (rows + columns)
    return (low if low * POWERSGD_WORTH < whole else whole) * parameter.element_size()
