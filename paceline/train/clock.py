"""The training clock: runs while the model trains, stops for evaluation and recording."""

import time

import torch

from paceline.train import device as devices


class Clock:
    """Seconds of training, and seconds since the run began; both go on from where a checkpoint left them."""

    def __init__(self, device: torch.device, seconds: float = 0.0, wall_seconds: float = 0.0) -> None:
        self._device = device
        self._before, self._wall_before = seconds, wall_seconds
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

    @property
    def seconds(self) -> float:
        assert self._started is None, "the clock is read while it is stopped"
        return self._before

    @property
    def wall_seconds(self) -> float:
        return self._wall_before + time.perf_counter() - self._born
