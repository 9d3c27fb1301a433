"""What this device can do just now: its arithmetic, its memory and its launches, and how steady that is.

Taken before and after a run that is timed, in well under a second. The same piece of work both times: what it took
says whether the machine was as fast at the end as at the beginning.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from paceline.train import device as devices
from paceline.train import precision
from paceline.train.work import work

SIDE = {"cpu": 512, "cuda": 4096, "mps": 2048}  # of the matrices that are multiplied
REPEATS = 15
BYTES = {"cpu": 1 << 26, "cuda": 1 << 28, "mps": 1 << 27}  # copied, more than a cache holds
WARM_UP_SECONDS = 0.3  # of a GPU
LAYERS = 30  # of a network with nothing to compute


@dataclass(frozen=True)
class Probe:
    flops: float  # a second, in matrix products
    bytes: float  # a second, read and written
    call_seconds: float  # of an operation of a training step that has nothing to compute
    seconds: float  # median of the pieces of work
    spread: float  # 90th less 10th percentile of those, as a share of the median


def probe(name: str, device: torch.device) -> Probe:
    """`name`: the precision whose products are timed."""
    side, kind = SIDE[device.type], precision.MIXED.get(name, precision.dtype(name))
    a = torch.rand(side, side, device=device, dtype=kind)
    out = torch.empty_like(a)
    _warm_up(lambda: torch.mm(a, a, out=out), device)
    pieces = _timed(lambda: torch.mm(a, a, out=out), REPEATS, device)
    source = torch.zeros(BYTES[device.type], dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    copied = _timed(lambda: target.copy_(source), 3, device)
    idle = _Idle(device)
    steps = _timed(idle.step, 5, device)
    middle = statistics.median(pieces)
    ends = statistics.quantiles(pieces, n=10)
    return Probe(
        flops=2 * side**3 / min(pieces),
        bytes=2 * source.numel() / min(copied),
        call_seconds=min(steps) / idle.calls,
        seconds=middle,
        spread=(ends[-1] - ends[0]) / middle,
    )


def _warm_up(work: Callable[[], object], device: torch.device) -> None:
    """A GPU that rested runs at a low clock for a while."""
    begun = time.perf_counter()
    while device.type == "cuda" and time.perf_counter() - begun < WARM_UP_SECONDS:
        work()
        devices.synchronize(device)


class _Idle:
    """A training step whose every operation has one number to work on: what is left is the calling."""

    def __init__(self, device: torch.device) -> None:
        layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(1, 1), nn.ReLU())]
        self._model = nn.Sequential(*layers).to(device)
        self._x = torch.ones(1, 1, device=device)
        counted = work(self._model, self._x, 1)
        assert counted is not None
        self.calls = counted.calls

    def step(self) -> None:
        self._model.zero_grad()
        self._model(self._x).sum().backward()
        with torch.no_grad():
            for parameter in self._model.parameters():
                parameter.add_(parameter.grad, alpha=0.0)  # type: ignore[arg-type]


def _timed(work: Callable[[], object], times: int, device: torch.device) -> list[float]:
    """Seconds of each, the first left out as a warm-up."""
    found = []
    for _ in range(times + 1):
        devices.synchronize(device)
        begun = time.perf_counter()
        work()
        devices.synchronize(device)
        found.append(time.perf_counter() - begun)
    return found[1:]
