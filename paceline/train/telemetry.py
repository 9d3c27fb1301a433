"""Where the seconds of training go: each step's time split into phases, for a share of the steps that costs nothing.

On a CPU a phase is what the clock says between two marks. On a GPU a mark is an event in the stream of work, read after
the device has been waited for anyway: so a phase is what the device spent on it, its waiting for the host included.
On Metal there are none: the host's clock would time launches, and torch's events there may hang or come out reversed
(pytorch pull request 196395).
"""

import math
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Protocol

import torch

from paceline.train import device as devices

PHASES = ("loader", "copy", "forward", "backward", "exchange", "optimizer")
LOADER, COPY, FORWARD, BACKWARD, EXCHANGE, OPTIMIZER, OTHER = range(7)
SHARE = 0.003  # of the training time that may go into marks; steps are left out to keep to it
MOST_APART = 100  # steps between two that are marked
_TRIALS = 50
_BEGINS = -1  # a step


class Telemetry:
    """Marks the phases of a step as they end; `step` begins it."""

    def __init__(self, device: torch.device, parts: int = 1, kept: dict[str, Any] | None = None) -> None:
        """`parts` of a batch, each of which is marked; `kept`: the state of a run that goes on."""
        self._marks = _marks(device)
        self._sums: list[float] = list(kept["sums"]) if kept else [0.0] * (OTHER + 1)
        self._every, self._until, self._draw = 1, 0, 1
        self._warm: tuple[int, float] | None = None  # examples and seconds at the end of the warm-up
        self._marking = False
        self.cost = _cost(self._marks, device, parts)

    def step(self) -> None:
        self._until -= 1
        self._marking = self._until < 0
        if self._marking:
            self._until = self._apart()
            self._marks.begin()

    def _apart(self) -> int:
        """Steps to leave out: on average as many as keep to the share, never in step with a loader's own beat."""
        self._draw = (self._draw * 1103515245 + 12345) & 0x7FFFFFFF
        return (self._draw >> 8) % (2 * self._every - 1)

    def mark(self, phase: int) -> None:
        """What passed since the mark before was this phase."""
        if self._marking:
            self._marks.mark(phase)

    def settle(self, steps: int, examples: int, seconds: float) -> None:
        """To be called when the device has been waited for, with what has been trained so far."""
        for phase, spent in self._marks.taken():
            self._sums[phase] += spent
        if self._warm is None:
            self._warm = (examples, seconds)
        if steps and seconds > 0:
            self._every = min(MOST_APART, max(1, math.ceil(self.cost / (SHARE * seconds / steps))))

    def phases(self, seconds: float) -> dict[str, float]:
        """The phases' parts of so many seconds of training."""
        total = sum(self._sums)
        return {
            name: seconds * spent / total if total else 0.0 for name, spent in zip(PHASES, self._sums, strict=False)
        }

    def share(self, steps: int, seconds: float) -> float:
        """What the marks themselves cost, as a share of the training time."""
        return self.cost / self._every / (seconds / steps) if steps and seconds else 0.0

    def speed(self, examples: int, seconds: float) -> float | None:
        """Examples a second since the warm-up; None if nothing was trained since."""
        if self._warm is None or seconds <= self._warm[1]:
            return None
        return (examples - self._warm[0]) / (seconds - self._warm[1])

    def state(self) -> dict[str, Any]:
        """For a checkpoint. The warm-up is not in it: a run that goes on warms up again."""
        return {"sums": self._sums}


class _Marks(Protocol):
    def begin(self) -> None: ...

    def mark(self, phase: int) -> None: ...

    def taken(self) -> Iterator[tuple[int, float]]:
        """Phases and their seconds since the last call."""


class _HostMarks:
    def __init__(self) -> None:
        self._made: list[tuple[int, float]] = []

    def begin(self) -> None:
        self._made.append((_BEGINS, time.perf_counter()))

    def mark(self, phase: int) -> None:
        self._made.append((phase, time.perf_counter()))

    def taken(self) -> Iterator[tuple[int, float]]:
        made, self._made = self._made, []
        for (_, before), (phase, at) in pairwise(made):
            if phase != _BEGINS:
                yield phase, at - before


class _DeviceMarks:
    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._made: list[tuple[int, torch.cuda.Event]] = []

    def begin(self) -> None:
        self.mark(_BEGINS)

    def mark(self, phase: int) -> None:
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(self._device))
        self._made.append((phase, event))

    def taken(self) -> Iterator[tuple[int, float]]:
        made, self._made = self._made, []
        for (_, before), (phase, at) in pairwise(made):
            if phase != _BEGINS:
                yield phase, before.elapsed_time(at) / 1000


class _NoMarks:
    def begin(self) -> None:
        pass

    def mark(self, phase: int) -> None:
        pass

    def taken(self) -> Iterator[tuple[int, float]]:
        return iter(())


def _marks(device: torch.device) -> _Marks:
    if device.type == "mps":
        return _NoMarks()
    return _DeviceMarks(device) if device.type == "cuda" else _HostMarks()


def _cost(marks: _Marks, device: torch.device, parts: int) -> float:
    """Seconds that the marks of one step take, measured here and now."""
    begun = time.perf_counter()
    for _ in range(_TRIALS):
        marks.begin()
        for phase in (LOADER, COPY, OTHER, *(FORWARD, BACKWARD) * parts, OPTIMIZER, OTHER):
            marks.mark(phase)
    spent = (time.perf_counter() - begun) / _TRIALS
    devices.synchronize(device)
    list(marks.taken())
    return spent
