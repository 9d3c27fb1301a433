"""The training clock: runs while the model trains, stops for evaluation and recording."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from paceline.train import device as devices


class Clock:
    """Seconds of training, of evaluation, and since the run began; all go on from where a checkpoint left them."""

    def __init__(
        self, device: torch.device, seconds: float = 0.0, wall_seconds: float = 0.0, evaluation_seconds: float = 0.0
    ) -> None:
        self._device = device
        self._before, self._wall_before = seconds, wall_seconds
        self.evaluation_seconds = evaluation_seconds
        self._born = time.perf_counter()
        self._started: float | None = None

    def start(self) -> None:
        devices.synchronize(self._device)
        self._started = time.perf_counter()

    def stop(self) -> None:
        devices.synchronize(self._device)
        assert self._started is not None
        self._before += time.perf_counter() - self._started
        self._started = None

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """For what ends in numbers on the host: it waits for the device by itself."""
        begun = time.perf_counter()
        yield
        self.evaluation_seconds += time.perf_counter() - begun

    def state(self) -> dict[str, float]:
        return {
            "seconds": self.seconds,
            "wall_seconds": self.wall_seconds,
            "evaluation_seconds": self.evaluation_seconds,
        }

    @property
    def seconds(self) -> float:
        assert self._started is None, "the clock is read while it is stopped"
        return self._before

    @property
    def wall_seconds(self) -> float:
        return self._wall_before + time.perf_counter() - self._born
