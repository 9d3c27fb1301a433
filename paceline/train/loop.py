"""The plain loop: one run, from its first step to its last, as a generator of rows.

It knows nothing of files, progress bars or other runs. Between rows it offers a Pause now and then, at a step
boundary: whoever drives it may take a snapshot there, or stop by closing it.
"""

import contextlib
import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from paceline.data.batches import Batch
from paceline.data.dataset import Dataset
from paceline.data.draws import key
from paceline.data.locate import Files
from paceline.errors import StudyError
from paceline.spec import Run
from paceline.spec.expression import batch_size
from paceline.train import checkpoint, device, peak, precision
from paceline.train.clock import Clock
from paceline.train.compiled import Forward, compiled
from paceline.train.early import Stopper
from paceline.train.evaluate import Score, evaluate
from paceline.train.examine import examinable, examine
from paceline.train.gauge import Gauge, of_all
from paceline.train.learn import clip, learn, mark_last_gradients, parts_of
from paceline.train.noise import Noise
from paceline.train.parallel.beat import Beat
from paceline.train.parallel.team import ALONE, Team
from paceline.train.probe import probe
from paceline.train.rows import Mark, Outcome, Pause, Row, Speed, Spent, due, ending, row
from paceline.train.set_up import SetUp, set_up
from paceline.train.telemetry import BACKWARD, COPY, EXCHANGE, LOADER, OPTIMIZER, OTHER, Telemetry
from paceline.train.work import Work, work

TOLD_SECONDS = 0.25  # at least, between two words on where the time goes


