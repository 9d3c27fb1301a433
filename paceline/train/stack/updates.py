"""Each optimizer's slice of a stack, updated by the rule that the plain loop uses."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from paceline.data.transfer import moved
from paceline.optim.optimizer import BLOCK
from paceline.optim.rule import Rule, State
from paceline.spec import Part, Run


def group_key(part: Part) -> tuple[Any, ...]:
    """Runs of one key are updated by one call: the rule, which knobs are said, and those that shape it."""
    shape = [(name, None if isinstance(value, float) else value) for name, value in sorted(part.complete.items())]
    return part.path, tuple(shape)


@dataclass
class Slice:
    """Runs `first` to `last` of a stack, which share a rule."""

    rule: Rule
    first: int
    last: int
    lr: Tensor  # one a run, float64
    knobs: dict[str, Any]  # a number that all share, or a float64 tensor with one a run
    state: dict[str, State] = field(default_factory=dict)  # by leaf
    _hypers: dict[int, dict[str, Any]] = field(default_factory=dict)  # by dimensions of a leaf
    _views: dict[str, Tensor] = field(default_factory=dict)

    def place(self, leaves: dict[str, Tensor]) -> None:
        """Takes its slices of the leaves."""
        self._views = {name: leaf.detach()[self.first : self.last] for name, leaf in leaves.items()}
        self._hypers = {}
        for view in self._views.values():
            if view.dim() not in self._hypers:
                self._hypers[view.dim()] = {name: _shaped(value, view) for name, value in self.knobs.items()}
                self._hypers[view.dim()].update(stacked=True, lr=_shaped(self.lr, view), step=0)

    def rate(self, lr: Tensor) -> None:
        """Another learning rate for each run."""
        for view in {view.dim(): view for view in self._views.values()}.values():
            self._hypers[view.dim()]["lr"] = _shaped(lr, view)

    def updated(self, number: int, name: str, gradient: Tensor) -> Tensor:
        """Its runs' parameters of one leaf after update `number`."""
        view, state = self._views[name], self.state
        hyper = self._hypers[view.dim()]
        hyper["step"] = number
        if name not in state:
            state[name] = self.rule.init(view, hyper)
        new, state[name] = self.rule.update(gradient, state[name], view, hyper)
        return new

    def at_evaluation(self, name: str) -> Tensor:
        """The parameters to evaluate at."""
        view = self._views[name]
        if self.rule.at_evaluation is None or name not in self.state:
            return view
        return self.rule.at_evaluation(view, self.state[name], self._hypers[view.dim()])

    def saved(self) -> dict[str, Any]:
        return {"first": self.first, "last": self.last, "lr": self.lr, "knobs": self.knobs, "state": self.state}

    @classmethod
    def loaded(cls, saved: dict[str, Any], rule: Rule, device: torch.device) -> "Slice":
        state = {name: {key: v.to(device) for key, v in of.items()} for name, of in saved["state"].items()}
        return cls(rule, saved["first"], saved["last"], saved["lr"], saved["knobs"], state)

    def keep(self, kept: Sequence[int], first: int) -> "Slice":
        """The runs that are left, from their places in the stack; they begin at `first` now."""
        mine = torch.tensor([k - self.first for k in kept if self.first <= k < self.last], dtype=torch.int64)
        state = {name: {key: _kept(v, mine) for key, v in of.items()} for name, of in self.state.items()}
        knobs = {name: _kept(value, mine) for name, value in self.knobs.items()}
        return Slice(self.rule, first, first + len(mine), _kept(self.lr, mine), knobs, state)


def update(slices: Sequence[Slice], number: int, leaves: dict[str, Tensor], gradients: Mapping[str, Tensor]) -> None:
    """Writes into the leaves what every slice makes of its gradients."""
    sizes = [of_rule.last - of_rule.first for of_rule in slices]
    for name, leaf in leaves.items():
        pieces = torch.split_with_sizes(gradients[name], sizes)
        new = [of_rule.updated(number, name, piece) for of_rule, piece in zip(slices, pieces, strict=True)]
        torch.cat(new, out=leaf.detach())


def slices(runs: Sequence[Run], rules: dict[str, Rule], leaves: dict[str, Tensor]) -> list[Slice]:
    """The runs come sorted by group; a group too large for the cache is cut."""
    widest = max(leaf[0].numel() for leaf in leaves.values())
    most = max(1, BLOCK // widest) if next(iter(leaves.values())).is_cpu else len(runs)
    found: list[Slice] = []
    first = 0
    while first < len(runs):
        key, last = group_key(runs[first].optimizer), first + 1
        while last < len(runs) and last - first < most and group_key(runs[last].optimizer) == key:
            last += 1
        found.append(_slice(runs[first:last], rules[runs[first].optimizer.path], first))
        first = last
    return found


def _slice(runs: Sequence[Run], rule: Rule, first: int) -> Slice:
    lr = torch.tensor([run.lr for run in runs], dtype=torch.float64)
    said = [run.optimizer.complete for run in runs]
    knobs = {name: _knob([of_run[name] for of_run in said]) for name in said[0]}
    return Slice(rule, first, first + len(runs), lr, knobs)


def _knob(values: list[Any]) -> Any:
    return values[0] if len(set(values)) == 1 else torch.tensor(values, dtype=torch.float64)


def _shaped(value: Any, view: Tensor) -> Any:
    """One entry a run, to broadcast against the runs' parameters."""
    if not isinstance(value, Tensor):
        return value
    return moved(value.to(view.dtype), view.device).view(-1, *[1] * (view.dim() - 1))


def _kept(value: Any, kept: Tensor) -> Any:
    if not isinstance(value, Tensor) or value.dim() == 0:
        return value
    return value.index_select(0, kept.to(value.device))


@dataclass
class Clip:
    """Limits on the gradients of each run, as the plain loop's clip_value and clip_norm; None where no run has one."""

    value: Tensor | None
    norm: Tensor | None

    @classmethod
    def of(cls, runs: Sequence[Run], like: Tensor) -> "Clip":
        def limits(said: list[float | None]) -> Tensor | None:
            return like.new_tensor([math.inf if s is None else s for s in said]) if any(said) else None

        return cls(limits([run.clip_value for run in runs]), limits([run.clip_norm for run in runs]))

    def __call__(self, gradients: dict[str, Tensor]) -> dict[str, Tensor]:
        if self.value is not None:
            bounds = {name: self.value.view(-1, *[1] * (g.dim() - 1)) for name, g in gradients.items()}
            gradients = {name: torch.clamp(g, -bounds[name], bounds[name]) for name, g in gradients.items()}
        if self.norm is not None:
            squares = [g.flatten(1).square().sum(1) for g in gradients.values()]
            norm = torch.stack(squares).sum(0).sqrt()
            share = (self.norm / (norm + 1e-6)).clamp(max=1.0)
            share = torch.where(self.norm.isinf(), 1.0, share)
            gradients = {name: g * share.view(-1, *[1] * (g.dim() - 1)) for name, g in gradients.items()}
        return gradients
