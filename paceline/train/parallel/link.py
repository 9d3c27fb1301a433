"""What an exchange of gradients costs the devices of a team: all-reduces of several sizes, packing, unpacking."""

import statistics
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

from paceline.train import device as devices
from paceline.train.parallel.team import Team

KINDS = {"none": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
MIB = 2**20
SIZES = (2**10, 2**18, MIB, 4 * MIB, 16 * MIB)  # bytes of a message
FEWEST, MOST = 5, 40  # times that a size is sent


def exchanges(
    team: Team,
    device: torch.device,
    kinds: tuple[str, ...] = ("none",),
    sizes: tuple[int, ...] = SIZES,
    seconds: float = 1.0,
) -> dict[str, list[tuple[int, float]]]:
    """By kind of compression, bytes of a message and the median seconds of its all-reduce."""
    found = {}
    for kind in kinds:
        found[kind] = [(size, _reduced(team, device, size, KINDS[kind], seconds / len(sizes))) for size in sizes]
    return found


def _reduced(team: Team, device: torch.device, size: int, dtype: torch.dtype, seconds: float) -> float:
    message = torch.zeros(size // dtype.itemsize, dtype=dtype, device=device)
    taken: list[float] = []
    begun = time.perf_counter()
    while len(taken) < MOST and team.any([len(taken) < FEWEST or time.perf_counter() - begun < seconds], device)[0]:
        team.wait()
        taken.append(_timed(lambda: dist.all_reduce(message), device))
    return statistics.median(taken[1:])


def _timed(work: Callable[[], object], device: torch.device) -> float:
    devices.synchronize(device)
    begun = time.perf_counter()
    work()
    devices.synchronize(device)
    return time.perf_counter() - begun
