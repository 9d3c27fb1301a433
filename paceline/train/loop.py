"""The plain loop: one run, from its first step to its last, as a generator of rows.

It knows nothing of files, progress bars or other runs. Between rows it offers a Pause now and then, at a step
boundary: whoever drives it may take a snapshot there, or stop by closing it.
"""

import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from paceline.data.batches import Composition
from paceline.data.dataset import Dataset
from paceline.data.draws import key
from paceline.data.locate import Files
from paceline.data.memory import Memory
from paceline.errors import StudyError
from paceline.spec import Run
from paceline.train import build, checkpoint, device, peak, precision
from paceline.train.base import Trained
from paceline.train.clock import Clock
from paceline.train.early import Stopper
from paceline.train.evaluate import Score, evaluate
from paceline.train.examine import examinable, examine
from paceline.train.look import look
from paceline.train.rows import Mark, Outcome, Pause, Row, due, ending, row
from paceline.train.threads import suited_threads

PAUSE_SECONDS = 0.25


def train(
    run: Run,
    dataset: Dataset,
    folder: Path = Path(),
    resume: dict[str, Any] | None = None,
    cores: int | None = None,
    files: Files | None = None,
) -> Iterator[Row | Pause | Outcome]:
    """Trains the run; rows at step 0, at every evaluation and at the end, then the outcome.

    `cores`: CPU threads it may use; it takes as many as its steps have work for. Unsaid, torch's setting stays.
    `files`: where weights are looked for.
    """
    made = _set_up(run, dataset, folder, cores, files)
    model, trained, total = made.model, made.trained, made.total
    classes = dataset.classes is not None
    position, stopper = _Position.start(made.device), Stopper(run.early_stop)
    if resume is not None:
        checkpoint.restore(model, trained.optimizers, resume)
        trained.load_scale(resume)
        torch.set_num_threads(resume["threads"])
        position.load(resume["position"])
        stopper.load(resume["stopper"])
    clock = Clock(made.device, **(resume["clock"] if resume else {}))

    def snapshot() -> dict[str, Any]:
        return {
            "model": model.state_dict(),
            **trained.state(),
            "position": position.__dict__,
            "clock": clock.state(),
            "stopper": stopper.state(),
            "threads": torch.get_num_threads(),
        }

    def measure(lr: float) -> tuple[Row, dict[str, Score], Tensor]:
        with clock.evaluating():
            found = {
                name: evaluate(made.model, trained, made.loss, split, made.cast)
                for name, split in made.held_out.items()
            }
        scores = {name: score for name, (score, _) in found.items()}
        return row(position.mark(classes), clock, scores, lr, _extras(model)), scores, found["test"][1]

    if position.step == 0:
        yield measure(run.lr * made.factor(0, total))[0]
    trained.mode()
    paused = time.perf_counter()
    clock.start()
    for batch in made.composition.batches(position.step):
        lr = run.lr * made.factor(batch.step, total)
        if not 0 <= lr < math.inf:
            raise StudyError(f"the schedule makes lr {lr} at step {batch.step}.", key="schedule")
        trained.at(batch.epoch, lr)
        device.seed(made.device, key(run.seed, "layers", batch.step))
        for index, layer in enumerate(made.random_layers):
            layer.reseed(key(run.seed, "dropout", batch.step, index))

        x, y = made.training.gather(batch.indices, key(run.seed, "augment", batch.step))
        with made.cast:
            outputs = model(x)
        outputs = outputs.to(made.dtype)
        loss = made.loss(outputs, y)
        trained.zero_grad()
        trained.backward(loss)
        _clip(run, trained)
        trained.step()
        position.advance(batch.epoch, len(y), loss.detach(), outputs.detach(), y if classes else None)

        last = position.step == total
        wanted = last or due(run, position.step, total, batch.ends_epoch)
        finite = position.step % made.look_every != 0 or math.isfinite(loss.item())
        if finite and not wanted and time.perf_counter() - paused < PAUSE_SECONDS:
            continue
        clock.stop()
        if wanted or not finite:
            now, scores, answers = measure(lr)
            yield now
            position.clear()
            over = ending(now, last, total, stopper.verdict(scores), clock)
            if over:
                sound = examinable(dataset.classes) and not now.nonfinite
                examined = examine(answers, made.held_out["test"].targets) if sound else None
                yield replace(over, examined=examined, peak=peak.peak(made.device) if made.peaks else None)
                return
        yield Pause(position.step, total, snapshot)
        paused = time.perf_counter()
        clock.start()


