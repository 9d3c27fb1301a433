"""A bare script for torchrun, as a user would write it: DDP over tensors in memory, nothing recorded."""

import statistics
import time
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from paceline.train.parallel.team import Team

WARM_UP = 5


def steps(model: nn.Module, x: Tensor, y: Tensor, batch: int, count: int, team: Team, *, tuned: bool) -> float:
    """Median seconds of a step, over so many after a warm-up. `tuned`: channels_last, fused, gradients in buckets."""
    torch.manual_seed(team.rank)
    if tuned and x.dim() == 4:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    wrapped = DistributedDataParallel(model, gradient_as_bucket_view=tuned)
    optimizer = torch.optim.Adam(wrapped.parameters(), lr=1e-6, fused=tuned or None)
    own, ends = batch // team.size, []
    for step in range(WARM_UP + count):
        chosen = torch.randint(0, len(x), (own,))
        inputs, targets = x[chosen], y[chosen]
        if tuned and x.dim() == 4:
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        optimizer.zero_grad()
        F.cross_entropy(wrapped(inputs), targets).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step >= WARM_UP - 1:
            ends.append(time.perf_counter())
    return statistics.median(after - before for before, after in pairwise(ends))
