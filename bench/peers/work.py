"""What every peer is given, and what it hands back."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

PIXELS, CLASSES, BATCH = 784, 10, 100
TOGETHER = 2  # trials at once, on a core each, by a tool that trains several


class Setting(NamedTuple):
    optimizer: str
    lr: float


@dataclass(frozen=True, eq=False)
class Images:
    train_x: Tensor  # float32 [n, 784]
    train_y: Tensor  # int64 [n]
    test_x: Tensor
    test_y: Tensor


class Point(NamedTuple):
    """The test set looked at after a step."""

    step: int
    loss: float
    accuracy: float


@dataclass(frozen=True)
class Sweep:
    seconds: float  # of the sweep alone: no imports, no start-up
    accuracy: list[float]  # of each setting on the test images, after its last step
    start_up: float = 0.0  # seconds that the peer spent on processes and imports of its own, not in `seconds`


@dataclass(frozen=True)
class LineSweep:
    seconds: float
    loss: list[float]  # of each setting, after its last step


def one_by_one(settings: Sequence[Setting], train: Callable[[Setting], list[Point]]) -> Sweep:
    """Trains the settings in turn, under the clock."""
    begun = time.perf_counter()
    curves = [train(setting) for setting in settings]
    return Sweep(time.perf_counter() - begun, [curve[-1].accuracy for curve in curves])


def check(steps: int, evaluate_every: int) -> None:
    if steps < 1 or evaluate_every < 1 or steps % evaluate_every:
        raise ValueError(f"{steps} steps evaluated every {evaluate_every}: the last step must be an evaluated one")