@dataclass(frozen=True)
class _SetUp:
    """All that a run is trained with."""

    device: torch.device
    dtype: torch.dtype
    cast: AbstractContextManager[Any]  # of forward passes
    model: nn.Module
    trained: Trained
    loss: build.Loss
    factor: build.Schedule  # on lr, by step
    training: Memory
    held_out: dict[str, Memory]
    composition: Composition
    total: int  # steps
    random_layers: list[Any]  # whose draws follow the step
    peaks: bool  # whether its memory can be told from that of earlier runs
    look_every: int  # steps after which the loss is looked at: on a GPU a look makes it wait


def _set_up(run: Run, dataset: Dataset, folder: Path, cores: int | None, files: Files | None) -> _SetUp:
    target, dtype = device.resolve(run.device), precision.dtype(run.precision)
    precision.check(run.precision, target)
    device.prepare(target)
    precision.prepare(run.precision, target)
    peaks = peak.reset(target)
    model = build.model(run, dataset, folder, files).to(target, dtype)
    channels_last = not run.model.own and any(isinstance(layer, nn.Conv2d) for layer in model.modules())
    if channels_last:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    shown = look(run, dataset)
    data = {
        name: Memory(split, target, dtype, channels_last, shown, run.augment if name == "train" else None)
        for name, split in dataset.splits.items()
    }
    training = data.pop("train")
    composition = Composition(run, len(dataset.train))
    if cores is not None:
        torch.set_num_threads(suited_threads(model, training.chunk(0, 1), composition.width(0), cores))
    return _SetUp(
        device=target,
        dtype=dtype,
        cast=precision.autocast(run.precision, target),
        model=model,
        trained=build.trained(run, model, dataset, folder),
        loss=build.loss(run, folder),
        factor=build.schedule(run, folder),
        training=training,
        held_out=data,
        composition=composition,
        total=composition.total_steps(),
        random_layers=[layer for layer in model.modules() if hasattr(layer, "reseed")],
        peaks=peaks,
        look_every=1 if target.type == "cpu" else 50,
    )


@dataclass
class _Position:
    """Where a run stands: all that a checkpoint needs beside model and optimizer."""

    step: int
    epoch: int
    examples: int
    batches: int  # since the last row
    seen: int
    loss_sum: Tensor  # stay on the device: reading them each step would make it wait
    correct: Tensor

    @classmethod
    def start(cls, target: torch.device) -> "_Position":
        zero = torch.zeros((), device=target)
        return cls(0, 0, 0, 0, 0, zero, zero.long())

    def load(self, kept: dict[str, Any]) -> None:
        device = self.loss_sum.device
        for name, value in kept.items():
            setattr(self, name, value.to(device) if isinstance(value, Tensor) else value)

    def advance(self, epoch: int, examples: int, loss: Tensor, outputs: Tensor, y: Tensor | None) -> None:
        self.step += 1
        self.epoch = epoch
        self.examples += examples
        self.batches += 1
        self.seen += examples
        self.loss_sum = self.loss_sum + loss
        if y is not None:
            self.correct = self.correct + (outputs.argmax(-1) == y).sum()

    def mark(self, classes: bool) -> Mark:
        correct = int(self.correct.item()) if classes else None
        return Mark(self.step, self.epoch, self.examples, self.batches, self.seen, self.loss_sum.item(), correct)

    def clear(self) -> None:
        self.batches = self.seen = 0
        self.loss_sum, self.correct = torch.zeros_like(self.loss_sum), torch.zeros_like(self.correct)


def _clip(run: Run, trained: Trained) -> None:
    if run.clip_value is not None:
        nn.utils.clip_grad_value_(trained.parameters, run.clip_value)
    if run.clip_norm is not None:
        nn.utils.clip_grad_norm_(trained.parameters, run.clip_norm)


def _extras(model: nn.Module) -> dict[str, float]:
    return model.extras() if hasattr(model, "extras") else {}  # type: ignore[operator]
