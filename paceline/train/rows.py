"""What training yields: rows, pauses and outcomes, and when a row is due."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from paceline.spec import Run
from paceline.spec.run import by_epoch, steps_between
from paceline.train.clock import Clock
from paceline.train.evaluate import Score
from paceline.train.examine import Examined
from paceline.train.gauge import Usage
from paceline.train.probe import Probe
from paceline.train.work import Work


@dataclass(frozen=True)
class Row:
    """One line of the record. A value that is not finite is None, and `nonfinite` says so."""

    step: int  # updates made; 0 is before the first
    epoch: int  # of the last update
    examples: int
    seconds: float  # of training: the clock stops for evaluation and recording
    wall_seconds: float
    train_loss: float | None  # mean over the batches since the last row
    train_accuracy: float | None
    loss: float | None  # held out: on test
    accuracy: float | None
    validation_loss: float | None
    validation_accuracy: float | None
    lr: float
    nonfinite: bool = False
    extras: dict[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Pause:
    """A step boundary at which the run may be left, or its state kept."""

    step: int
    total: int
    snapshot: Callable[[], dict[str, Any]]


@dataclass(frozen=True)
class Spent:
    """Where the time of a run has gone so far, and what it uses."""

    step: int
    examples: int
    seconds: float  # of training
    phases: dict[str, float]  # parts of those seconds
    evaluation: float  # seconds beside them
    usage: Usage


@dataclass(frozen=True)
class Speed:
    """How fast a run was."""

    samples_per_second: float | None  # after the warm-up; None for a run that ended in it
    compile_seconds: float  # apart from those of training
    telemetry_share: float  # of the training time, that its own measuring took
    work: Work | None = None  # of a step; counted in studies of time
    probes: tuple[Probe, Probe] | None = None  # what the device could do before and after
    sent_bytes: int = 0  # by one device for one update
    imbalance: float = 0.0  # by how much the busiest device exceeds the mean, as a share


@dataclass(frozen=True)
class Outcome:
    """The last thing a run gives: how it ended."""

    status: str  # done or diverged
    reason: str
    step: int
    threads: int
    evaluation_seconds: float  # of the wall seconds; in a stack, of the whole stack
    examined: Examined | None = None  # of a run that ended well
    peak: tuple[int, int] | None = None  # bytes held at most, of all there are; of a run alone
    speed: Speed | None = None  # of a run alone


def due(run: Run, step: int, total: int, ends_epoch: bool) -> bool:
    """Whether to evaluate after this step. Unsaid: each epoch when counting epochs, else 20 times a run."""
    return ends_epoch if by_epoch(run) else step % steps_between(run, total) == 0


@dataclass(frozen=True)
class Mark:
    """How far a run has come, and its batches since the last row, summed."""

    step: int
    epoch: int
    examples: int
    batches: int = 0
    seen: int = 0
    loss_sum: float = 0.0
    correct: int | None = None  # None: nothing to count


def row(at: Mark, clock: Clock, scores: dict[str, Score], lr: float, extras: dict[str, float]) -> Row:
    test, validation = scores["test"], scores.get("validation")
    values = {
        "train_loss": at.loss_sum / at.batches if at.batches else None,
        "train_accuracy": at.correct / at.seen if at.batches and at.correct is not None else None,
        "loss": test.loss,
        "accuracy": test.accuracy,
        "validation_loss": validation.loss if validation else None,
        "validation_accuracy": validation.accuracy if validation else None,
        **extras,
    }
    finite = {name: value if value is None or math.isfinite(value) else None for name, value in values.items()}
    return Row(
        step=at.step,
        epoch=at.epoch,
        examples=at.examples,
        seconds=clock.seconds,
        wall_seconds=clock.wall_seconds,
        lr=lr,
        nonfinite=finite != values,
        extras={name: finite.pop(name) for name in extras},
        **finite,
    )


def ending(row: Row, last: bool, total: int, stop: str | None, clock: Clock) -> Outcome | None:
    if row.nonfinite:
        reason = f"a loss or parameter is not finite at step {row.step}"
        return Outcome("diverged", reason, row.step, torch.get_num_threads(), clock.evaluation_seconds)
    if not stop and not last:
        return None
    reason = stop or f"all {total} steps"
    return Outcome("done", reason, row.step, torch.get_num_threads(), clock.evaluation_seconds)