def train(
    run: Run,
    dataset: Dataset,
    folder: Path = Path(),
    resume: dict[str, Any] | None = None,
    cores: int | None = None,
    files: Files | None = None,
    timed: bool = False,
    team: Team = ALONE,
) -> Iterator[Row | Spent | Pause | Outcome]:
    """Trains the run; rows at step 0, at every evaluation and at the end, then the outcome.

    `cores`: CPU threads it may use; it takes as many as its steps have work for. Unsaid, torch's setting stays.
    `files`: where weights are looked for. `timed`: the run is there to be timed, so the device is probed before and
    after, and the work of a step counted. `team`: the processes that train it together, each of which calls this; all
    of them give the same rows and pause at the same steps.
    """
    made = set_up(run, dataset, folder, cores, files, team)
    model, trained, total = made.model, made.trained, made.total
    classes, expected = dataset.classes is not None, None if run.loss.own else dataset.outputs
    examples = max(1, batch_size(run.global_batch, 0) // (run.devices * run.accumulate))
    position, stopper = _Position.start(made.device), Stopper(run.early_stop)
    stopper.needs(dataset)
    if resume is not None:
        made.strategy.load(model, resume["model"])
        checkpoint.restore(trained.optimizers, resume)
        trained.load_scale(resume)
        torch.set_num_threads(resume["threads"])
        position.load(resume["position"])
        stopper.load(resume["stopper"])
        made.noise.load(resume["noise"])
    trained.mode()
    forward, compile_seconds = _forward(run, made)
    clock = Clock(made.device, **(resume["clock"] if resume else {}))
    telemetry = Telemetry(made.device, run.accumulate, resume.get("telemetry") if resume else None)
    workers = run.loader is not None and run.loader.workers > 0
    if made.sharers.size > 1:
        mark_last_gradients(model, lambda: telemetry.mark(BACKWARD))
    before = probe(run.precision, made.device) if timed else None
    peak.reset(made.device)
    gauge = Gauge(made.device, cores or torch.get_num_threads(), workers, resume.get("energy", 0.0) if resume else 0.0)

    def snapshot() -> dict[str, Any]:
        return {
            "model": made.strategy.state(model),
            **trained.state(),
            "position": position.__dict__,
            "clock": clock.state(),
            "stopper": stopper.state(),
            "noise": made.noise.state(),
            "telemetry": telemetry.state(),
            "energy": gauge.energy,
            "threads": torch.get_num_threads(),
        }

    def rate(step: int) -> float:
        lr = float(run.peak_lr * made.factor(step, total))
        if not 0 <= lr < math.inf:
            raise StudyError(f"the schedule makes lr {lr} at step {step}.", key="schedule")
        return lr

    def measure(lr: float) -> tuple[Row, dict[str, Score], Tensor]:
        with clock.evaluating(), made.strategy.evaluating(model) as forward:
            found = {
                name: evaluate(forward, trained, made.loss, split, made.cast, made.judges, expected, examples)
                for name, split in made.held_out.items()
            }
        scores = {name: score for name, (score, _) in found.items()}
        return (
            row(position.mark(classes, made.sharers), clock, scores, lr, _extras(model, made.noise)),
            scores,
            found["test"][1],
        )

    def spent() -> Spent:
        phases = telemetry.phases(clock.seconds)
        at = (position.step, position.examples, clock.seconds)
        return Spent(*at, phases, clock.evaluation_seconds, of_all(gauge.read(), team, made.device))

    def speed() -> Speed:
        return Speed(
            telemetry.speed(position.examples, clock.seconds),
            compile_seconds,
            telemetry.share(position.step, clock.seconds),
            _work(run, made) if timed and made.strategy.whole_models else None,
            (before, probe(run.precision, made.device)) if before else None,
            made.strategy.sent(model) if team.size > 1 else 0,
            _imbalance(team, telemetry.phases(clock.seconds), made.device),
        )

    if position.step == 0:
        yield measure(rate(0))[0]
    trained.mode()
    told, beat = time.perf_counter(), Beat(team, made.device, position.step)
    with contextlib.closing(made.feed.batches(made.composition, position.step)) as batches:
        clock.start()
        while True:
            telemetry.step()
            batch, x, y = next(batches)
            telemetry.mark(LOADER)
            if made.copies:
                x, y = device.put(x, made.device, made.channels_last), device.put(y, made.device, False)
                telemetry.mark(COPY)
            lr = rate(batch.step)
            trained.at(batch.epoch, lr)
            device.seed(made.device, key(run.seed, "layers", batch.step, *made.own_draws))
            telemetry.mark(OTHER)
            loss, outputs = learn(run, made, forward, telemetry, batch, x, y)
            made.noise.whole(batch, trained.parameters)
            clip(run, made)
            trained.step()
            telemetry.mark(OPTIMIZER)
            if team.size > 1:
                made.strategy.updated(model, batch.step + 1)
                telemetry.mark(EXCHANGE)
            position.advance(batch, loss, outputs, y if classes else None)

            last = position.step == total
            wanted = last or due(run, position.step, total, batch.ends_epoch)
            look = position.step % made.look_every == 0 or beat.due(position.step)
            finite = not look or math.isfinite(loss.item())
            telemetry.mark(OTHER)
            if beat.goes_on(position.step, wanted, finite):
                continue
            clock.stop()
            gauge.look()
            finite = finite and not beat.broken
            telemetry.settle(position.step, position.examples, clock.seconds)
            if wanted or not finite:
                now, scores, answers = measure(lr)
                yield now
                position.clear()
                made.noise.clear()
                over = ending(now, last, total, stopper.agreed(scores, team, made.device), clock)
                if over or team.any([time.perf_counter() - told > TOLD_SECONDS], made.device)[0]:
                    yield spent()
                    told = time.perf_counter()
                if over:
                    sound = examinable(dataset.classes) and not now.nonfinite
                    examined = examine(answers, made.held_out["test"].targets) if sound else None
                    held = peak.peak(made.device) if made.peaks else None
                    yield replace(over, examined=examined, peak=held, speed=speed())
                    return
            yield Pause(position.step, total, snapshot)
            beat.begin(position.step)
            clock.start()


def _work(run: Run, made: SetUp) -> Work | None:
    cast = precision.MIXED.get(run.precision)
    return work(made.model, made.example, made.width, parts_of(made.width, run.accumulate), cast)


def _imbalance(team: Team, phases: dict[str, float], target: torch.device) -> float:
    """By how much the busiest process exceeds the mean; waiting for the others is not being busy."""
    each = [busy for (busy,) in team.spread([sum(phases.values()) - phases["exchange"]], target)]
    return max(each) * len(each) / sum(each) - 1 if sum(each) else 0.0


def _forward(run: Run, made: SetUp) -> tuple[Forward, float]:
    """The model's forward pass in training, and the seconds it took to compile."""
    if not run.compile:
        return made.strategy.forward(made.model), 0.0
    first = itertools.islice(made.composition.batches(), made.composition.steps_in(0))
    cut = (batch.indices.tensor_split(parts_of(batch.count, run.accumulate)) for batch in first)
    widths = {len(part) for parts in cut for part in parts}
    return compiled(made.model, made.example, sorted(widths), made.cast)


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

    def advance(self, batch: Batch, loss: Tensor, outputs: Tensor, y: Tensor | None) -> None:
        self.step += 1
        self.epoch = batch.epoch
        self.examples += batch.count
        self.batches += 1
        self.seen += batch.count
        self.loss_sum = self.loss_sum + loss
        if y is not None and batch.counts:
            self.correct = self.correct + (outputs.argmax(-1) == y).sum()

    def mark(self, classes: bool, sharers: Team) -> Mark:
        loss_sum, correct = sharers.total(self.loss_sum, self.correct)
        counted = int(correct.item()) if classes else None
        return Mark(self.step, self.epoch, self.examples, self.batches, self.seen, loss_sum.item(), counted)

    def clear(self) -> None:
        self.batches = self.seen = 0
        self.loss_sum, self.correct = torch.zeros_like(self.loss_sum), torch.zeros_like(self.correct)


def _extras(model: nn.Module, noise: Noise) -> dict[str, float]:
    said = model.extras() if hasattr(model, "extras") else {}  # type: ignore[operator]
    return {**said, **noise.extras()}
