"""The processes that train one run together: which of them this is, and what they tell each other.

Each has one device. Alone, every word here costs nothing.
"""

import gc
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.nn.functional  # imported later it would keep the group then there, which could not be left
from torch import Tensor

from paceline.errors import DeviceError, PacelineError, number_said
from paceline.train.parallel import meeting

HANG_SECONDS = 120.0


@dataclass(frozen=True)
class Team:
    rank: int = 0
    size: int = 1
    hosts: int = 1
    local: int = 0  # which of its host's processes

    @property
    def first(self) -> bool:
        """Whether this process writes what is recorded."""
        return self.rank == 0

    def stretch(self, count: int) -> tuple[int, int]:
        """The consecutive examples of a split that this process evaluates."""
        return count * self.rank // self.size, count * (self.rank + 1) // self.size

    def total(self, *values: Tensor) -> list[Tensor]:
        """Each summed over all processes, in one message."""
        if self.size == 1:
            return list(values)
        flat = torch.cat([value.detach().reshape(-1).double() for value in values])
        dist.all_reduce(flat)
        parts = torch.split(flat, [value.numel() for value in values])
        return [part.reshape(value.shape).to(value.dtype) for part, value in zip(parts, values, strict=True)]

    def any(self, flags: Sequence[bool], device: torch.device) -> list[bool]:
        """Which of the flags is up anywhere: what all processes then do alike."""
        if self.size == 1:
            return list(flags)
        shared = torch.tensor(flags, dtype=torch.int32, device=device)
        dist.all_reduce(shared, dist.ReduceOp.MAX)
        return [bool(flag) for flag in shared.tolist()]

    def agreed(self, number: int, device: torch.device) -> int:
        """What the first process says."""
        if self.size == 1:
            return number
        shared = torch.tensor(number, device=device)
        dist.broadcast(shared, 0)
        return int(shared.item())

    def joined(self, rows: Tensor, count: int) -> Tensor:
        """The rows of all stretches of so many examples, in their order."""
        if self.size == 1:
            return rows
        sizes = [count * (rank + 1) // self.size - count * rank // self.size for rank in range(self.size)]
        most = max(sizes)
        padded = torch.cat([rows, rows.new_zeros((most - len(rows), *rows.shape[1:]))])
        found = [torch.empty_like(padded) for _ in range(self.size)]
        dist.all_gather(found, padded.contiguous())
        return torch.cat([each[:size] for each, size in zip(found, sizes, strict=True)])

    def spread(self, seconds: Sequence[float], device: torch.device) -> list[list[float]]:
        """What each process measured, by rank."""
        if self.size == 1:
            return [list(seconds)]
        own = torch.tensor(seconds, dtype=torch.float64, device=device)
        found = [torch.empty_like(own) for _ in range(self.size)]
        dist.all_gather(found, own)
        return [each.tolist() for each in found]

    def wait(self) -> None:
        if self.size > 1:
            dist.barrier()


ALONE = Team()


@contextmanager
def gathered(
    kind: str, devices: int, room: str = "team", prepare: Callable[[], object] = lambda: None
) -> Iterator[Team]:
    """The first so many processes that torchrun has started, for as long as the context lasts. `kind` of device: cpu
    or cuda; `room`: a name for where they meet, another for every team; `prepare`: what may take one of them longer
    than the others would wait once they are a team."""
    if devices == 1:
        yield ALONE
        return
    rank, size, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    if rank >= devices or size < devices:
        raise DeviceError(f"the run is for {devices} devices, but torchrun has started {size} processes.")
    if kind == "cuda":
        if local >= torch.cuda.device_count():
            raise DeviceError(f"process {local} of this host has no GPU: there are {torch.cuda.device_count()}.")
        torch.cuda.set_device(local)
    prepare()
    store = meeting.together(room, rank, devices)
    backend, patience = "nccl" if kind == "cuda" else "gloo", timedelta(seconds=hang_seconds())
    dist.init_process_group(backend, store=store, rank=rank, world_size=devices, timeout=patience)
    leaves = True
    try:
        yield Team(rank, devices, math.ceil(devices / int(os.environ.get("LOCAL_WORLD_SIZE", size))), local)
    except PacelineError:  # it ends this process; leaving would wait for what the others' GPUs have under way
        leaves = backend != "nccl"
        raise
    finally:
        if leaves:
            dist.destroy_process_group()
        gc.collect()  # of cycles that keep its threads: alive at exit, they may end the process by a signal


def hang_seconds() -> float:
    """After which a process without a word is taken for lost."""
    return number_said("PACELINE_HANG_SECONDS", HANG_SECONDS)


def lost(error: BaseException) -> bool:
    """Whether it says that another process is gone or silent, and nothing about this one."""
    words = str(error).lower()
    return isinstance(error, dist.DistError) or (
        isinstance(error, RuntimeError) and any(word in words for word in ("gloo", "nccl", "connection", "timed out"))
    )


def average(tensors: Iterable[Tensor], size: int) -> None:
    """Each becomes its mean over all processes, in one message."""
    tensors = list(tensors)
    flat = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
    dist.all_reduce(flat)
    flat.div_(size)
    for tensor, mean in zip(tensors, torch.split(flat, [t.numel() for t in tensors]), strict=True):
        tensor.copy_(mean.view(tensor.shape))
