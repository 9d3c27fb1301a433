"""The runs of a stack and all that they train with: one step of all of them, their rows, who leaves, what is kept."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from paceline.data.batches import Batch, Composition
from paceline.data.dataset import Dataset
from paceline.data.draws import key
from paceline.data.locate import Files
from paceline.data.memory import Memory
from paceline.errors import StackError, StudyError
from paceline.optim.rule import Rule
from paceline.spec import Run
from paceline.train import build, device, precision
from paceline.train.clock import Clock
from paceline.train.early import Stopper
from paceline.train.evaluate import Score
from paceline.train.examine import Examined, examinable
from paceline.train.look import look
from paceline.train.rows import Mark, Outcome, Row, due, ending, row
from paceline.train.stack import lanes as lanes_
from paceline.train.stack.lanes import Lanes
from paceline.train.stack.layers import Pass
from paceline.train.stack.masks import Masks, rates
from paceline.train.stack.program import program, still
from paceline.train.stack.schedules import Schedules
from paceline.train.stack.score import Mistakes, StackLoss, hits, scores
from paceline.train.stack.updates import Clip, Slice, group_key, slices, update
from paceline.train.stack.weights import Weights
from paceline.train.threads import suited_threads


class Stack:
    """Runs that train together. Whatever has one entry a run is in the order of `runs`, sorted by optimizer."""

    def __init__(
        self, runs: Sequence[Run], dataset: Dataset, folder: Path, cores: int | None, files: Files | None = None
    ) -> None:
        self._dataset, self._folder, self._files = dataset, folder, files
        self.places = sorted(range(len(runs)), key=lambda place: repr(group_key(runs[place].optimizer)))
        self.runs = [runs[place] for place in self.places]
        first = self.runs[0]
        self.device, dtype = device.resolve(first.device), precision.dtype(first.precision)
        device.prepare(self.device)
        precision.prepare(first.precision, self.device)
        self._rules = {run.optimizer.path: self._rule(run) for run in self.runs}
        models = self._models(dtype)
        self._template, self._rates = models[0], [rates(model) for model in models]
        self._program = program(self._template)
        self.weights = Weights(models)
        if not self.weights.leaves:
            raise StackError("it has no parameters to train")
        shown = look(first, dataset)
        splits = {
            name: Memory(
                *(split, self.device, dtype, False, shown),
                first.augment if name == "train" else None,
                copies=build.foreign(first),
            )
            for name, split in dataset.splits.items()
        }
        self._training = splits.pop("train")
        self._held_out = splits
        self.totals = [Composition(run, len(dataset.train)).total_steps() for run in self.runs]
        self.stoppers = [Stopper(run.early_stop) for run in self.runs]
        for stopper in self.stoppers:
            stopper.needs(dataset)
        self.step = self.epoch = self.examples = 0
        self._since = [(0, 0)] * len(self.runs)  # step and examples at the last row
        self._loss_sum = torch.zeros(len(self.runs), device=self.device, dtype=dtype)
        self._correct = torch.zeros(len(self.runs), device=self.device, dtype=torch.int64)
        self._losses = self._loss_sum
        self._ends_epoch = False
        self._look_every = 1 if self.device.type == "cpu" else 50
        self._slices = slices(self.runs, self._rules, self.weights.leaves)
        self.clock = Clock(self.device)
        if cores is not None:
            width = Composition(first, len(dataset.train)).width(0) * len(self.runs)
            torch.set_num_threads(suited_threads(self._template, self._training.chunk(0, 1), width, cores))
        self._settle()
        self._try_out()

    @property
    def longest(self) -> int:
        return max(self.totals)

    def _rule(self, run: Run) -> Rule:
        found = build.resolve(run.optimizer, self._folder)
        if not isinstance(found, Rule):
            raise StackError(f"the optimizer {run.optimizer.name} is no rule")
        return found

    def _models(self, dtype: torch.dtype) -> list[nn.Module]:
        """Runs that start alike share one model to start from."""
        known: dict[Any, nn.Module] = {}
        for run in self.runs:
            if (run.model, run.seed) not in known:
                model = build.model(run, self._dataset, self._folder, self._files)
                known[run.model, run.seed] = model.to(self.device, dtype)
        shapes = {tuple((n, tuple(p.shape)) for n, p in model.named_parameters()) for model in known.values()}
        if len(shapes) > 1:
            raise StackError("its parameters have other shapes in other runs")
        starts: dict[Any, int] = {}
        self._starts = [starts.setdefault((run.model, run.seed, run.loss), len(starts)) for run in self.runs]
        return [known[run.model, run.seed] for run in self.runs]

    def _settle(self) -> None:
        """What follows from which runs there are."""
        self.weights.require_gradients()
        self._like = next(iter(self.weights.leaves.values()))
        for of_rule in self._slices:
            of_rule.place(self.weights.leaves)
        self._lanes = Lanes.of(self.runs, self.device)
        self._seeds = [self.runs[self._lanes.of_run.index(lane)].seed for lane in range(self._lanes.count)]
        self._loss = self._loss_of(self.runs)
        self._masks = Masks(self.runs, self._rates, self.device)
        self._clip = Clip.of(self.runs, self._like)
        self._schedules = Schedules.of(self.runs, self.totals, self._folder)
        self._factors: list[float] = []
        self._lr = [0.0] * len(self.runs)
        self._draws = lanes_.batches(self.runs, self._lanes, len(self._dataset.train), self.step)
        alike: dict[Any, list[int]] = {}
        for place, (run, total) in enumerate(zip(self.runs, self.totals, strict=True)):
            alike.setdefault((run.evaluate_every, run.epochs is None, total), []).append(place)
        self._due = [(self.runs[places[0]], self.totals[places[0]], places) for places in alike.values()]

    def _loss_of(self, runs: Sequence[Run]) -> StackLoss:
        return StackLoss.of(runs, build.resolve(runs[0].loss, self._folder), self._like, self._training.targets.dim())

    def _try_out(self) -> None:
        """Two examples there and back, so that what cannot be done is known before anything is recorded."""
        x, y = self._training.chunk(0, 2), self._training.targets[:2]
        if self._lanes.count > 1:
            x, y = x.expand(self._lanes.count, *x.shape), y.expand(len(self.runs), *y.shape)
        at = self._pass(self._lanes, training=True)
        at.buffers = {name: value.clone() for name, value in at.buffers.items()}
        trained = [value for value in at.parameters.values() if value.requires_grad]
        try:
            with still():
                outputs = self._program(at, x)
                if outputs.dim() < 2 or outputs.shape[0] != len(self.runs):
                    raise StackError(f"outputs of shape {tuple(outputs.shape[1:])}")
                found = torch.autograd.grad(self._loss.over(outputs, y).sum(), trained, allow_unused=True)
                self._program(self._pass(self._lanes, training=False), x)
        except StackError:
            raise
        except Exception as error:  # vmap and the user's code fail as they like
            raise StackError(f"{type(error).__name__}: {error}") from None
        if any(gradient is None for gradient in found):
            raise StackError("it has parameters that its loss does not depend on")

    def _pass(self, lanes: Lanes, training: bool) -> Pass:
        return Pass(self.weights.parameters(), self.weights.buffers, lanes, training, self._mask)

    def _mask(self, layer: int, x: Tensor) -> Tensor | None:
        return self._masks.of(self.step, layer, x)

    def advance(self) -> None:
        """One step of every run."""
        drawn: list[Batch] = next(self._draws)
        self._set_rates()
        x, y = lanes_.gather(self._training, drawn, [key(seed, "augment", self.step) for seed in self._seeds])
        outputs = self._program(self._pass(self._lanes, training=True), x)
        targets = y if self._lanes.count == 1 else y.index_select(0, self._lanes.index)
        losses = self._loss.over(outputs, targets)
        leaves = self.weights.leaves
        found = torch.autograd.grad(losses.sum(), list(leaves.values()))
        gradients = self._clip(dict(zip(leaves, found, strict=True)))
        self.step += 1
        with torch.no_grad():
            update(self._slices, self.step, leaves, gradients)
            self._losses = losses.detach()
            self._loss_sum += self._losses
            if self._dataset.classes is not None:
                self._correct += hits(outputs.detach(), targets).sum(-1)
        self.epoch, self._ends_epoch = drawn[0].epoch, drawn[0].ends_epoch
        self.examples += len(drawn[0].indices)

    def _set_rates(self) -> None:
        factors = self._schedules.at(self.step)
        if factors == self._factors:
            return
        self._factors = factors
        of_run = [factors[place] for place in self._schedules.of_run]
        self._lr = [run.lr * factor for run, factor in zip(self.runs, of_run, strict=True)]
        wrong = next((lr for lr in self._lr if not 0 <= lr < math.inf), None)
        if wrong is not None:
            raise StudyError(f"the schedule makes lr {wrong} at step {self.step}.", key="schedule")
        rates = torch.tensor(self._lr, dtype=torch.float64)
        for of_rule in self._slices:
            of_rule.rate(rates[of_rule.first : of_rule.last])

    def wanted(self) -> list[int]:
        """Runs that have a row now: by their cadence, at their end, or because their loss is not finite."""
        found: set[int] = set()
        if self.step % self._look_every == 0 and not math.isfinite(self._losses.sum().item()):
            found.update((~torch.isfinite(self._losses)).nonzero().flatten().tolist())
        for run, total, places in self._due:
            if self.step == total or due(run, self.step, total, self._ends_epoch):
                found.update(places)
        return sorted(found)

    def rows(self, wanted: Sequence[int]) -> Iterator[tuple[int, Row | Outcome]]:
        if not wanted:
            return
        with self.clock.evaluating():
            found, examined = self._evaluate(list(wanted))
        sums, correct = self._loss_sum.tolist(), self._correct.tolist()
        if self.step == 0:
            self._set_rates()
        for place in wanted:
            before, seen = self._since[place]
            mark = Mark(
                self.step,
                self.epoch,
                self.examples,
                batches=self.step - before,
                seen=self.examples - seen,
                loss_sum=sums[place],
                correct=correct[place] if self._dataset.classes is not None else None,
            )
            now = row(mark, self.clock, found[place], self._lr[place], self._extras(place))
            yield self.places[place], now
            if self.step:
                stop = self.stoppers[place].verdict(found[place])
                last = self.step == self.totals[place]
                if over := ending(now, last, self.totals[place], stop, self.clock):
                    wrong = None if now.nonfinite else examined.get(place)
                    yield self.places[place], replace(over, examined=wrong)
            self._since[place] = (self.step, self.examples)
        index = torch.tensor(list(wanted), device=self.device)
        self._loss_sum[index], self._correct[index] = 0, 0

    @torch.no_grad()
    def _evaluate(self, wanted: list[int]) -> tuple[dict[int, dict[str, Score]], dict[int, Examined]]:
        """Scores by run and split, and mistakes by run if one may end now. Before the first step, runs that start
        alike are scored once."""
        alike = {place: self._starts[place] if self.step == 0 else place for place in wanted}
        firsts = {start: place for place, start in reversed(alike.items())}
        places = sorted(firsts.values())
        leaves = {name: leaf.detach() for name, leaf in self.weights.leaves.items()}
        if any(of_rule.rule.at_evaluation for of_rule in self._slices):
            leaves = {name: torch.cat([one.at_evaluation(name) for one in self._slices]) for name in leaves}
        parameters, buffers = self.weights.parameters(leaves), self.weights.buffers
        if len(places) < len(self.runs):
            index = torch.tensor(places, device=self.device)
            parameters = {name: value.index_select(0, index) for name, value in parameters.items()}
            buffers = {name: value.index_select(0, index) for name, value in buffers.items()}
        at = Pass(parameters, buffers, Lanes((0,) * len(places), self.device), training=False)
        loss = self._loss if len(places) == len(self.runs) else self._loss_of([self.runs[p] for p in places])
        mistakes = Mistakes() if self._may_end(places) else None
        by_split = {
            name: scores(self._program, at, loss, split, mistakes if name == "test" else None)
            for name, split in self._held_out.items()
        }
        column = {place: number for number, place in enumerate(places)}
        found = {
            place: {name: of_split[column[firsts[start]]] for name, of_split in by_split.items()}
            for place, start in alike.items()
        }
        return found, dict(zip(places, mistakes.of_runs(), strict=True)) if mistakes else {}

    def _may_end(self, places: list[int]) -> bool:
        """Whether mistakes are to be noted: a run may end here, and has classes to take for one another."""
        last = any(self.step == self.totals[place] or self.runs[place].early_stop for place in places)
        return self.step > 0 and last and examinable(self._dataset.classes)

    def _extras(self, place: int) -> dict[str, float]:
        if not hasattr(self._template, "extras"):
            return {}
        values = {**self.weights.parameters(), **self.weights.buffers}
        with torch.no_grad():
            for name, value in (*self._template.named_parameters(), *self._template.named_buffers()):
                value.copy_(values[name][place])
        return self._template.extras()  # type: ignore[operator,no-any-return]

    def leave(self, over: Sequence[int]) -> None:
        """Runs, by their places among those given, leave the stack."""
        kept = [index for index, place in enumerate(self.places) if place not in set(over)]
        if len(kept) == len(self.runs):
            return
        index = torch.tensor(kept, device=self.device, dtype=torch.int64)
        for name in ("runs", "places", "totals", "stoppers", "_since", "_rates", "_starts"):
            of_runs = getattr(self, name)
            setattr(self, name, [of_runs[k] for k in kept])
        if not kept:
            return
        self._loss_sum, self._correct = self._loss_sum[index], self._correct[index]
        self._losses = self._losses[index]
        self.weights.keep(index)
        left, first = [], 0
        for of_rule in self._slices:
            smaller = of_rule.keep(kept, first)
            if smaller.last > smaller.first:
                left.append(smaller)
                first = smaller.last
        self._slices = left
        self._settle()

    def snapshot(self) -> dict[str, Any]:
        """All that is needed to go on, of the runs that are left."""
        return {
            "places": self.places,
            "leaves": {name: leaf.detach() for name, leaf in self.weights.leaves.items()},
            "buffers": self.weights.buffers,
            "slices": [of_rule.saved() for of_rule in self._slices],
            "sums": [self._loss_sum, self._correct],
            "position": [self.step, self.epoch, self.examples],
            "since": self._since,
            "stoppers": [stopper.state() for stopper in self.stoppers],
            "clock": self.clock.state(),
            "threads": torch.get_num_threads(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        for kept, mine in ((state["leaves"], self.weights.leaves), (state["buffers"], self.weights.buffers)):
            for name, value in mine.items():
                value.detach().copy_(kept[name])
        self._slices = [
            Slice.loaded(saved, self._rules[self.runs[saved["first"]].optimizer.path], self.device)
            for saved in state["slices"]
        ]
        self._loss_sum, self._correct = (kept.to(self.device) for kept in state["sums"])
        self.step, self.epoch, self.examples = state["position"]
        self._since = [(step, examples) for step, examples in state["since"]]
        for stopper, kept in zip(self.stoppers, state["stoppers"], strict=True):
            stopper.load(kept)
        self.clock = Clock(self.device, **state["clock"])
        torch.set_num_threads(state["threads"])
        self._settle()
